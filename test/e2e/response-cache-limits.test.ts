// Hits of response_cache use no budget and no token limit, whether the response is whole, a stream, or still on its way.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { connectRaw } from "../support/raw-client.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("models");
const [provider] = providers;

const USED = { input: 300, output: 200 };
const TOTAL = USED.input + USED.output;
/** With 1000 dollars per million tokens. */
const SPENT_DOLLARS = 0.5;
const PATH = "/v1/chat/completions";
const DELAY_MS = 1000;
const LIMIT = 100_000;

const limit = (count: string) => ({ limit: LIMIT, window: "1h", count });
const PLUGINS = [
  {
    name: "token_limiter",
    stage: "pre_request",
    settings: { limits: { global: [limit("total"), limit("input"), limit("output")] } },
  },
  { name: "response_cache", stage: "pre_request" },
];
const PRICES = [{ model: "gpt-fake", input: "1000", output: "1000" }];

async function seed() {
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { required_plugins: PLUGINS, prices: PRICES },
    upstream: { targets: [targetAt(provider)] },
    rule: { path: "/v1/*", methods: ["*"] },
  });
  const at = `/gateways/${gateway}`;
  const budgets = [
    await create(gatehouse, `${at}/budgets`, { name: "tokens", unit: "tokens", amount: LIMIT }),
    await create(gatehouse, `${at}/budgets`, { name: "money", unit: "usd", amount: "100" }),
  ];
  const { key } = await seedKey(gatehouse, gateway);
  const headers = { "Content-Type": "application/json", "X-GW-API-Key": key };
  return {
    at,
    send: async (isStream: boolean) => {
      const body = JSON.stringify({ ...CHAT, max_tokens: 400, stream: isStream });
      const response = await fetch(gatehouse.proxyUrl + PATH, { method: "POST", headers, body });
      await response.text();
      return { status: response.status, cache: response.headers.get("cache-status") ?? "" };
    },
    /** What is spent and reserved of both budgets, and what is left of the three limits. */
    state: async () => {
      const states = await Promise.all(
        budgets.map(async ({ id }) => (await gatehouse.api("GET", `${at}/budgets/${id}/state`)).body),
      );
      const explained = await gatehouse.api("POST", `${at}/explain`, {
        ...{ method: "POST", path: PATH, headers, body: { ...CHAT, max_tokens: 1 } },
      });
      // What is left for the explained request is less by what it would reserve.
      const { requested } = explained.body.budgets.find(({ unit }: { unit: string }) => unit === "tokens");
      const reserves = [Number(requested), Number(requested) - 1, 1];
      return {
        spent: states.map(({ spent }) => Number(spent)),
        reserved: states.map(({ reserved }) => Number(reserved)),
        left: (explained.body.limits as { remaining: number }[]).map(
          ({ remaining }, index) => remaining + (reserves[index] ?? 0),
        ),
      };
    },
  };
}

/** The state when exactly one response was received from the provider. */
const AFTER_ONE = {
  spent: [TOTAL, SPENT_DOLLARS],
  reserved: [0, 0],
  left: [LIMIT - TOTAL, LIMIT - USED.input, LIMIT - USED.output],
};

const inFlight = async () => {
  const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  return Number(/^gatehouse_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
};

describe.each([false, true])("the response is received for a stream: %p", (isStream) => {
  test.each([false, true])("hits for a stream: %p", async (isHitStream) => {
    const { send, state } = await seed();
    provider.behave({ usage: USED });
    expect(await send(isStream)).toMatchObject({ status: 200, cache: "gatehouse; fwd=uri-miss" });
    await waitUntil(async () => (await state()).reserved.every((amount) => amount === 0));
    expect(await state()).toEqual(AFTER_ONE);
    for (let count = 0; count < 3; count++) expect((await send(isHitStream)).cache).toContain("hit");
    await waitUntil(async () => (await inFlight()) === 0);
    expect(await state()).toEqual(AFTER_ONE);
    expect(provider.requests).toHaveLength(1);
  });

  test("requests that wait for the response", async () => {
    const { send, state } = await seed();
    let isWaiting = false;
    provider.behave(() => {
      isWaiting = true;
      return { usage: USED, delayMs: DELAY_MS };
    });
    const first = send(isStream);
    // The timer of the provider starts in the same turn.
    await waitUntil(() => isWaiting);
    const others = Promise.all([send(false), send(true), send(false), send(true)]);
    await waitUntil(async () => (await inFlight()) === 5);
    expect((await state()).reserved.every((amount) => amount > 0)).toBeTrue();
    clock.advance(DELAY_MS);
    expect((await first).cache).toBe("gatehouse; fwd=uri-miss");
    for (const { status, cache } of await others) {
      expect(status).toBe(200);
      // One whose body arrives after the response finds it kept.
      expect(cache).toMatch(/collapsed|hit/);
    }
    await waitUntil(async () => (await inFlight()) === 0);
    expect(await state()).toEqual(AFTER_ONE);
    expect(provider.requests).toHaveLength(1);
  });
});

test("a hit is served although a budget has nothing left, also if the body arrives after the headers", async () => {
  const route = await seedRoute(gatehouse, {
    gateway: {
      required_plugins: [
        { name: "response_cache", stage: "pre_request", settings: { isolation: "gateway" } },
      ],
    },
    upstream: { targets: [targetAt(provider)] },
  });
  const at = `/gateways/${route.gateway}/budgets`;
  const { id } = await create(gatehouse, at, { name: "tokens", unit: "tokens", amount: TOTAL });
  provider.behave({ usage: USED });
  /** Sends the body after the permission, if there is one. */
  const send = async (body: string) => {
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    client.send(
      `POST ${route.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n` +
        `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await client.until((received) => received.includes("\r\n\r\n"));
    client.send(body);
    return (await client.ended).received;
  };
  const body = JSON.stringify({ ...CHAT, max_tokens: 400 });
  expect(await send(body)).toContain("\r\n\r\nHTTP/1.1 200 OK");
  await waitUntil(async () => (await gatehouse.api("GET", `${at}/${id}/state`)).body.remaining === 0);
  expect(await send(body)).toContain("Cache-Status: gatehouse; hit");
  expect(await send(JSON.stringify(CHAT))).toContain('"code":"budget_exceeded"');
});
