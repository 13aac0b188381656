// Limits that the gateway reserves without asking token_limiter decide, show and charge the same as those that it asks for.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { create } from "../support/admin-fixtures.ts";
import { runs } from "../support/long-form.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

const LIMITS = {
  global: { limit: 20_000, window: "1h" },
  per_key: { limit: 6000, window: "1h", count: "output" },
  per_user: { limit: 3000, window: "1h", count: "input" },
  "per_label:team": { limit: 2000, window: "1h" },
};
/** The address of the client matters, so that token_limiter is asked for every request. */
const ASKING = { ...LIMITS, per_ip: { limit: 1_000_000_000, window: "1h" } };
const BUDGETS = [
  { name: "money", unit: "usd", amount: "0.015", period: "month", scope: "gateway" },
  { name: "tokens", unit: "tokens", amount: 15_000, period: "total", scope: "api_key", each: true },
  { name: "warning", unit: "tokens", amount: 100, period: "day", scope: "model", each: true, mode: "warn" },
];
const PRICES = [
  { model: "gpt-fake", input: "2.5", output: "10" },
  { model: "other", per_request: "0.001" },
];

interface Seeded {
  readonly route: SeededRoute;
  /** Of the gateway. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly budgets: readonly string[];
}

async function seed(limits: Fields, prices: readonly Fields[] = PRICES): Promise<Seeded> {
  const plugin = { name: "token_limiter", stage: "pre_request", settings: { limits } };
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin], prices },
    upstream: { targets: [targetAt(provider)] },
  });
  const budgets: string[] = [];
  for (const budget of BUDGETS)
    budgets.push((await create(gatehouse, `/gateways/${route.gateway}/budgets`, budget)).id as string);
  const keys: string[] = [];
  for (const labels of [{}, { team: "search" }])
    keys.push((await seedKey(gatehouse, route.gateway, { labels })).key);
  const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
  return { route, name: body.name as string, keys, budgets };
}

const sent = fc.record({
  key: fc.nat({ max: 1 }),
  user: fc.constantFrom(null, null, null, null, "ada"),
  model: fc.constantFrom("gpt-fake", "gpt-fake", "gpt-fake", "gpt-fake", "other"),
  maxTokens: fc.constantFrom(null, null, null, 1, 1, 2500, 7000),
  words: fc.constantFrom(1, 1, 20, 20, 400),
  /** Many choices of unlimited output are more than a quarter of a limit. */
  choices: fc.constantFrom(1, 250, 250),
});
type Sent = typeof sent extends fc.Arbitrary<infer T> ? T : never;

async function send(
  { route, name, keys, budgets }: Seeded,
  { key, user, model, maxTokens, words, choices }: Sent,
) {
  const response = await fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-GW-API-Key": keys[key] ?? "",
      ...(user !== null && { "X-User-ID": user }),
    },
    body: JSON.stringify({
      ...CHAT,
      model,
      messages: [{ role: "user", content: "some words ".repeat(words) }],
      ...(maxTokens === null ? { n: choices } : { max_tokens: maxTokens }),
    }),
  });
  const text = await response.text();
  const headers = [...response.headers].filter(
    ([name]) => /^x-(ratelimit|gw-budget)/.test(name) && !/reset|per_ip/.test(name),
  );
  const states: unknown[] = [];
  for (const id of budgets) states.push(await settled(route, id));
  states.push(await usedRatio(name));
  const error = response.ok ? null : (JSON.parse(text) as Fields);
  delete error?.["request_id"];
  delete error?.["retry_after"];
  return { status: response.status, headers, error, states };
}

/** Resolves to what a budget has spent when no request is open. */
async function settled({ gateway }: SeededRoute, id: string): Promise<unknown> {
  let spent: unknown = null;
  await waitUntil(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/budgets/${id}/state`);
    spent = body.spent;
    return Number(body.reserved) === 0;
  });
  return spent;
}

/** Resolves to the last reported ratio of the first budget. */
async function usedRatio(gatewayName: string): Promise<string> {
  const page = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  const start = `gatehouse_budget_used_ratio{gateway="${gatewayName}",budget="money"} `;
  const line = page.split("\n").find((each) => each.startsWith(start));
  return line?.slice(start.length) ?? "none";
}

test("any requests of two keys: status, header fields, errors and budgets are the same", async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(sent, { minLength: 30, maxLength: 30 }), async (requests) => {
      const [repeating, asking] = [await seed(LIMITS), await seed(ASKING)];
      for (const request of requests) {
        const [actual, expected] = [await send(repeating, request), await send(asking, request)];
        expect(actual).toEqual(expected);
        seen.add(actual.status);
      }
    }),
    // Nothing is shrunk, because each run takes seconds.
    { numRuns: runs({ short: 2, long: 40 }), endOnFailure: true, seed: 1 },
  );
  expect([...seen].sort()).toEqual([200, 400, 402, 429]);
}, 120_000);

test.each([
  ["without", LIMITS],
  ["with", ASKING],
])(
  "a changed price of the installation counts from the next request on, %s a limit per address",
  async (_, limits) => {
    const seeded = await seed(limits, []);
    const priced = (cost: string) =>
      gatehouse.api("PUT", "/prices", { prices: [{ model: "gpt-fake", per_request: cost }] });
    const request: Sent = { key: 0, user: null, model: "gpt-fake", maxTokens: 1, words: 1, choices: 1 };
    const remaining = async () => {
      const { headers } = await send(seeded, request);
      return /money=([\d.]+)/.exec(new Headers(headers).get("x-gw-budget-remaining") ?? "")?.[1];
    };
    await priced("0.001");
    expect([await remaining(), await remaining(), await remaining()]).toEqual(["0.014", "0.013", "0.012"]);
    await priced("0.002");
    expect(await remaining()).toBe("0.01");
    await gatehouse.api("DELETE", "/prices");
  },
);
