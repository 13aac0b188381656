// MAX_IN_FLIGHT: what is beyond it is refused at once, health keeps answering, and every way a request can end gives
// its place back. And the drain, which asks clients to leave their connections.
import { afterEach, expect, test } from "bun:test";
import { untilPrinted } from "../support/gatehouse-process.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const MAX = 3;

const provider = await useFakeProvider();
const gatehouse = await useGatehouse({
  env: { MAX_IN_FLIGHT: String(MAX), DRAIN_DELAY_MS: "600000" },
});
const route = await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider)], timeouts: { first_byte: 20_000 }, max_attempts: 1 },
});

const leaving = new Set<AbortController>();
afterEach(() => {
  for (const client of leaving) client.abort();
  leaving.clear();
});

function post(fake: object, body: object = CHAT): Promise<Response> {
  const client = new AbortController();
  leaving.add(client);
  return fetch(`${gatehouse.proxyUrl}${route.path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(fake) },
    body: JSON.stringify(body),
    signal: client.signal,
  });
}

/** As many as there is room for, all waiting for their provider. */
async function fillUp(): Promise<void> {
  const before = provider.requestCount;
  for (let place = 0; place < MAX; place++) post({ delayMs: 15_000 }).catch(() => undefined);
  await provider.until(() => provider.requestCount === before + MAX);
}

/** Every client leaves; their places are free when the gateway has noticed. */
async function emptyOut(): Promise<void> {
  for (const client of leaving) client.abort();
  leaving.clear();
  await waitUntil(async () => {
    const all = Array.from({ length: MAX }, async () => (await post({ delayMs: 100 })).status);
    return (await Promise.all(all)).every((status) => status === 200);
  });
}

/** All places can be taken, and so none was lost; and no more than all. */
async function expectRoomForAll(): Promise<void> {
  await emptyOut();
  await fillUp();
  expect((await post({})).status).toBe(503);
  await emptyOut();
}

test("beyond the bound: 503 overloaded with Retry-After at once, while health and the Admin API answer", async () => {
  await fillUp();
  const refused = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
  expect(refused.status).toBe(503);
  expect(refused.json()).toMatchObject({ code: "overloaded", request_id: refused.header("X-Request-Id") });
  expect(refused.header("Retry-After")).toBe("1");
  expect(provider.requestCount).toBe(MAX);
  for (const url of [gatehouse.adminUrl, gatehouse.proxyUrl])
    for (const path of ["/healthz", "/readyz"]) expect((await fetch(url + path)).status).toBe(200);
  expect((await gatehouse.api("GET", "/gateways")).status).toBe(200);
  await untilPrinted(gatehouse, "requests rejected: MAX_IN_FLIGHT reached");
  await expectRoomForAll();
}, 20_000);

test.each([
  ["an answer", {}, CHAT],
  ["an error of the provider", { status: 500 }, CHAT],
  ["a whole stream", { chunks: 3 }, { ...CHAT, stream: true }],
  [
    "a stream cut by the provider",
    { chunks: 9, cutAfterChunks: 2, chunkDelayMs: 5 },
    { ...CHAT, stream: true },
  ],
  ["a provider that closes without a byte", { closeBeforeAnswer: true }, CHAT],
  ["a head cut short", { cutHeadAfterBytes: 20 }, CHAT],
])(
  "%s gives its place back",
  async (_, fake, body) => {
    for (let round = 0; round < 4 * MAX; round++)
      await post(fake, body)
        .then((response) => response.arrayBuffer())
        .catch(() => undefined);
    await expectRoomForAll();
  },
  20_000,
);

test("a client that leaves, before the answer or inside a stream, gives its place back", async () => {
  for (let round = 0; round < MAX; round++) await expectRoomForAll();
  for (let round = 0; round < 2 * MAX; round++) {
    const response = await post({ chunks: 500, chunkDelayMs: 20 }, { ...CHAT, stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await emptyOut();
  }
  await expectRoomForAll();
}, 30_000);

test("requests that no rule matches, or that cannot be read, give their place back", async () => {
  for (let round = 0; round < 4 * MAX; round++) {
    expect((await fetch(`${gatehouse.proxyUrl}/nowhere`)).status).toBe(404);
    const bad = await fetch(`${gatehouse.proxyUrl}${route.path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{",
    });
    expect(bad.status).toBe(400);
    expect((await fetch(`${gatehouse.proxyUrl}/v1/models`)).status).toBe(200);
  }
  await expectRoomForAll();
}, 20_000);

// The last one: it drains.
test("while draining, requests are served and their clients asked to leave the connection", async () => {
  gatehouse.signal("SIGTERM");
  await waitUntil(async () => (await fetch(`${gatehouse.proxyUrl}/readyz`)).status === 503);
  const answer = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Connection", "keep-alive"]]);
  expect([answer.status, answer.header("Connection")]).toEqual([200, "close"]);
});
