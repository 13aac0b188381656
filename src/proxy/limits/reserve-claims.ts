// Reserves the claims of a request in one step: those of all plugins and of the budgets of its gateway, or none.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { Claim, Refusal, Reservation } from "../../ledger/ledger.ts";
import type { LimitClaim } from "../../sdk/index.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import { mayCost, planBudgets, type PlanParts } from "../budgets/plan-budgets.ts";
import { budgetRefusal, setRemainingHeader } from "../budgets/reservations.ts";
import { reservedClaims, type PlannedClaim, type PlannedRequest } from "../budgets/reserved-claims.ts";
import { missingPart } from "../budgets/missing-part.ts";
import type { Exchange } from "../exchange.ts";
import { enterLeg } from "../virtual-models/resolve-model.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { LimiterCall } from "./limiter-call.ts";
import type { RepeatedLimits } from "./repeated-limits.ts";

export interface ClaimParts extends PlanParts {
  /** Reserves the claims in the ledger. Explain only compares them. */
  readonly reserveInLedger: (
    exchange: Exchange,
    claims: readonly Claim[],
  ) => ValueOrPromise<Reservation | Refusal>;
  /** Called when the claims on budgets are reserved or refused. `first` is the index of the first one. */
  readonly onBudgetsDecided: (
    exchange: Exchange,
    claims: readonly PlannedClaim[],
    decided: Reservation | Refusal,
    first: number,
  ) => void;
  /** Reserves what requests repeat. Null if the ledger is shared, and in explanations. */
  readonly repeatedLimits: RepeatedLimits | null;
  /** Called when a budget refuses the request. */
  readonly onBudgetRefusal: (exchange: Exchange, budget: CompiledBudget) => void;
}

type Parts = ClaimParts & PluginParts;

const NO_LIMITS: readonly LimitClaim[] = [];
const NO_BUDGETS: readonly PlannedClaim[] = [];

/** The budgets of a request, and the request that they were planned for; null if they could not be planned yet. */
interface Plan {
  readonly budgets: readonly PlannedClaim[];
  readonly plannedFor: PlannedRequest | null;
  /** All targets of a virtual model count, although some may turn out not to be eligible. */
  readonly isVirtual?: boolean;
}

const NOT_PLANNED: Plan = { budgets: NO_BUDGETS, plannedFor: null };

/**
 * Runs at the position of the first plugin with claims. Returns the response of a plugin that refuses the request, or null if everything
 * is reserved. Throws if a budget refuses it. `calls` gets one call for each plugin.
 */
export function reserveLimits(
  exchange: Exchange,
  links: readonly ChainLink[],
  parts: Parts,
  calls: LimiterCall[] = [],
): ValueOrPromise<OutgoingResponse | null> {
  const [only] = links;
  if (parts.repeatedLimits !== null && only !== undefined && links.length === 1 && exchange.reserved === null)
    if (parts.repeatedLimits.reserve(exchange, only, parts)) return null;
  let pending: Promise<unknown>[] | null = null;
  for (const link of links) {
    const call = new LimiterCall(new PluginCall(exchange, link, "pre_request", parts), parts);
    calls.push(call);
    const asked = call.ask();
    if (asked !== undefined) (pending ??= []).push(asked);
  }
  const plan = planEarly(exchange, parts);
  if (pending === null && !isPromise(plan)) return reserveFor(exchange, calls, plan, parts);
  return reserveLater(pending ?? [], exchange, calls, plan, parts);
}

async function reserveLater(
  pending: readonly Promise<unknown>[],
  exchange: Exchange,
  calls: readonly LimiterCall[],
  plan: ValueOrPromise<Plan>,
  parts: Parts,
): Promise<OutgoingResponse | null> {
  const [planned] = await Promise.all([plan, ...pending]);
  return await reserveFor(exchange, calls, planned, parts);
}

/**
 * Plans the budgets before all plugins have run. Plugins that have run before may have changed path or body: then the budgets are planned
 * after the plugins, when the request is known. So are those of a request whose price is not known yet.
 */
