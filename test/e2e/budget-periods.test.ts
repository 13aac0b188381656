// The end of a budget's period: requests that are in progress then, and what the Admin API shows and changes before and after it.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { confirmed } from "../support/confirmed.ts";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { pluginsDirectory, scripted, SCRIPTED_PLUGINS } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const HOUR_MS = 3_600_000;

const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
});
const { clock } = gatehouse;
const provider = await startFakeProvider({ clock });
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});

/** A minute before the end of an hour. */
beforeEach(() => {
  provider.reset();
  clock.shiftDate(HOUR_MS - (clock.unixNow() % HOUR_MS) - 60_000);
});

async function seed(amount: string, required_plugins: readonly object[] = []) {
  const { gateway, path } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }], required_plugins },
    upstream: { targets: [targetAt(provider)] },
  });
  const budgets = `/gateways/${gateway}/budgets`;
  const { id } = await create(gatehouse, budgets, { name: "hourly", unit: "usd", amount, period: "hour" });
  const budget = `${budgets}/${id}`;
  const call = async (action: "adjust" | "reset", body: object) =>
    (await confirmed(gatehouse, `${budget}/${action}`, body)).body;
  const reset = (query = "") => gatehouse.api("POST", `${budget}/reset${query}`, {});
  const state = async () => (await gatehouse.api("GET", `${budget}/state`)).body;
  const settled = () =>
    waitFor(async () => {
      const current = await state();
      return Number(current.reserved) === 0 ? current : null;
    });
  const send = async () => {
    const response = await fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    });
    await response.text();
    return response.status;
  };
  return { call, reset, state, settled, send };
}

test("a request that ends in the next hour is charged to the hour in which it began", async () => {
  const { state, settled, send } = await seed("0.01");
  const arrival = Promise.withResolvers<undefined>();
  provider.behave(() => {
    arrival.resolve(undefined);
    return { delayMs: 1000 };
  });
  const slow = send();
  await arrival.promise;
  expect(await state()).toMatchObject({ spent: "0.00", reserved: "0.01", remaining: "0.00" });
  expect(await send()).toBe(402);
  clock.shiftDate(60_000);
  // The reservation is one of the hour before.
  expect(await state()).toMatchObject({ spent: "0.00", reserved: "0.00", remaining: "0.01" });
  provider.behave({});
  expect(await send()).toBe(200);
  expect(await send()).toBe(402);
  clock.advance(1000);
  expect(await slow).toBe(200);
  expect(await settled()).toMatchObject({ spent: "0.01", remaining: "0.00" });
  clock.shiftDate(-60_000);
  expect(await settled()).toMatchObject({ spent: "0.01", remaining: "0.00" });
});

test("a reset and an adjustment concern the hour in which they are made", async () => {
  const { call, state, settled, send } = await seed("0.05");
  expect(await send()).toBe(200);
  await settled();
  const before = await state();
  expect(before.spent).toBe("0.01");
  clock.shiftDate(60_000);
  const after = await call("adjust", { amount: "0.02" });
  expect(after).toMatchObject({ spent: "0.02", period: { starts_at: before.period.ends_at } });
  expect(await call("reset", {})).toMatchObject({ spent: "0.00", remaining: "0.05" });
  clock.shiftDate(-60_000);
  expect(await state()).toEqual(before);
});

test("a confirmation of a reset is of the hour of its plan", async () => {
  const { settled, reset, send } = await seed("0.05");
  expect(await send()).toBe(200);
  await settled();
  const { losses, confirm: digest } = (await reset()).body;
  expect(losses).toEqual({ budget_spent_usd: "0.01" });
  clock.shiftDate(60_000);
  expect(await send()).toBe(200);
  await settled();
  expect((await reset(`?confirm=${digest}`)).body).toMatchObject({ code: "confirmation_required", losses });
  clock.shiftDate(-60_000);
  expect((await reset(`?confirm=${digest}`)).body).toMatchObject({ spent: "0.00" });
});

test("a request that a plugin changes in the next hour is charged once, to the hour in which it began", async () => {
  // The limiter reserves the budgets, too. A change of the body afterwards plans them again.
  const settings = { limits: { global: { limit: 1_000_000, window: "1h" } } };
  const limiter = { name: "token_limiter", stage: "pre_request", settings, priority: 1 };
  const code = "globalThis.beforeChange(); context.replaceBody(`${context.bodyText} `);";
  const { state, settled, send } = await seed("1", [limiter, scripted("pre_request", code, { priority: 2 })]);
  Object.assign(globalThis, { beforeChange: () => clock.shiftDate(60_000) });
  expect(await send()).toBe(200);
  Object.assign(globalThis, { beforeChange: null });
  expect(await settled()).toMatchObject({ spent: "0.00", reserved: "0.00" });
  clock.shiftDate(-60_000);
  expect(await state()).toMatchObject({ spent: "0.01" });
});
