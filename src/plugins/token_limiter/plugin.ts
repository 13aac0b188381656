// The token_limiter plugin: limits of tokens in a sliding window, per gateway, API key, user, address and label.
import {
  definePlugin,
  type BeforeBodyContext,
  type ClaimContext,
  type ClaimDecision,
  type ClaimSet,
  type ClaimState,
  type PluginHost,
  type RepeatedLimits,
  type RequestContext,
  type TokenEstimate,
  type TokensLimitClaim,
} from "../../sdk/index.ts";
import { compileTokenLimits, type CompiledTokenLimit } from "./compiled-limit.ts";
import { tokenLimiterSettings, type TokenLimiterSettings } from "./settings.ts";

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof tokenLimiterSettings> | undefined;

export const tokenLimiter = definePlugin({
  name: "token_limiter",
  description: "Limits tokens in a sliding window: in total, by API key, user, address, label.",
  stages: ["pre_request"],
  needs: ["body"],
  get settings() {
    return (schema ??= tokenLimiterSettings());
  },
  explainable: true,
  create(settings, host) {
    const limiter = new TokenLimiter(settings, host);
    return {
      before_body: (context) => limiter.rejectKnown(context),
      claims: (context) => limiter.claimsOf(context),
    };
  },
});

/** The limits of one entry. */
class TokenLimiter {
  readonly #host: PluginHost;
  readonly #limits: readonly CompiledTokenLimit[];
  readonly #countEveryModel: boolean;

  constructor(settings: TokenLimiterSettings, host: PluginHost) {
    this.#host = host;
    this.#limits = compileTokenLimits(settings, host.instanceId);
    this.#countEveryModel = this.#limits.every((limit) => limit.countsEveryModel);
  }

  /** Synchronous unless the body is large. */
  claimsOf(context: ClaimContext): ClaimSet | null | Promise<ClaimSet | null> {
    if (!context.runsModel) return null;
    const { eligibleModels: models } = context;
    const modelProblem = this.#countEveryModel ? null : context.modelProblem;
    if (modelProblem !== null) {
      const { code, message } = modelProblem;
      context.respond({ status: 400, body: { error: message, code } });
      return null;
    }
    const limits = this.#countEveryModel
      ? this.#limits
      : this.#limits.filter((limit) => models.some((model) => limit.counts(model)));
    if (limits.length === 0 || models.length === 0) return null;
    const estimate = context.estimateTokens();
    return estimate instanceof Promise
      ? estimate.then((known) => claimAll(context, limits, known))
      : claimAll(context, limits, estimate);
  }

  /** Rejects a request whose body is still arriving if this process knows that a limit has nothing left. Reserves nothing. */
  rejectKnown(context: BeforeBodyContext): void {
    if (!context.runsModel) return;
    const known = this.#limits.filter((limit) => limit.isKnownWithoutBody(context));
    const claims = new TokenClaims(known);
    for (const limit of known) claims.add(limit, limit.claimOn(context, 1));
    const decision = this.#host.knownRefusal(claims.claims);
    if (decision !== null) claims.decided(context, decision);
  }
}

function claimAll(
  context: ClaimContext,
  limits: readonly CompiledTokenLimit[],
  estimate: TokenEstimate,
): ClaimSet | null {
  const claims = new TokenClaims(limits);
  const { eligibleModels } = context;
  for (const limit of limits) {
    const amount = limit.amountOf(estimate, eligibleModels);
    const claim = limit.claimOn(context, amount);
    if (claim !== null && amount > limit.limit) {
      respondUnsatisfiable(context, limit, amount);
      return null;
    }
    claims.add(limit, claim);
  }
  return claims.claims.length === 0 ? null : claims;
}

/** The claims of one request. */
class TokenClaims implements ClaimSet {
  readonly claims: TokensLimitClaim[] = [];
  /** The limits of the claims. A list of its own is created only if a limit does not apply. */
  #limits: readonly CompiledTokenLimit[];

  /** Add the claim on each of the limits, in their order. */
  constructor(limits: readonly CompiledTokenLimit[]) {
    this.#limits = limits;
  }