function planEarly(exchange: Exchange, parts: Parts): ValueOrPromise<Plan> {
  const { gateway, rule, body, path, sentPath } = exchange;
  const budgets = gateway?.budgets ?? null;
  if (budgets === null || rule === null || sentPath !== path || body?.isUnscanned === true)
    return NOT_PLANNED;
  const route = virtualRouteOf(exchange, rule);
  // A budget that has not enough left for the virtual model may have enough for its fallback, which is known after the plugins.
  if (route?.mayFallBackOn("budget") === true || !mayCost(exchange, rule)) return NOT_PLANNED;
  const isVirtual = route !== null;
  const plannedFor = { body, path: sentPath };
  try {
    const planned = planBudgets(exchange, rule, budgets, parts);
    if (!isPromise(planned)) return { budgets: planned, plannedFor, isVirtual };
    return planned.then((claims) => ({ budgets: claims, plannedFor, isVirtual }), planLater);
  } catch (error) {
    return planLater(error);
  }
}

/** A plan that fails now may succeed when all plugins have run, or fails again then. */
function planLater(error: unknown): Plan {
  if (error instanceof GatehouseError) return NOT_PLANNED;
  throw error;
}

function reserveFor(
  exchange: Exchange,
  calls: readonly LimiterCall[],
  plan: Plan,
  parts: Parts,
): ValueOrPromise<OutgoingResponse | null> {
  // A plugin may reject the request before anything is reserved.
  if (calls.some(({ call }) => call.response !== null)) return finishAll(calls);
  const [first] = calls;
  const limits =
    calls.length === 1 && first !== undefined ? first.claims : calls.flatMap(({ claims }) => claims);
  const claims: readonly Claim[] = plan.budgets.length === 0 ? limits : joined(limits, plan.budgets);
  if (claims.length === 0) return finishAll(calls);
  const decided = parts.reserveInLedger(exchange, claims);
  return isPromise(decided)
    ? decided.then((result) => decide(exchange, calls, limits, plan, result, parts))
    : decide(exchange, calls, limits, plan, decided, parts);
}

/** A loop, because spreading two lists takes several times as long. */
function joined(limits: readonly LimitClaim[], budgets: readonly PlannedClaim[]): Claim[] {
  const claims: Claim[] = [];
  for (const claim of limits) claims.push(claim);
  for (const claim of budgets) claims.push(claim);
  return claims;
}

function decide(
  exchange: Exchange,
  calls: readonly LimiterCall[],
  limits: readonly LimitClaim[],
  plan: Plan,
  decided: Reservation | Refusal,
  parts: Parts,
): ValueOrPromise<OutgoingResponse | null> {
  keep(exchange, limits, plan, decided);
  let first = 0;
  let refusing: LimiterCall | null = null;
  for (const call of calls) {
    const { length } = call.claims;
    if (!decided.reserved && decided.refusedBy >= first && decided.refusedBy < first + length)
      refusing = call;
    call.decide(decided, first);
    first += length;
  }
  if (plan.budgets.length > 0) {
    parts.onBudgetsDecided(exchange, plan.budgets, decided, limits.length);
    setRemainingHeader(exchange, plan.budgets, decided.states, limits.length);
  }
  const isRetried = refusing !== null && refusing.call.response === null && !exchange.finished;
  if (isRetried) {
    // The plugin does not reject the request, or it has failed: the request continues without its claims.
    refusing?.dropClaims();
    return reserveFor(exchange, calls, plan, parts);
  }
  // The most expensive target may not be eligible: the budgets are planned again when that is known.
  if (!decided.reserved && refusing === null && plan.isVirtual === true && !exchange.finished)
    return reserveFor(exchange, calls, NOT_PLANNED, parts);
  if (decided.reserved) rememberClaims(exchange, calls, plan, parts);
  const response = finishAll(calls);
  if (response !== null || decided.reserved) return response;
  throw refuseByBudget(exchange, plan.budgets, decided, limits.length, parts);
}

function rememberClaims(
  exchange: Exchange,
  calls: readonly LimiterCall[],
  { budgets, plannedFor }: Plan,
  { repeatedLimits }: ClaimParts,
): void {
  for (const call of calls) call.checkRepeats();
  const [only] = calls;
  // Budgets that are not planned yet are reserved later.
  const isPlanned = plannedFor !== null || exchange.gateway?.budgets === null;
  if (repeatedLimits === null || only === undefined || calls.length > 1 || !isPlanned) return;
  if (only.call.response === null) repeatedLimits.remember(exchange, only, budgets);
}

