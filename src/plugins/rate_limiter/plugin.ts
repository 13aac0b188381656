// The rate_limiter plugin: sliding-window limits per gateway, address, user, fingerprint, API key, label and model.
import {
  definePlugin,
  windowSeconds,
  type ClaimContext,
  type ClaimDecision,
  type ClaimSet,
  type PluginHost,
  type RequestContext,
  type RequestsLimitClaim,
} from "../../sdk/index.ts";
import { compileLimits, type CompiledLimit } from "./compiled-limit.ts";
import { isKnownWithoutBody, subjectOf, type LimitedRequest, type LimitType } from "./identity.ts";
import { rateLimiterSettings, type RateLimiterSettings } from "./settings.ts";

export const rateLimiter = definePlugin({
  name: "rate_limiter",
  description:
    "Limits requests in a sliding window: in total, by address, user, fingerprint, API key, label, model.",
  stages: ["pre_request"],
  settings: rateLimiterSettings,
  explainable: true,
  create(settings, host) {
    const limiter = new Limiter(settings, host);
    return {
      readsModel: settings.limits.per_model !== undefined,
      before_body: (context) => limiter.rejectKnown(context),
      claims: (context) => limiter.claimsOf(context),
    };
  },
});

/** The limits of one entry. */
class Limiter {
  readonly settings: RateLimiterSettings;
  readonly host: PluginHost;
  readonly #limits: readonly CompiledLimit[];
  /** Undefined for blocks that do not expire. */
  readonly #blockMs: number | undefined;

  constructor(settings: RateLimiterSettings, host: PluginHost) {
    this.settings = settings;
    this.host = host;
    this.#limits = compileLimits(settings, host.instanceId);
    const { block_duration } = settings.actions;
    this.#blockMs = block_duration === undefined ? undefined : (windowSeconds(block_duration) ?? 0) * 1000;
  }

  /** Returns null if no limit applies to the request. */
  claimsOf(context: ClaimContext): ClaimSet | null {
    const claims = this.#claimsOn(context, this.#limits);
    if (claims.applied.length === 0) return null;
    // A limit of zero rejects the request, so nothing is counted, and still returns the state of the other limits.
    if (claims.blocked !== null)
      claims.claims.push({
        kind: "requests",
        key: `${this.host.instanceId}:blocked`,
        limit: 0,
        windowMs: 1000,
        onUnavailable: "local",
      });
    return claims;
  }

  /** Rejects a request whose body is still arriving if this process knows that it would be rejected. Counts nothing. */
  rejectKnown(context: RequestContext): void {
    const limits = this.#limits.filter(({ type }) => isKnownWithoutBody(type, context));
    const claims = this.#claimsOn(context, limits);
    if (claims.blocked !== null) {
      respondBlocked(context, claims.blocked);
      return;
    }
    const decision = this.host.knownRefusal(claims.claims);
    if (decision !== null) claims.decided(context, decision);
  }

  /** Returns whether the subject of the claim is blocked now: false if the gateway has as many blocks as it may have. */
  block(limit: CompiledLimit, claim: RequestsLimitClaim): boolean {
    const subject = limit.subjectOf(claim);
    return this.host.blocks.add({ type: limit.type, subject, durationMs: this.#blockMs }, claim.key);
  }

  #claimsOn(context: LimitedRequest, limits: readonly CompiledLimit[]): LimiterClaims {
    let applied = limits;
    const claims: RequestsLimitClaim[] = [];
    let blocked: LimitType | null = null;
    for (const limit of limits) {
      const { type } = limit;
      const subject = subjectOf(type, context, this.settings.ipv6_prefix);
      if (subject === null) {
        applied = without(applied, limit);
        continue;
      }
      claims.push(limit.claimOf(subject));
      if (blocked === null && this.host.blocks.has(type, subject)) blocked = type;
    }
    return new LimiterClaims(this, applied, claims, blocked);
  }
}

/** Apart, because the closure would allocate its scope for every request. */
function without(limits: readonly CompiledLimit[], limit: CompiledLimit): readonly CompiledLimit[] {
  return limits.filter((other) => other !== limit);
}

/** The claims of one request. */
class LimiterClaims implements ClaimSet {
  readonly #limiter: Limiter;
  /** The limits of the first claims. */
  readonly applied: readonly CompiledLimit[];
  readonly claims: RequestsLimitClaim[];
  /** The first type whose subject is blocked. */
  readonly blocked: LimitType | null;

