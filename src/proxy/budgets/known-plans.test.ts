// A plan is used again only for requests that would get the same one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { budgetSchema } from "../../model/budget.ts";
import { compileBudgets } from "../../snapshot/compiled-budget.ts";
import { PriceTable } from "../../usage/price-table.ts";
import { KnownPlans, type BudgetPlan } from "./known-plans.ts";

const RECORD = { gateway_id: "gateway", created_at: "", updated_at: "" };

function budgetsOf(...scopes: ("gateway" | "user")[]) {
  const records = scopes.map((scope, at) => ({
    ...RECORD,
    id: `budget-${at}`,
    ...budgetSchema.parse({ name: `b${at}`, unit: "tokens", amount: 10, scope, each: scope === "user" }),
  }));
  return compileBudgets(records) ?? [];
}

const GATEWAYS = [budgetsOf("gateway"), budgetsOf("gateway"), budgetsOf("gateway", "user")].map(
  (budgets) => ({
    budgets,
    prices: null,
  }),
);
const TABLES = [new PriceTable([]), new PriceTable([])] as const;
const KEYS = [null, { id: "1" }, { id: "2" }] as const;
const MODELS = [["a"], ["b"], [null], ["a", "b"], []] as const;

/** What each plan was found for. */
const plansBy = new WeakMap<BudgetPlan, string>();

test("plans of any requests in any order are those that would be found", () => {
  const request = fc.record({
    gateway: fc.nat(2),
    prices: fc.nat(2),
    shared: fc.nat(1),
    apiKey: fc.nat(2),
    models: fc.nat(4),
    isCopy: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 30 }), (requests) => {
      const known = new KnownPlans();
      let users = 0;
      for (const { gateway, prices, shared, apiKey, models, isCopy } of requests) {
        const { budgets } = GATEWAYS[gateway]!;
        const exchange = {
          apiKey: KEYS[apiKey]!,
          gateway: { budgets, prices: TABLES[prices] ?? null },
          snapshot: { prices: TABLES[shared]! },
          user: gateway === 2 ? users++ : 0,
        };
        const given = isCopy ? [...budgets] : budgets;
        const find = (from: typeof exchange): BudgetPlan => ({
          applying: budgets.map((budget) => ({ budget, subject: String(from.user), model: null })),
          needsSize: apiKey % 2 === 0,
        });
        const plan = known.planFor(exchange, given, MODELS[models]!, (from) => {
          const found = find(from);
          plansBy.set(found, [gateway, prices, shared, apiKey, models, exchange.user].join());
          return found;
        });
        expect(plansBy.get(plan)).toBe([gateway, prices, shared, apiKey, models, exchange.user].join());
      }
    }),
    { numRuns: 3000 },
  );
});
test("a plan that was found is kept, and a failure is not", () => {
  const known = new KnownPlans();
  const [gateway] = GATEWAYS;
  const exchange = { apiKey: null, gateway: gateway!, snapshot: { prices: TABLES[0] } };
  const fail = () => {
    throw new Error("no price");
  };
  expect(() => known.planFor(exchange, gateway!.budgets, ["a"], fail)).toThrow("no price");
  const plan = { applying: [], needsSize: false };
  expect(known.planFor(exchange, gateway!.budgets, ["a"], () => plan)).toBe(plan);
  expect(known.planFor(exchange, gateway!.budgets, ["a"], fail)).toBe(plan);
});