function refuseByBudget(
  exchange: Exchange,
  budgets: readonly PlannedClaim[],
  refusal: Refusal,
  first: number,
  { onBudgetRefusal }: ClaimParts,
): GatehouseError {
  const claim = budgets[refusal.refusedBy - first];
  if (claim !== undefined && refusal.source !== "closed") onBudgetRefusal(exchange, claim.budget);
  return budgetRefusal(budgets, refusal, first);
}

/** Remembers what is reserved, so that it is settled when the request has ended. */
function keep(
  exchange: Exchange,
  limits: readonly LimitClaim[],
  { budgets, plannedFor }: Plan,
  decided: Reservation | Refusal,
): void {
  if (!decided.reserved) return;
  const reserved = reservedClaims(decided, limits, budgets, plannedFor);
  if (exchange.reserved === null) exchange.reserved = reserved;
  else exchange.reserved.added = reserved;
  // The request may have ended while the ledger was asked.
  if (exchange.finished) decided.release();
}

/** Ends the calls of all plugins. Returns the response of the first one that responds, with the headers of all. */
function finishAll(calls: readonly LimiterCall[]): OutgoingResponse | null {
  let response: OutgoingResponse | null = null;
  for (const call of calls) {
    const own = call.finish();
    response ??= own;
  }
  return response;
}

/** Runs after the plugins: reserves the budgets that are not reserved yet for the request that is sent. */
export function reserveBudgets(exchange: Exchange, parts: ClaimParts): ValueOrPromise<null> {
  const { gateway, rule, reserved, body, sentPath } = exchange;
  const budgets = gateway?.budgets ?? null;
  if (budgets === null || rule === null) return null;
  const plannedFor = reserved?.plannedFor ?? null;
  if (plannedFor !== null && plannedFor.body === body && plannedFor.path === sentPath) return null;
  if (!mayCost(exchange, rule)) return null;
  if (exchange.route?.mayFallBackOn("budget") === true)
    return reserveOrFallBack(exchange, exchange.route, rule, budgets, parts);
  const planned = planBudgets(exchange, rule, budgets, parts);
  return isPromise(planned)
    ? planned.then((claims) => reserveMissing(exchange, claims, parts))
    : reserveMissing(exchange, planned, parts);
}

/** A budget that has not enough left for a virtual model may have enough for its fallback. */
async function reserveOrFallBack(
  exchange: Exchange,
  route: VirtualRoute,
  rule: CompiledRule,
  budgets: readonly CompiledBudget[],
  parts: ClaimParts,
): Promise<null> {
  for (;;) {
    try {
      const planned = await planBudgets(exchange, exchange.rule ?? rule, budgets, parts);
      return await reserveMissing(exchange, planned, parts);
    } catch (error) {
      const isRefusal = error instanceof GatehouseError && error.status === 402;
      if (!isRefusal || !route.fallBack("budget")) throw error;
      const [leg] = route.remaining();
      if (leg !== undefined) enterLeg(exchange, leg);
    }
  }
}

function reserveMissing(
  exchange: Exchange,
  planned: readonly PlannedClaim[],
  parts: ClaimParts,
): ValueOrPromise<null> {
  const known = exchange.reserved?.budgets ?? NO_BUDGETS;
  const missing = known.length === 0 ? planned : planned.flatMap((claim) => missingPart(claim, known));
  if (missing.length === 0) return null;
  const plan: Plan = { budgets: missing, plannedFor: { body: exchange.body, path: exchange.sentPath } };
  const accept = (decided: Reservation | Refusal): null => {
    keep(exchange, NO_LIMITS, plan, decided);
    parts.onBudgetsDecided(exchange, missing, decided, 0);
    if (known.length === 0) setRemainingHeader(exchange, missing, decided.states, 0);
    if (!decided.reserved) throw refuseByBudget(exchange, missing, decided, 0, parts);
    return null;
  };
  const decided = parts.reserveInLedger(exchange, missing);
  return isPromise(decided) ? decided.then(accept) : accept(decided);
}