  constructor(
    limiter: Limiter,
    applied: readonly CompiledLimit[],
    claims: RequestsLimitClaim[],
    blocked: LimitType | null,
  ) {
    this.#limiter = limiter;
    this.applied = applied;
    this.claims = claims;
    this.blocked = blocked;
  }

  /** Sets the rate limit headers, and responds with an error if one of the claims is refused. */
  decided(context: RequestContext, decision: ClaimDecision): void {
    const { isReserved, refusedBy, source } = decision;
    reportLimits(context, this.applied, decision);
    context.count("decided", source);
    if (this.blocked !== null) respondBlocked(context, this.blocked);
    else if (isReserved) context.count("admitted");
    // Otherwise another plugin or a budget refuses the request.
    else if (refusedBy !== -1) this.#refuse(context, decision);
  }

  #refuse(context: RequestContext, decision: ClaimDecision): void {
    const { settings } = this.#limiter;
    const reached = this.applied[decision.refusedBy];
    const claim = this.claims[decision.refusedBy];
    if (reached === undefined || claim === undefined)
      throw new Error(`a request was refused by claim ${decision.refusedBy}, which does not exist`);
    if (decision.source === "closed") respondUnavailable(context);
    else if (settings.actions.type === "block" && this.#limiter.block(reached, claim))
      respondBlocked(context, reached.type);
    else respondExceeded(context, reached.type, settings, decision);
  }
}

/** Leaves out limits that a refusal does not know: one that is known to be full has refused the request. */
function reportLimits(
  context: RequestContext,
  limits: readonly CompiledLimit[],
  { states, source }: ClaimDecision,
): void {
  for (let index = 0; index < limits.length; index++) {
    const limit = limits[index];
    const state = states[index];
    if (limit === undefined || state === undefined) continue;
    if (state.isUnknown === true && source === "local") continue;
    const { remaining, resetAt } = state;
    context.reportLimit({ name: limit.name, limit: limit.limit, remaining, resetAt: resetAt ?? 0 });
  }
}

function respondExceeded(
  context: RequestContext,
  type: LimitType,
  { actions }: RateLimiterSettings,
  { states }: ClaimDecision,
): void {
  context.count("refused", type);
  context.setDetail(`${type} limit reached`);
  let waitMs = 0;
  for (const state of states) waitMs = Math.max(waitMs, state.waitMs);
  if (waitMs === Infinity && context.protocol === "mcp") {
    const error = `${type} rate limit exceeded. The batch has more messages than the limit allows. Send fewer at once.`;
    context.respond({ status: 429, body: { error, code: "rate_limit_exceeded" } });
    return;
  }
  const retryAfter = actions.retry_after ?? String(Math.max(1, Math.ceil(waitMs / 1000)));
  context.respond({
    status: 429,
    headers: { "Retry-After": retryAfter },
    body: { error: `${type} rate limit exceeded`, code: "rate_limit_exceeded", retry_after: retryAfter },
  });
}

function respondBlocked(context: RequestContext, type: LimitType): void {
  context.count("blocked", type);
  context.setDetail(`${type} blocked`);
  context.respond({
    status: 403,
    body: { error: `${type} rate limit exceeded`, code: "rate_limit_blocked" },
  });
}

function respondUnavailable(context: RequestContext): void {
  context.count("refused", "counters_away");
  context.setDetail("shared counters unavailable");
  context.respond({
    status: 503,
    headers: { "Retry-After": "1" },
    body: {
      error: "The rate limits cannot be checked because the shared counters are unavailable. Retry later.",
      code: "counters_unavailable",
    },
  });
}
