// Responses that are no streams and are cut after they have begun: the provider has generated all of them, so that they cost at least what
// was reserved, however their bodies are framed.
import { expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const { gatehouse, providers } = await startWithProviders("one", "two");
const [one, two] = providers;

const MAX_TOKENS = 1000;
const REQUEST = { ...CHAT, model: "m", max_tokens: MAX_TOKENS };
const START = '{"choices":[{"index":0,"message":{"role":"assistant","content":"Good morning';

async function seed(targets: readonly Record<string, unknown>[], upstream: object = {}) {
  const { gateway, path } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "1" }] },
    upstream: { targets, max_attempts: targets.length, health_checks: { passive: false }, ...upstream },
  });
  const at = `/gateways/${gateway}`;
  const fields = { name: "tokens", unit: "tokens", amount: 1_000_000 };
  const { id } = await create(gatehouse, `${at}/budgets`, fields);
  return { url: gatehouse.proxyUrl + path, state: `${at}/budgets/${id}/state` };
}

async function send(url: string) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(REQUEST) });
  await response.text().catch(() => "");
  return response.status;
}

function spent(state: string): Promise<number> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", state);
    return Number(body.reserved) === 0 && Number(body.spent) > 0 ? Number(body.spent) : null;
  });
}

const FRAMINGS: readonly (readonly [string, Behavior])[] = [
  ["a Content-Length", { body: START, wrongContentLength: "longer" }],
  ["chunks", { body: [START, " everyone"], cutAfterChunks: 1 }],
];

test.each(FRAMINGS)("a response with %s costs what was reserved", async (_name, behavior) => {
  const { url, state } = await seed([targetAt(one)]);
  one.behave(behavior);
  await send(url);
  expect(await spent(state)).toBeWithin(MAX_TOKENS, MAX_TOKENS + 100);
});

test("so does an attempt that another one replaces", async () => {
  const { url, state } = await seed([targetAt(one), targetAt(two, { priority: 2 })]);
  one.behave({ body: START, wrongContentLength: "longer" });
  two.behave({ usage: { input: 5, output: 7 } });
  expect(await send(url)).toBe(200);
  expect(await spent(state)).toBeWithin(MAX_TOKENS + 12, MAX_TOKENS + 112);
});
