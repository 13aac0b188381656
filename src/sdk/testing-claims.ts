// The claims of a plugin under test: reserved in a ledger in memory, and settled when the test says that the request has ended.
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import type { Refusal, Reservation } from "../ledger/ledger.ts";
import type { ClaimContext, ClaimSet, LimitClaim, TokenEstimate } from "./claims.ts";
import type { EndContext, RequestContext } from "./contexts.ts";
import type { PluginHooks } from "./plugin.ts";

/** What a request is estimated to use. Every field has a default. */
export interface TestEstimate {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly limitsOutput?: boolean;
}

export class TestClaims {
  readonly ledger = new MemoryLedger();
  #open: { readonly reservation: Reservation; readonly claims: readonly LimitClaim[] } | null = null;

  /** Does what the gateway does at the position of a plugin with claims. */
  async reserve(hooks: PluginHooks, context: RequestContext, estimate: TestEstimate): Promise<void> {
    const set = (await hooks.claims?.(claimContext(context, estimate))) ?? null;
    if (set === null) return;
    const decided = this.ledger.reserve(context.gateway.id, set.claims, "local");
    if (decided.reserved) this.#open = { reservation: decided, claims: set.claims };
    inform(set, context, decided);
  }

  /** Settles what the last request has reserved. */
  end({ attempts, usage }: EndContext): void {
    if (attempts === 0) this.#open?.reservation.release();
    else this.#open?.reservation.settle(this.#open.claims.map((claim) => actualAmount(claim, usage)));
    this.#open = null;
  }
}

function inform(set: ClaimSet, context: RequestContext, decided: Reservation | Refusal): void {
  const { states, source } = decided;
  const refusedBy = decided.reserved ? -1 : decided.refusedBy;
  if (set.decided !== undefined)
    set.decided(context, { isReserved: decided.reserved, refusedBy, states, source });
  else if (refusedBy !== -1)
    context.respond({ status: 429, body: { error: "limit exceeded", code: "rate_limit_exceeded" } });
}

function claimContext(context: RequestContext, estimate: TestEstimate): ClaimContext {
  const { inputTokens = Math.ceil(context.bodySize / 4), outputTokens = 1000 } = estimate;
  const known: TokenEstimate = {
    inputTokens,
    limitsOutput: estimate.limitsOutput ?? estimate.outputTokens !== undefined,
    outputTokens: () => outputTokens,
  };
  // Not a copy: properties such as the body are computed when they are read.
  return Object.create(context, {
    runsModel: { value: true },
    eligibleModels: { value: [context.requestedModel] },
    countedModel: { value: context.requestedModel },
    modelProblem: { value: null },
    estimateTokens: { value: () => known },
  }) as ClaimContext;
}

/** Not a number if the reserved amount is charged. */
function actualAmount(claim: LimitClaim, usage: EndContext["usage"]): number {
  if (claim.kind === "requests" || claim.count === "reserved" || usage === null) return NaN;
  const { count = "total" } = claim;
  return (count === "output" ? 0 : usage.inputTokens) + (count === "input" ? 0 : usage.outputTokens);
}
