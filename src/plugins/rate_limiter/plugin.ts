// rate_limiter: exact sliding-window limits per gateway, address, user and fingerprint.
import {
  definePlugin,
  type Decision,
  type Limit,
  type PluginHost,
  type RequestContext,
} from "../../sdk/index.ts";
import { compileLimits, type CompiledLimit } from "./compiled-limit.ts";
import { subjectOf, type LimitType } from "./identity.ts";
import { rateLimiterSettings, type RateLimiterSettings } from "./settings.ts";

export const rateLimiter = definePlugin({
  name: "rate_limiter",
  description: "Limits requests in a trailing window: all together, by address, by user, by fingerprint.",
  stages: ["pre_request"],
  settings: rateLimiterSettings,
  explainable: true,
  create(settings, host) {
    const check = new LimitCheck(settings, host);
    return { pre_request: (context) => check.request(context) };
  },
});

/** The limits of one gateway. */
class LimitCheck {
  readonly #settings: RateLimiterSettings;
  readonly #host: PluginHost;
  readonly #limits: readonly CompiledLimit[];

  constructor(settings: RateLimiterSettings, host: PluginHost) {
    this.#settings = settings;
    this.#host = host;
    this.#limits = compileLimits(settings, host.instanceId);
  }

  request(context: RequestContext): Promise<void> | undefined {
    const { blocks, counters, instanceId } = this.#host;
    const wanted: Limit[] = [];
    let blocked: LimitType | null = null;
    for (const limit of this.#limits) {
      const { type } = limit;
      const subject = subjectOf(type, context);
      wanted.push(limit.limitOf(subject));
      if (blocked === null && blocks.has(type, subject)) blocked = type;
    }
    // A limit that never has room: the others tell where they stand, and nothing is counted.
    if (blocked !== null) wanted.push({ key: `${instanceId}:blocked`, limit: 0, windowMs: 1000 });
    const decision = counters.admit(wanted, this.#settings.on_store_failure);
    if (decision instanceof Promise) return this.#judgeLater(context, wanted, blocked, decision);
    this.#judge(context, wanted, blocked, decision);
    return undefined;
  }

  async #judgeLater(
    context: RequestContext,
    wanted: readonly Limit[],
    blocked: LimitType | null,
    decision: Promise<Decision>,
  ): Promise<void> {
    this.#judge(context, wanted, blocked, await decision);
  }

  #judge(
    context: RequestContext,
    wanted: readonly Limit[],
    blocked: LimitType | null,
    decision: Decision,
  ): void {
    tellLimits(context, this.#limits, decision);
    context.count("decided", decision.source);
    if (blocked !== null) refuseForGood(context, blocked);
    else if (decision.source === "closed") refuseWithoutCounters(context);
    else if (decision.admitted) context.count("admitted");
    else {
      const full = this.#limits[decision.refusedBy] as CompiledLimit;
      if (this.#settings.actions.type === "reject") reject(context, full.type, this.#settings, decision);
      else block(context, full, wanted[decision.refusedBy] as Limit, this.#host);
    }
  }
}

function tellLimits(context: RequestContext, limits: readonly CompiledLimit[], { states }: Decision): void {
  for (let index = 0; index < limits.length; index++) {
    const { headers, limitText } = limits[index] as CompiledLimit;
    const state = states[index];
    if (state === undefined) continue;
    context.setResponseHeader(headers.limit, limitText);
    context.setResponseHeader(headers.remaining, String(state.remaining));
    context.setResponseHeader(headers.reset, String(state.resetAt));
  }
}

function reject(
  context: RequestContext,
  type: LimitType,
  { actions }: RateLimiterSettings,
  { states }: Decision,
): void {
  context.count("refused", type);
  context.setDetail(`${type} is full`);
  const waitMs = Math.max(...states.map((state) => state.waitMs));
  const retryAfter = actions.retry_after ?? String(Math.max(1, Math.ceil(waitMs / 1000)));
  context.respond({
    status: 429,
    headers: { "Retry-After": retryAfter },
    body: { error: `${type} rate limit exceeded`, code: "rate_limit_exceeded", retry_after: retryAfter },
  });
}

function block(context: RequestContext, limit: CompiledLimit, counted: Limit, { blocks }: PluginHost): void {
  blocks.add({ type: limit.type, subject: limit.subjectOf(counted) }, counted.key);
  refuseForGood(context, limit.type);
}

function refuseForGood(context: RequestContext, type: LimitType): void {
  context.count("blocked", type);
  context.setDetail(`${type} is blocked for good`);
  context.respond({
    status: 403,
    body: { error: `${type} rate limit exceeded`, code: "rate_limit_blocked" },
  });
}

function refuseWithoutCounters(context: RequestContext): void {
  context.count("refused", "counters_away");
  context.setDetail("the shared counters are away");
  context.respond({
    status: 503,
    headers: { "Retry-After": "1" },
    body: { error: "The rate limits cannot be checked right now.", code: "counters_unavailable" },
  });
}
