// Explains the limits and budgets of a request: what it takes of each, and whether it fits, without reserving anything.
import { dollarsOf } from "../base/decimal.ts";
import type { Claim, ClaimState, Forecast, Refusal, Reservation } from "../ledger/ledger.ts";
import type { ExplainedBudget, ExplainedLimit } from "../model/explanation.ts";
import type { PlannedClaim } from "../proxy/budgets/reserved-claims.ts";
import type { Limit, LimitState } from "../sdk/index.ts";

/** The decision of the ledger about the request. */
export function decisionOf({ fits, refusedBy, states, source }: Forecast): Reservation | Refusal {
  if (!fits) return { reserved: false, refusedBy, states, source };
  return { reserved: true, states, source, isOpen: false, settle: doNothing, release: doNothing };
}

function doNothing(): void {
  // Nothing is reserved.
}

export function explainBudgets(claims: readonly Claim[], states: readonly ClaimState[]): ExplainedBudget[] {
  return claims.flatMap((claim, index) => {
    if (!isPlanned(claim)) return [];
    const { budget, subject, amount, endsAt, enforced } = claim;
    const { id, name, unit } = budget.record;
    const { remaining = 0, waitMs = 0 } = states[index] ?? {};
    const shown = (value: number) => (unit === "usd" ? dollarsOf(value) : String(value));
    return {
      id,
      name,
      subject: subject === "" ? null : subject,
      unit,
      requested: shown(amount),
      remaining: shown(remaining),
      resets_at: endsAt === null ? null : new Date(endsAt).toISOString(),
      fits: waitMs === 0 || !enforced,
    };
  });
}

function isPlanned(claim: Claim): claim is PlannedClaim {
  return claim.kind === "budget" && "budget" in claim;
}

/** Leaves out limits without a type, which a plugin keeps for itself. */
export function explainLimits(
  limits: readonly (Limit | Claim)[],
  states: readonly (LimitState | ClaimState)[],
): ExplainedLimit[] {
  return limits.flatMap((limit, index) => {
    const state = states[index];
    if (limit.type === undefined || state === undefined || !("windowMs" in limit)) return [];
    const reset = new Date((state.resetAt ?? 0) * 1000).toISOString();
    const { remaining } = state;
    return [{ type: limit.type, limit: limit.limit, remaining, reset, window: duration(limit.windowMs) }];
  });
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** Formats a duration as in the settings: `30s`, `5m`. */
function duration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => milliseconds % each === 0) ?? ["ms", 1];
  return `${milliseconds / size}${unit}`;
}
