// The end of a budget's period: requests that are in progress then, and what the Admin API shows and changes before and after it.
import { beforeEach, expect, test } from "bun:test";
import { confirmed } from "../support/confirmed.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const HOUR_MS = 3_600_000;

const {
  gatehouse,
  providers: [provider],
  clock,
} = await startWithProviders("provider");

/** A minute before the end of an hour. */
beforeEach(() => clock.shiftDate(HOUR_MS - (clock.unixNow() % HOUR_MS) - 60_000));

async function seed(amount: string) {
  const { gateway, path } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
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
