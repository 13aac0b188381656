// MAX_IN_FLIGHT: further requests are rejected at once, health checks still respond, and every request that ends frees its
// place. Also: while draining, the gateway makes clients close their connections.
import { afterEach, expect, test } from "bun:test";
import { untilPrinted } from "../support/gatehouse-process.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const MAX = 3;

const provider = await useFakeProvider();
const gatehouse = await useGatehouseProcess({
  env: { MAX_IN_FLIGHT: String(MAX), DRAIN_DELAY_MS: "600000" },
});
const ORIGIN = "https://app.example.com";
const route = await seedRoute(gatehouse, {
  gateway: { cors: { origins: [ORIGIN] } },
  upstream: { targets: [targetAt(provider)], timeouts: { first_byte: 20_000 }, max_attempts: 1 },
});

const clients = new Set<AbortController>();
afterEach(() => {
  for (const client of clients) client.abort();
  clients.clear();
});

function post(fake: object, body: object = CHAT): Promise<Response> {
  const client = new AbortController();
  clients.add(client);
  return fetch(`${gatehouse.proxyUrl}${route.path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(fake) },
    body: JSON.stringify(body),
    signal: client.signal,
  });
}

/** Sends as many requests as are allowed; all wait for their provider. */
async function useAllPlaces(): Promise<void> {
  const before = provider.requestCount;
  for (let place = 0; place < MAX; place++) post({ delayMs: 15_000 }).catch(() => undefined);
  await provider.until(() => provider.requestCount === before + MAX);
}

/** Disconnects every client and waits until the gateway has freed their places. */
async function freeAllPlaces(): Promise<void> {
  for (const client of clients) client.abort();
  clients.clear();
  await waitUntil(async () => {
    const all = Array.from({ length: MAX }, async () => (await post({ delayMs: 100 })).status);
    return (await Promise.all(all)).every((status) => status === 200);
  });
}

/** Expects that all places can be used, so that none was lost, and not more. */
async function expectAllPlacesFree(): Promise<void> {
  await freeAllPlaces();
  await useAllPlaces();
  expect((await post({})).status).toBe(503);
  await freeAllPlaces();
}

test("above the limit: 503 overloaded with Retry-After at once, while health checks and the Admin API respond", async () => {
  await useAllPlaces();
  const rejected = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
  expect(rejected.status).toBe(503);
  expect(rejected.json()).toMatchObject({ code: "overloaded", request_id: rejected.header("X-Request-Id") });
  expect(rejected.header("Retry-After")).toBe("1");
  const ofScript = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Origin", ORIGIN]]);
  expect(ofScript.status).toBe(503);
  expect(ofScript.header("Access-Control-Allow-Origin")).toBe(ORIGIN);
  expect(provider.requestCount).toBe(MAX);
  for (const url of [gatehouse.adminUrl, gatehouse.proxyUrl])
    for (const path of ["/healthz", "/readyz"]) expect((await fetch(url + path)).status).toBe(200);
  expect((await gatehouse.api("GET", "/gateways")).status).toBe(200);
  await untilPrinted(gatehouse, "requests rejected: MAX_IN_FLIGHT reached");
  await expectAllPlacesFree();
}, 60_000);

test.each([
  ["a response", {}, CHAT],
  ["an error of the provider", { status: 500 }, CHAT],
  ["a whole stream", { chunks: 3 }, { ...CHAT, stream: true }],
  [
    "a stream cut by the provider",
    { chunks: 9, cutAfterChunks: 2, chunkDelayMs: 5 },
    { ...CHAT, stream: true },
  ],
  ["a provider that closes without a response", { closeBeforeAnswer: true }, CHAT],
  ["response headers that are cut", { cutHeadAfterBytes: 20 }, CHAT],
])(
  "%s frees its place",
  async (_, fake, body) => {
    for (let round = 0; round < 4 * MAX; round++)
      await post(fake, body)
        .then((response) => response.arrayBuffer())
        .catch(() => undefined);
    await expectAllPlacesFree();
  },
  60_000,
);

test("a client that disconnects before the response or within a stream frees its place", async () => {
  for (let round = 0; round < MAX; round++) await expectAllPlacesFree();
  for (let round = 0; round < 2 * MAX; round++) {
    const response = await post({ chunks: 500, chunkDelayMs: 20 }, { ...CHAT, stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await freeAllPlaces();
  }
  await expectAllPlacesFree();
}, 60_000);

test("requests without a matching rule, or with an invalid body, free their place", async () => {
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
  await expectAllPlacesFree();
}, 60_000);

// Last, because it drains the gateway.
test("while draining, requests are served with Connection: close", async () => {
  gatehouse.signal("SIGTERM");
  await waitUntil(async () => (await fetch(`${gatehouse.proxyUrl}/readyz`)).status === 503);
  const response = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Connection", "keep-alive"]]);
  expect([response.status, response.header("Connection")]).toEqual([200, "close"]);
});
