// Which budgets apply to the requests of an API key to a model: found once, and kept with the compiled budgets of the gateway.
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { PriceTable } from "../../usage/price-table.ts";
import type { PlannedClaim } from "./reserved-claims.ts";

/** API keys of a gateway whose plans are kept. */
const KEPT_KEYS = 1000;
const WITHOUT_KEY = {};

export type ApplyingBudget = Pick<PlannedClaim, "budget" | "subject" | "model">;

export interface BudgetPlan {
  readonly applying: readonly ApplyingBudget[];
  /** Whether the size of the request decides about an amount. */
  readonly needsSize: boolean;
}

/** The last plan of an API key, and what it depends on beside the key and the budgets. */
interface KnownPlan {
  readonly model: string | null;
  readonly prices: PriceTable | null;
  readonly sharedPrices: PriceTable;
  readonly plan: BudgetPlan;
}

/** By compiled API key. */
type Plans = BoundedCache<object, KnownPlan>;

/** The part of an exchange that plans depend on. */
interface PlannedExchange {
  readonly apiKey: object | null;
  readonly gateway: {
    readonly budgets: readonly CompiledBudget[] | null;
    readonly prices: PriceTable | null;
  } | null;
  readonly snapshot: { readonly prices: PriceTable };
}

export class KnownPlans {
  /** Null if the plans of requests with the same key and model differ. */
  readonly #plans = new WeakMap<readonly CompiledBudget[], Plans | null>();

  /** `find` must depend on nothing but the API key, the user, the models and the prices. What it throws is not kept. */
  planFor<E extends PlannedExchange>(
    exchange: E,
    budgets: readonly CompiledBudget[],
    models: readonly (string | null)[],
    find: (exchange: E, budgets: readonly CompiledBudget[], models: readonly (string | null)[]) => BudgetPlan,
  ): BudgetPlan {
    const { apiKey, gateway, snapshot } = exchange;
    const model = models[0];
    // A list that was made for this request is no key.
    if (model === undefined || models.length > 1 || budgets !== gateway?.budgets)
      return find(exchange, budgets, models);
    let plans = this.#plans.get(budgets);
    if (plans === undefined) this.#plans.set(budgets, (plans = plansFor(budgets)));
    if (plans === null) return find(exchange, budgets, models);
    const key = apiKey ?? WITHOUT_KEY;
    const known = plans.get(key);
    const { prices } = gateway;
    const isKnown =
      known?.model === model && known.prices === prices && known.sharedPrices === snapshot.prices;
    if (known !== undefined && isKnown) return known.plan;
    const plan = find(exchange, budgets, models);
    plans.set(key, { model, prices, sharedPrices: snapshot.prices, plan });
    return plan;
  }
}

function plansFor(budgets: readonly CompiledBudget[]): Plans | null {
  return budgets.some(({ record }) => record.scope === "user") ? null : new BoundedCache(KEPT_KEYS);
}
