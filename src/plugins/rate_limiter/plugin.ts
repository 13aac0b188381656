// The rate_limiter plugin: sliding-window limits per gateway, address, user, fingerprint, API key, label and model.
import {
  definePlugin,
  type Decision,
  type Limit,
  type PluginHost,
  type RequestContext,
} from "../../sdk/index.ts";
import { compileLimits, type CompiledLimit } from "./compiled-limit.ts";
import { isKnownWithoutBody, subjectOf, type LimitType } from "./identity.ts";
import { rateLimiterSettings, windowSeconds, type RateLimiterSettings } from "./settings.ts";

export const rateLimiter = definePlugin({
  name: "rate_limiter",
  description:
    "Limits requests in a sliding window: in total, by address, user, fingerprint, API key, label, model.",
  stages: ["pre_request"],
  settings: rateLimiterSettings,
  explainable: true,
  create(settings, host) {
    const check = new LimitCheck(settings, host);
    return {
      before_body: (context) => check.rejectKnown(context),
      pre_request: (context) => check.run(context),
    };
  },
});

/** Checks the limits of one gateway. */
class LimitCheck {
  readonly #settings: RateLimiterSettings;
  readonly #host: PluginHost;
  readonly #limits: readonly CompiledLimit[];
  /** Undefined for blocks that do not expire. */
  readonly #blockMs: number | undefined;

  constructor(settings: RateLimiterSettings, host: PluginHost) {
    this.#settings = settings;
    this.#host = host;
    this.#limits = compileLimits(settings, host.instanceId);
    const { block_duration } = settings.actions;
    this.#blockMs = block_duration === undefined ? undefined : (windowSeconds(block_duration) ?? 0) * 1000;
  }

  /** Synchronous unless the counters are in Redis. */
  run(context: RequestContext): Promise<void> | undefined {
    const { counters, instanceId } = this.#host;
    const { applied, wanted, blocked } = this.#limitsFor(context, this.#limits);
    if (applied.length === 0) return undefined;
    // A limit of zero rejects the request, so nothing is counted, and still returns the state of the other limits.
    if (blocked !== null) wanted.push({ key: `${instanceId}:blocked`, limit: 0, windowMs: 1000 });
    const decision = counters.admit(wanted, this.#settings.on_store_failure);
    if (decision instanceof Promise) return this.#applyLater(context, applied, wanted, blocked, decision);
    this.#apply(context, applied, wanted, blocked, decision);
    return undefined;
  }

  /** Rejects a request whose body is still arriving if this process knows that `run` would reject it. Counts nothing. */
  rejectKnown(context: RequestContext): void {
    const limits = this.#limits.filter(({ type }) => isKnownWithoutBody(type, context));
    const { applied, wanted, blocked } = this.#limitsFor(context, limits);
    if (blocked !== null) {
      respondBlocked(context, blocked);
      return;
    }
    const decision = this.#host.counters.knownRejection(wanted);
    if (decision !== null) this.#apply(context, applied, wanted, null, decision);
  }

  /**
   * Returns those of the limits that apply to the request, the same limits for the counters, and the first type whose
   * subject is blocked.
   */
  #limitsFor(
    context: RequestContext,
    limits: readonly CompiledLimit[],
  ): { applied: readonly CompiledLimit[]; wanted: Limit[]; blocked: LimitType | null } {
    let applied = limits;
    const wanted: Limit[] = [];
    let blocked: LimitType | null = null;
    for (const limit of limits) {
      const { type } = limit;
      const subject = subjectOf(type, context, this.#settings.ipv6_prefix);
      if (subject === null) {
        applied = applied.filter((other) => other !== limit);
        continue;
      }
      wanted.push(limit.limitOf(subject));
      if (blocked === null && this.#host.blocks.has(type, subject)) blocked = type;
    }
    return { applied, wanted, blocked };
  }

  async #applyLater(
    context: RequestContext,
    applied: readonly CompiledLimit[],
    wanted: readonly Limit[],
    blocked: LimitType | null,
    decision: Promise<Decision>,
  ): Promise<void> {
    this.#apply(context, applied, wanted, blocked, await decision);
  }

  /** Sets the rate limit headers, and responds with an error unless the request is admitted. */
  #apply(
    context: RequestContext,
    limits: readonly CompiledLimit[],
    wanted: readonly Limit[],
    blocked: LimitType | null,
    decision: Decision,
  ): void {
    setLimitHeaders(context, limits, decision);
    context.count("decided", decision.source);
    if (blocked !== null) respondBlocked(context, blocked);
    else if (decision.source === "closed") respondUnavailable(context);
    else if (decision.admitted) context.count("admitted");
    else {
      const reached = limits[decision.refusedBy];
      const counted = wanted[decision.refusedBy];
      if (reached === undefined || counted === undefined)
        throw new Error(`counters rejected a request by limit ${decision.refusedBy}, which does not exist`);
      if (this.#settings.actions.type === "block" && this.#block(reached, counted))
        respondBlocked(context, reached.type);
      else respondExceeded(context, reached.type, this.#settings, decision);
    }
  }

  /** Returns false if the gateway has as many blocks as it may have. */
  #block(limit: CompiledLimit, counted: Limit): boolean {
    const { blocks } = this.#host;
    const durationMs = this.#blockMs;
    return blocks.add({ type: limit.type, subject: limit.subjectOf(counted), durationMs }, counted.key);
  }
}

function setLimitHeaders(
  context: RequestContext,
  limits: readonly CompiledLimit[],
  { states }: Decision,
): void {
  for (let index = 0; index < limits.length; index++) {
    const limit = limits[index];
    const state = states[index];
    if (limit === undefined || state === undefined) continue;
    const { headers, limitText } = limit;
    context.setResponseHeader(headers.limit, limitText);
    context.setResponseHeader(headers.remaining, String(state.remaining));
    context.setResponseHeader(headers.reset, String(state.resetAt));
  }
}

function respondExceeded(
  context: RequestContext,
  type: LimitType,
  { actions }: RateLimiterSettings,
  { states }: Decision,
): void {
  context.count("refused", type);
  context.setDetail(`${type} limit reached`);
  const waitMs = Math.max(...states.map((state) => state.waitMs));
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
