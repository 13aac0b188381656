// The plans of an API key are found again when anything that they depend on has changed.
import { expect, test } from "bun:test";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import { PriceTable } from "../../usage/price-table.ts";
import { KnownPlans, type BudgetPlan } from "./known-plans.ts";

const budgetOf = (scope: string) => ({ record: { scope } }) as CompiledBudget;

function exchangeWith(budgets: readonly CompiledBudget[]) {
  const gateway = { budgets, prices: new PriceTable([]) };
  return { apiKey: {}, gateway, snapshot: { prices: new PriceTable([]) } };
}

type Planned = ReturnType<typeof exchangeWith>;

/** Returns how many plans are found for these requests, one after the other. */
function foundFor(...requests: (readonly [exchange: Planned, ...models: string[]])[]): number {
  const plans = new KnownPlans();
  let found = 0;
  const find = (): BudgetPlan => ({ applying: [], needsSize: ++found > 0 });
  for (const [exchange, ...models] of requests)
    plans.planFor(exchange, exchange.gateway.budgets, models, find);
  return found;
}

const exchange = exchangeWith([budgetOf("gateway")]);
const { gateway, snapshot } = exchange;

test("a plan is found once", () => {
  expect(foundFor([exchange, "m"], [exchange, "m"], [{ ...exchange, snapshot: { ...snapshot } }, "m"])).toBe(
    1,
  );
});

test.each([
  ["another API key", { ...exchange, apiKey: {} }],
  ["other prices of the gateway", { ...exchange, gateway: { ...gateway, prices: new PriceTable([]) } }],
  ["other prices of the installation", { ...exchange, snapshot: { prices: new PriceTable([]) } }],
  ["other budgets", { ...exchange, gateway: { ...gateway, budgets: [...gateway.budgets] } }],
])("is found again for %s", (_, changed) => {
  expect(foundFor([exchange, "m"], [changed, "m"], [changed, "m"])).toBe(2);
});

test("is found again for another model, and for every request to several", () => {
  expect(foundFor([exchange, "m"], [exchange, "n"], [exchange, "n"])).toBe(2);
  expect(foundFor([exchange, "m", "n"], [exchange, "m", "n"])).toBe(2);
});

test("is not kept if a budget depends on the user", () => {
  const ofUsers = exchangeWith([budgetOf("gateway"), budgetOf("user")]);
  expect(foundFor([ofUsers, "m"], [ofUsers, "m"])).toBe(2);
});