  /** `claim` is null if the limit does not apply. */
  add(limit: CompiledTokenLimit, claim: TokensLimitClaim | null): void {
    if (claim === null) this.#limits = this.#limits.filter((other) => other !== limit);
    else this.claims.push(claim);
  }

  /** Null if the address of the client matters, or which of several limits has the fewest tokens left. */
  get repeats(): RepeatedLimits | null {
    if (!this.#limits.every((limit) => limit.isRepeated)) return null;
    return {
      names: this.#limits.map((limit) => limit.headerName),
      dependsOnUser: this.#limits.some(({ type }) => type === "per_user"),
    };
  }

  /** Sets the headers, and responds with an error if one of the claims is refused. */
  decided(context: RequestContext, decision: ClaimDecision): void {
    const { isReserved, refusedBy, states, source } = decision;
    this.#setHeaders(context, decision);
    context.count("decided", source);
    if (isReserved) context.count("admitted");
    const [limit, claim, state] = [this.#limits[refusedBy], this.claims[refusedBy], states[refusedBy]];
    // Otherwise another plugin or a budget refuses the request.
    if (limit === undefined || claim === undefined || state === undefined) return;
    if (source === "closed") respondUnavailable(context);
    else respondExceeded(context, limit, claim.amount, state, states);
  }

  /**
   * Of several limits of a type, the headers are those of the one with the fewest tokens left. Leaves out limits that a refusal does not
   * know: one that is known to be full has refused the request.
   */
  #setHeaders(context: RequestContext, { states, source }: ClaimDecision): void {
    for (let index = 0; index < this.#limits.length; index++) {
      const limit = this.#limits[index];
      const state = states[index];
      if (limit === undefined || state === undefined) continue;
      if (state.isUnknown === true && source === "local") continue;
      if (limit.isOneOfSeveral && this.#hasTighter(limit, index, states)) continue;
      const { remaining, resetAt } = state;
      context.reportTokenLimit({
        name: limit.headerName,
        limit: limit.limit,
        remaining,
        resetAt: resetAt ?? 0,
        window: limit.windowSeconds,
      });
    }
  }

  /** Whether another limit of the same type has fewer tokens left, or as many and comes first. */
  #hasTighter({ type }: CompiledTokenLimit, index: number, states: readonly ClaimState[]): boolean {
    const remaining = states[index]?.remaining ?? 0;
    for (let other = 0; other < this.#limits.length; other++) {
      if (other === index || this.#limits[other]?.type !== type) continue;
      const ofOther = states[other]?.remaining ?? 0;
      if (ofOther < remaining || (ofOther === remaining && other < index)) return true;
    }
    return false;
  }
}

function respondExceeded(
  context: RequestContext,
  { type, limit }: CompiledTokenLimit,
  requested: number,
  { remaining }: ClaimState,
  states: readonly ClaimState[],
): void {
  context.count("refused", type);
  context.setDetail(`${type} token limit reached`);
  const waitMs = Math.max(...states.map((state) => state.waitMs));
  const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
  context.respond({
    status: 429,
    headers: { "Retry-After": retryAfter },
    body: {
      error: `${type} token limit exceeded`,
      code: "token_limit_exceeded",
      limit,
      remaining,
      requested,
      retry_after: retryAfter,
    },
  });
}

function respondUnsatisfiable(
  context: RequestContext,
  { type, limit, count }: CompiledTokenLimit,
  requested: number,
): void {
  context.count("unsatisfiable", type);
  context.setDetail(`larger than the ${type} token limit`);
  const what = count === "total" ? "tokens" : `${count} tokens`;
  context.respond({
    status: 400,
    headers: { "x-should-retry": "false" },
    body: {
      error: `The request may use ${requested} ${what}, and the ${type} limit is ${limit}. Shorten the input or lower max_tokens.`,
      code: "token_limit_unsatisfiable",
      limit,
      requested,
    },
  });
}

function respondUnavailable(context: RequestContext): void {
  context.count("refused", "counters_away");
  context.setDetail("shared ledger unavailable");
  context.respond({
    status: 503,
    headers: { "Retry-After": "1" },
    body: {
      error: "The token limits cannot be checked because the shared ledger is unavailable. Retry later.",
      code: "counters_unavailable",
    },
  });
}
