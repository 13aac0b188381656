// One plugin with claims on one request: asks it for its claims, and informs it of the decision.
import { isThenable } from "../../base/value-or-promise.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { Refusal, Reservation } from "../../ledger/ledger.ts";
import type { ClaimDecision, ClaimSet, LimitClaim } from "../../sdk/index.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { EstimateParts } from "../budgets/request-estimate.ts";
import { failCall, finishCall, withinTimeout } from "../call-hook.ts";
import type { PluginCall } from "../plugin-call.ts";
import { limitFieldsOf, type LimitFields } from "../token-limit-headers.ts";
import { ClaimsContext } from "./claim-context.ts";

const NO_CLAIMS: readonly LimitClaim[] = [];
/** Plugins whose `repeats` was valid once, so that it is not read for every request. */
const checkedLinks = new WeakSet<ChainLink>();

interface RepeatedClaimFields {
  /** The header fields of the claims, in the same order. */
  readonly fields: readonly LimitFields[];
  readonly dependsOnUser: boolean;
}

export class LimiterCall {
  readonly call: PluginCall;
  readonly #context: ClaimsContext;
  readonly #startedAt: number;
  #set: ClaimSet | null = null;
  #claims: readonly LimitClaim[] = NO_CLAIMS;
  #hasFailed = false;

  constructor(call: PluginCall, parts: EstimateParts) {
    this.call = call;
    this.#context = new ClaimsContext(call, parts);
    this.#startedAt = call.exchange.clock.now();
  }

  get claims(): readonly LimitClaim[] {
    return this.#claims;
  }

  /** Returns how later requests repeat the claims; null if they do not. */
  repeats(): RepeatedClaimFields | null {
    try {
      const repeats = this.#set?.repeats ?? null;
      if (repeats === null) return null;
      const fields = repeats.names.map(limitFieldsOf);
      if (fields.length !== this.claims.length || new Set(fields).size < fields.length)
        throw new Error("repeated limits must have a name for each claim, and different ones");
      return { fields, dependsOnUser: repeats.dependsOnUser };
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  /**
   * Fails the call if `repeats` is invalid, also where it is not used: beside other limiters, and with a shared ledger. Otherwise
   * requests would start to fail when another plugin is removed.
   */
  checkRepeats(): void {
    const { link } = this.call;
    if (this.#set === null || checkedLinks.has(link)) return;
    this.repeats();
    if (!this.#hasFailed) checkedLinks.add(link);
  }

  /** Calls the claims hook. Throws or rejects if the plugin fails and the request does not continue without it. */
  ask(): Promise<void> | undefined {
    try {
      const result = this.call.link.hooks.claims?.(this.#context) ?? null;
      if (isThenable(result)) return this.#useLater(result);
      this.#use(result);
    } catch (error) {
      this.#fail(error);
    }
    return undefined;
  }

  /** The request continues without the claims of this plugin. */
  dropClaims(): void {
    this.#set = null;
    this.#claims = NO_CLAIMS;
  }

  /** Informs the plugin. `first` is the index of its first claim in the reservation. */
  decide(decided: Reservation | Refusal, first: number): void {
    const { claims } = this;
    if (claims.length === 0) return;
    const decision = decisionFor(decided, first, claims.length);
    try {
      if (this.#set?.decided !== undefined) this.#set.decided(this.#context, decision);
      else if (decision.refusedBy !== -1) this.#refuse(claims, decision);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the call. Returns the response of the plugin, or null. */
  finish(): OutgoingResponse | null {
    if (this.#hasFailed) return null;
    try {
      return finishCall(this.call, this.#startedAt);
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  async #useLater(result: PromiseLike<ClaimSet | null>): Promise<void> {
    try {
      this.#use(await withinTimeout(result, this.call));
    } catch (error) {
      this.#fail(error);
    }
  }

  #use(set: ClaimSet | null): void {
    if (set !== null) {
      checkKeys(set.claims, this.call.link.instanceId);
      const messages = this.call.exchange.mcp?.content?.messages.length ?? 1;
      this.#claims = messages > 1 ? claimsOfBatch(set.claims, messages) : set.claims;
    }
    this.#set = set;
  }

  #fail(error: unknown): void {
    this.dropClaims();
    this.#hasFailed = true;
    this.call.response = null;
    failCall(error, this.call, this.#startedAt);
  }

  /** What a plugin without a `decided` function responds. */
  #refuse(claims: readonly LimitClaim[], { refusedBy, states, source }: ClaimDecision): void {
    const type = claims[refusedBy]?.type ?? this.call.link.name;
    if (source === "closed") {
      const error = `The limits of ${this.call.link.name} cannot be checked because the shared ledger is unavailable, or has unusable data of this gateway, which the log names. Retry later.`;
      const headers = { "Retry-After": "1" };
      this.#context.respond({ status: 503, headers, body: { error, code: "counters_unavailable" } });
      return;
    }
    const waitMs = Math.max(...states.map((state) => state.waitMs));
    const retryAfter = Number.isFinite(waitMs) ? String(Math.max(1, Math.ceil(waitMs / 1000))) : null;
    this.#context.respond({
      status: 429,
      headers: retryAfter === null ? {} : { "Retry-After": retryAfter },
      body: { error: `${type} limit exceeded`, code: "rate_limit_exceeded", retry_after: retryAfter },
    });
  }
}

/** Every message of a batch counts as if it were sent alone. A claim with an amount knows better. */
function claimsOfBatch(claims: readonly LimitClaim[], messages: number): readonly LimitClaim[] {
  return claims.map((claim) =>
    claim.kind === "requests" && claim.amount === undefined ? { ...claim, amount: messages } : claim,
  );
}

/** Entries must not use the limits of each other, and the ledger accepts a key once per call. */
function checkKeys(claims: readonly LimitClaim[], instanceId: string): void {
  for (let at = 0; at < claims.length; at++) {
    const claim = claims[at];
    if (claim === undefined || claim.key[instanceId.length] !== ":" || !claim.key.startsWith(instanceId))
      throw new Error("the key of a claim must start with host.instanceId and a colon");
    for (let other = 0; other < at; other++)
      if (claims[other]?.key === claim.key)
        throw new Error("the claims of a request must have different keys");
  }
}

function decisionFor(decided: Reservation | Refusal, first: number, count: number): ClaimDecision {
  const { states, source } = decided;
  const own = states.length === count ? states : states.slice(first, first + count);
  const at = decided.reserved ? -1 : decided.refusedBy - first;
  return {
    isReserved: decided.reserved,
    refusedBy: at >= 0 && at < count ? at : -1,
    states: own,
    source,
  };
}
