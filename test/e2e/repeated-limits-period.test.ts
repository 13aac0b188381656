// Requests that repeat the limits of an earlier one are charged to the period of their budgets in which they are sent.
import { expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const HOUR_MS = 3_600_000;

const {
  gatehouse,
  providers: [provider],
  clock,
} = await startWithProviders("provider");

test("a request of the next month is not charged to the month before", async () => {
  const settings = { limits: { per_key: { limit: 1_000_000, window: "1h" } } };
  const { gateway, path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name: "token_limiter", stage: "pre_request", settings }] },
    upstream: { targets: [targetAt(provider)] },
  });
  const budget = { name: "monthly", unit: "tokens", amount: 1_000_000, period: "month", scope: "gateway" };
  const { id } = await create(gatehouse, `/gateways/${gateway}/budgets`, budget);
  const { key } = await seedKey(gatehouse, gateway);

  async function send(): Promise<void> {
    const response = await fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
      body: JSON.stringify(CHAT),
    });
    await response.text();
    expect(response.status).toBe(200);
  }

  /** What is spent in the month of the clock. */
  async function spentInMonth(): Promise<number> {
    let spent = NaN;
    await waitUntil(async () => {
      const { body } = await gatehouse.api("GET", `/gateways/${gateway}/budgets/${id as string}/state`);
      spent = Number(body.spent);
      return Number(body.reserved) === 0;
    });
    return spent;
  }

  await send();
  const spent = await spentInMonth();
  expect(spent).toBeGreaterThan(0);
  await send();
  expect(await spentInMonth()).toBe(2 * spent);
  // Amounts are kept for a day after the end of their period.
  const now = new Date(clock.unixNow());
  clock.block(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime() + HOUR_MS);
  expect(await spentInMonth()).toBe(0);
  for (let sent = 0; sent < 3; sent++) await send();
  expect(await spentInMonth()).toBe(3 * spent);
  clock.shiftDate(-2 * HOUR_MS);
  expect(await spentInMonth()).toBe(2 * spent);
});
