// Reserves the budgets of a request before it is sent, and settles them when it has ended, whatever happened.
import { dollarsOf } from "../../base/decimal.ts";
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { ClaimState, Refusal, Reservation, UnavailablePolicy } from "../../ledger/ledger.ts";
import type { BudgetBook } from "../../runtime/budget-book.ts";
import { NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import type { Exchange } from "../exchange.ts";
import { priceFor } from "../record-usage.ts";
import type { BudgetPlan } from "./plan-budgets.ts";
import { countsModel, type PlannedClaim, type ReservedBudgets } from "./reserved-budgets.ts";

/** The strictest policy of the budgets decides for all of them, because they are reserved in one step. */
const POLICIES: readonly UnavailablePolicy[] = ["closed", "local", "open"];
/** The provider may have run the model: the request was sent, and its response did not arrive completely. */
const CHARGED_FAILURES: ReadonlySet<string> = new Set([
  "client_left",
  "first_byte_timeout",
  "idle_timeout",
  "first_content_timeout",
  "empty_stream",
  "total_timeout",
  "cut",
]);
/** Charged as reserved: it is not an amount. */
const AS_RESERVED = NaN;

/** What one attempt used. */
interface Charge {
  readonly model: string | null;
  /** AS_RESERVED if it is not known. */
  readonly nanos: number;
  readonly tokens: number;
  /** The response was cut, and what the provider generated is not known: at least what was reserved is charged. */
  readonly isPartial: boolean;
}

export class BudgetEnforcement {
  readonly #book: BudgetBook;

  constructor(book: BudgetBook) {
    this.#book = book;
  }

  /** Throws or rejects if a budget has not enough left. */
  reserve(exchange: Exchange, { claims, inputTokens, limitsOutput }: BudgetPlan): ValueOrPromise<null> {
    if (claims.length === 0) return null;
    const result = this.#book.ledger.reserve(exchange.gateway?.id ?? "", claims, policyOf(claims));
    const accept = (decided: Reservation | Refusal) => {
      setRemainingHeader(exchange, claims, decided.states);
      if (!decided.reserved) {
        // Settlements that exceeded their reservations may have reached a threshold that no later request can report.
        for (const [index, claim] of claims.entries())
          this.#book.report(claim, decided.states[index]?.used ?? 0, exchange.gateway);
        throw this.#refuse(exchange, claims, decided);
      }
      for (const claim of claims) this.#book.admitted(claim);
      exchange.budgets = { reservation: decided, claims, inputTokens, limitsOutput };
      // The request may have ended while the ledger was asked.
      if (exchange.finished) decided.release();
      return null;
    };
    return isPromise(result) ? result.then(accept) : accept(result);
  }

  settle(exchange: Exchange, { reservation, claims, inputTokens, limitsOutput }: ReservedBudgets): void {
    const { attempts, gateway } = exchange;
    if (attempts === 0) {
      reservation.release();
      return;
    }
    // Responses to requests with a limit say little about those without one.
    if (!limitsOutput) this.#recordOutput(exchange);
    const charges = chargesOf(exchange, inputTokens);
    const amounts = claims.map((claim) => amountOf(claim, charges));
    reservation.settle(amounts);
    for (const [index, claim] of claims.entries()) {
      const used = reservation.states[index]?.used ?? 0;
      this.#book.report(claim, used + Math.max(0, (amounts[index] ?? 0) - claim.amount), gateway);
    }
  }

  #recordOutput({ usage, response, gateway }: Exchange): void {
    const model = response?.model ?? null;
    if (model === null || gateway === null || usage === null || usage.isPartial) return;
    this.#book.outputSizes.add(gateway.id, model, usage.outputTokens);
  }

  #refuse({ gateway }: Exchange, claims: readonly PlannedClaim[], { refusedBy }: Refusal): GatehouseError {
    const claim = claims[refusedBy];
    if (claim === undefined)
      return new GatehouseError(
        "counters_unavailable",
        "The budgets cannot be checked because the shared ledger is unavailable. Retry later.",
        { headers: { "Retry-After": "1" } },
      );
    this.#book.refused(claim.budget, gateway);
    const { budget, endsAt } = claim;
    return budgetExceeded(budget.record.name, endsAt === null ? null : new Date(endsAt).toISOString());
  }
}

export function policyOf(claims: readonly PlannedClaim[]): UnavailablePolicy {
  return POLICIES.find((policy) => claims.some(({ budget }) => budget.policy === policy)) ?? "closed";
}

export function budgetExceeded(name: string, resetsAt: string | null): GatehouseError {
  const when = resetsAt === null ? "It does not start again by itself." : `It starts again at ${resetsAt}.`;
  return new GatehouseError(
    "budget_exceeded",
    `The budget "${name}" has not enough left for this request. ${when}`,
    { headers: { "x-should-retry": "false" }, fields: { budget: name, resets_at: resetsAt } },
  );
}

function setRemainingHeader(
  exchange: Exchange,
  claims: readonly PlannedClaim[],
  states: readonly ClaimState[],
): void {
  const parts = claims.map(({ budget }, index) => {
    const remaining = states[index]?.remaining ?? 0;
    const { name, unit } = budget.record;
    return `${name}=${unit === "usd" ? dollarsOf(remaining) : String(remaining)}`;
  });
  exchange.setResponseHeader("X-GW-Budget-Remaining", parts.join(", "));
}

function amountOf(claim: PlannedClaim, charges: readonly Charge[]): number {
  let sum = 0;
  for (const { model, nanos, tokens, isPartial } of charges) {
    if (!countsModel(claim, model)) continue;
    const amount = claim.budget.record.unit === "usd" ? nanos : tokens;
    if (Number.isNaN(amount)) sum += claim.amount;
    else sum += isPartial ? Math.max(amount, claim.amount) : amount;
  }
  return sum;
}

/** Returns what the attempts of a request used: the response that was relayed, and attempts whose response did not arrive. */
function chargesOf(exchange: Exchange, inputTokens: number): Charge[] {
  const { response, usage, attemptFacts } = exchange;
  const relayed = response?.report.facts ?? null;
  const charges: Charge[] = [];
  for (const facts of attemptFacts) {
    if (facts === relayed || facts.fault === null || !CHARGED_FAILURES.has(facts.fault)) continue;
    const price = priceFor(exchange, facts.model);
    const nanos = price === null ? 0 : price.costOf({ ...NO_TOKENS, inputTokens });
    charges.push({ model: facts.model, nanos, tokens: inputTokens, isPartial: false });
  }
  // A WebSocket has usage for each response of the model, and none if there was no response.
  if (exchange.handshake !== null)
    charges.push({
      model: response?.model ?? null,
      nanos: exchange.costNanos ?? 0,
      tokens: usage === null ? 0 : usage.inputTokens + usage.outputTokens,
      isPartial: usage?.isPartial === true,
    });
  else if (response !== null && response.upstreamResponse.ok) {
    const { model } = response;
    const unpriced = priceFor(exchange, model) === null ? 0 : AS_RESERVED;
    // The usage of a stream that was cut is estimated from the text that was relayed. Other responses have been generated completely.
    const isPartial = usage?.isPartial === true && !response.isStream;
    charges.push({ model, nanos: exchange.costNanos ?? unpriced, tokens: tokensOf(usage), isPartial });
  }
  return charges;
}

/** The tokens of a response without usage are unknown, and so are those of one that was cut before it reported any. */
function tokensOf(usage: Usage | null): number {
  if (usage === null) return AS_RESERVED;
  const tokens = usage.inputTokens + usage.outputTokens;
  return usage.isPartial && tokens === 0 ? AS_RESERVED : tokens;
}
