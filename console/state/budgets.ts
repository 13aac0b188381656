// Budgets of a gateway with their states, and the values of the form.
import { get, toQueryString } from "../api/client.ts";
import { collectionPath } from "../api/resources.ts";
import type { ApiKey, Budget, BudgetInput, BudgetList, BudgetState, BudgetStateList } from "../api/types.ts";

export interface BudgetWithState {
  readonly budget: Budget;
  /** Null if the state is not known, for example because the shared ledger is unavailable. */
  readonly state: BudgetState | null;
}

/** Loads one page of budgets, and their states in one request. */
export async function loadBudgets(
  gateway: string,
  query: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly BudgetWithState[]; readonly count: number }> {
  const path = collectionPath(gateway, "budgets");
  const { budgets, count } = await get<BudgetList>(path + toQueryString(query), signal);
  const states = await loadStates(gateway, budgets, signal);
  return { rows: budgets.map((budget) => ({ budget, state: states.get(budget.id) ?? null })), count };
}

async function loadStates(
  gateway: string,
  budgets: readonly Budget[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, BudgetState>> {
  if (budgets.length === 0) return new Map();
  const ids = budgets.map(({ id }) => id).join(",");
  const path = `/gateways/${encodeURIComponent(gateway)}/budget-states${toQueryString({ ids })}`;
  try {
    const { states } = await get<BudgetStateList>(path, signal);
    return new Map(states.map((state) => [state.budget_id, state]));
  } catch {
    return new Map();
  }
}

/** Whether every subject has an amount of its own: also if the budget is for one user id, because several API keys may send it. */
export function hasSubjects({ each, scope }: Budget): boolean {
  return each || scope === "user";
}

type Scope = Budget["scope"];

export const SCOPES: Readonly<Record<Scope, { readonly all: string; readonly one: string }>> = {
  gateway: { all: "Whole gateway", one: "gateway" },
  api_key: { all: "API keys", one: "API key" },
  label: { all: "Label of API keys", one: "label value" },
  user: { all: "Users", one: "user" },
  model: { all: "Models", one: "model" },
};

export const PERIODS: Readonly<Record<Budget["period"], string>> = {
  hour: "Hour",
  day: "Day",
  week: "Week",
  month: "Month",
  total: "No period",
};

/** Describes whose requests count: `Each API key`, `Label team = search`. */
export function describeScope(
  { scope, label, value, each }: Pick<Budget, "scope" | "label" | "value" | "each">,
  keys: readonly ApiKey[],
): string {
  if (scope === "gateway") return SCOPES.gateway.all;
  if (scope === "label") return each ? `Each value of label ${label}` : `Label ${label} = ${value}`;
  const { one } = SCOPES[scope];
  if (each) return `Each ${one}`;
  const name = keys.find(({ id }) => id === value)?.name ?? value;
  return `${one.charAt(0).toUpperCase()}${one.slice(1)} ${name}`;
}

/** A budget as the form edits it. The amount is the text as typed. */
export type BudgetDraft = Omit<Required<BudgetInput>, "amount" | "models" | "warn_at"> & {
  readonly amount: string;
  readonly models: readonly string[];
  /** Text that is not a number stays as typed, so that the API rejects it. */
  readonly warn_at: readonly (number | string)[];
};

export function toDraft(budget: Budget | undefined): BudgetDraft {
  return {
    name: budget?.name ?? "",
    unit: budget?.unit ?? "usd",
    amount: budget === undefined ? "" : String(budget.amount),
    period: budget?.period ?? "month",
    timezone: budget?.timezone ?? "UTC",
    scope: budget?.scope ?? "gateway",
    label: budget?.label ?? null,
    value: budget?.value ?? null,
    each: budget?.each ?? false,
    models: budget?.models ?? [],
    mode: budget?.mode ?? "enforce",
    warn_at: budget?.warn_at ?? [0.8],
    on_unknown_price: budget?.on_unknown_price ?? "refuse",
    on_store_failure: budget?.on_store_failure ?? null,
    webhook: budget?.webhook ?? null,
  };
}

export function toBudget({ amount, models, each, value, ...draft }: BudgetDraft): object {
  return {
    ...draft,
    amount: amount.trim(),
    models: models.length === 0 ? null : models,
    each,
    value: each ? null : value,
  };
}
