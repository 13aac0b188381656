// Budgets, API keys and gateways that change while a request is in progress: it is charged once, to the budget that it was reserved of.
import { expect, test } from "bun:test";
import { confirmed } from "../support/confirmed.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const {
  gatehouse,
  providers: [provider],
  clock,
} = await startWithProviders("provider");

const DELAY_MS = 10;
const USED = { input: 30, output: 20 };

interface Places {
  readonly gateway: string;
  readonly budget: string;
  readonly key: string;
  readonly rule: string;
}

/** Lets a request arrive at the provider, makes the change, and returns the state of the budget when the request has ended. */
async function changeWhileInProgress(change: (places: Places) => Promise<{ readonly status: number }>) {
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  const gateway = `/gateways/${route.gateway}`;
  const fields = { name: "team", unit: "tokens", amount: 1000 };
  const { id } = await create(gatehouse, `${gateway}/budgets`, fields);
  const budget = `${gateway}/budgets/${id}`;
  const { key, id: keyId } = await seedKey(gatehouse, route.gateway);
  const arrival = Promise.withResolvers<undefined>();
  provider.behave(() => {
    arrival.resolve(undefined);
    return { delayMs: DELAY_MS, usage: USED };
  });
  const sent = fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
    body: JSON.stringify({ ...CHAT, max_tokens: 100 }),
  });
  await arrival.promise;
  const rule = `${gateway}/rules/${route.rule}`;
  const { status } = await change({ gateway, budget, key: `/iam/api-keys/${keyId}`, rule });
  expect(status).toBeWithin(200, 205);
  let isOver = false;
  void sent.finally(() => (isOver = true));
  await waitUntil(() => {
    // The provider may not have started to wait yet.
    clock.advance(DELAY_MS);
    return isOver;
  });
  const response = await sent;
  await response.text();
  expect(response.status).toBe(200);
  return waitFor(async () => {
    const state = await gatehouse.api("GET", `${budget}/state`);
    return state.status !== 200 || state.body.reserved === 0 ? state : null;
  });
}

test.each<[string, (places: Places) => ReturnType<typeof gatehouse.api>, number]>([
  ["is lowered below what is reserved", ({ budget }) => gatehouse.api("PATCH", budget, { amount: 5 }), 50],
  ["is raised", ({ budget }) => gatehouse.api("PATCH", budget, { amount: 5000 }), 50],
  ["is renamed", ({ budget }) => gatehouse.api("PATCH", budget, { name: "other" }), 50],
  ["is reset", ({ budget }) => confirmed(gatehouse, `${budget}/reset`, {}), 50],
  ["is lowered to 0 spent", ({ budget }) => confirmed(gatehouse, `${budget}/adjust`, { amount: -9 }), 50],
  ["is charged by hand", ({ budget }) => confirmed(gatehouse, `${budget}/adjust`, { amount: 7 }), 57],
  ["only warns from now on", ({ budget }) => gatehouse.api("PATCH", budget, { mode: "warn" }), 50],
  ["loses its API key", ({ key }) => gatehouse.api("DELETE", key), 50],
  ["loses its rule", ({ rule }) => gatehouse.api("DELETE", rule), 50],
])("a budget that %s is charged with what the request used", async (_, change, spent) => {
  const { body } = await changeWhileInProgress(change);
  expect(body).toMatchObject({ spent, reserved: 0 });
});

test("a deleted budget and a deleted gateway do not fail the request", async () => {
  expect((await changeWhileInProgress(({ budget }) => gatehouse.api("DELETE", budget))).status).toBe(404);
  const path = "?cascade=true";
  const deleted = await changeWhileInProgress(({ gateway }) => gatehouse.api("DELETE", gateway + path));
  expect(deleted.status).toBe(404);
  expect(gatehouse.output()).not.toContain('"level":"error"');
});
