// What hedged requests cost: reservations, budgets, and usage of the attempt that is not used, and when that attempt is aborted.
import { expect, test } from "bun:test";
import { CHAT_REQUEST, seedUpstream, targetOf } from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { runs } from "../support/long-form.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

const targets = [targetOf(one), targetOf(two, { priority: 2 })];
const route = await seedUpstream(gatehouse, targets, { hedge: { after: 300, budget: 1 } });
const gateway = route.upstream.split("/upstreams")[0] ?? "";
await gatehouse.api("PATCH", gateway, { prices: [{ model: "gpt-fake", per_request: "0.01" }] });

async function createBudget(name: string, amount: string): Promise<string> {
  const fields = { name, unit: "usd", amount, period: "total", scope: "gateway" };
  const { body } = await gatehouse.api("POST", `${gateway}/budgets`, fields);
  return `${gateway}/budgets/${body.id}`;
}

async function send(signal: AbortSignal | null = null) {
  const sent = fetch(route.url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(CHAT_REQUEST),
    signal,
  });
  const response = await passTimeUntil(clock, sent);
  const endedAt = performance.now();
  await response.arrayBuffer();
  return { status: response.status, hedged: response.headers.get("x-gw-hedged"), endedAt };
}

const stateOf = async (budget: string) => (await gatehouse.api("GET", `${budget}/state`)).body;

test("budget and usage have one amount for each call of a provider, and no reservation stays open", async () => {
  const budget = await createBudget("all", "100");
  one.behave({ delayMs: 60_000 });
  for (let count = 0; count < 3; count++) expect(await send()).toMatchObject({ hedged: "won" });
  one.behave({ delayMs: 600 });
  two.behave({ delayMs: 60_000 });
  expect(await send()).toMatchObject({ hedged: "lost" });
  one.behave({ delayMs: 60_000 });
  const controller = new AbortController();
  const calls = two.requestCount;
  const left = send(controller.signal).catch(() => null);
  await two.until(() => two.requestCount > calls);
  controller.abort();
  await left;
  const spent = (one.requestCount + two.requestCount) * 0.01;
  const state = await waitFor(async () => {
    const read = await stateOf(budget);
    return Number(read.spent) > spent - 0.001 && Number(read.reserved) === 0 ? read : null;
  });
  expect(Number(state.spent)).toBeCloseTo(spent, 6);
  clock.advance(1000);
  const { body } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose`);
  expect(body.usage).toMatchObject([
    { purpose: "hedge", requests: 5 },
    { purpose: "request", requests: 5 },
  ]);
  expect(body.total.cost).toBeCloseTo(spent, 6);
  await gatehouse.api("DELETE", budget);
});

test("a request whose second attempt does not fit into a budget is not hedged", async () => {
  const budget = await createBudget("one", "0.01");
  one.behave({ delayMs: 1000 });
  expect(await send()).toMatchObject({ status: 200, hedged: null });
  expect(two.requestCount).toBe(0);
  expect(Number((await stateOf(budget)).spent)).toBe(0.01);
  await gatehouse.api("DELETE", budget);
});

test("the attempt that has lost is aborted within 250 ms", async () => {
  const count = runs({ short: 20, long: 1000 });
  one.behave({ delayMs: 60_000 });
  for (let serial = 0; serial < count; serial++) {
    const { hedged, endedAt } = await send();
    expect(hedged).toBe("won");
    await one.until(() => one.requests[serial]?.aborted === true);
    expect((one.requests[serial]?.abortedAt ?? Infinity) - endedAt).toBeLessThan(250);
  }
}, 600_000);
