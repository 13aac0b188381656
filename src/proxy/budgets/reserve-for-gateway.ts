// Reserves budgets for a call that the gateway itself makes: the copy of a request, or the call of a plugin to a service.
import { GatehouseError } from "../../base/errors.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { planBudgets, type PlanParts } from "./plan-budgets.ts";
import type { Reservations } from "./reservations.ts";
import { reservedClaims } from "./reserved-claims.ts";

/** Budgets that do not belong to the caller. */
const CHARGED_SCOPES: ReadonlySet<string> = new Set(["gateway", "model"]);

interface ReserveParts extends PlanParts {
  readonly reservations: Reservations;
}

/** Resolves to false if a budget has not enough left, or rejects models without a price. */
export async function reserveForGateway(
  exchange: Exchange,
  rule: CompiledRule,
  { reservations, ...parts }: ReserveParts,
): Promise<boolean> {
  const charged = exchange.gateway?.budgets?.filter(({ record }) => CHARGED_SCOPES.has(record.scope)) ?? [];
  if (charged.length === 0) return true;
  try {
    const budgets = await planBudgets(exchange, rule, charged, parts);
    if (budgets.length === 0) return true;
    const decided = await reservations.reserve(exchange, budgets);
    reservations.decided(exchange, budgets, decided, 0);
    if (!decided.reserved) return false;
    exchange.reserved = reservedClaims(decided, [], budgets);
    return true;
  } catch (error) {
    if (error instanceof GatehouseError) return false;
    throw error;
  }
}
