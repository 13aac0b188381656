// A rate limit of one gateway, prepared for fast checks: header names, and the counter limit for each subject.
import type { Limit } from "../../sdk/index.ts";
import type { LimitType } from "./identity.ts";
import { isLabelLimit, windowSeconds, type RateLimiterSettings } from "./settings.ts";

/** The order in which limits are checked. The error names the first limit that is reached, so `global` is last. */
const BEFORE_LABELS = ["per_fingerprint", "per_ip", "per_user", "per_key"] as const;
const AFTER_LABELS = ["per_model", "global"] as const;

/** Most requests have a subject that was seen recently. The cache is cleared when it has this many entries. (A
 * plugin imports only the SDK, which does not export the gateway's own bounded cache.) */
const MAX_CACHED_SUBJECTS = 1000;

export class CompiledLimit {
  readonly type: LimitType;
  readonly limitText: string;
  readonly headers: { readonly limit: string; readonly remaining: string; readonly reset: string };
  readonly #keyPrefix: string;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #limitBySubject = new Map<string, Limit>();

  constructor(type: LimitType, limit: number, windowMs: number, instanceId: string) {
    // A colon is not allowed in the name of a header field.
    const prefix = `X-RateLimit-${type.replace(":", ".")}-`;
    this.type = type;
    this.limitText = String(limit);
    this.headers = { limit: `${prefix}Limit`, remaining: `${prefix}Remaining`, reset: `${prefix}Reset` };
    this.#keyPrefix = `${instanceId}:${type}:`;
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Returns the limit to pass to the counters for this subject. */
  limitOf(subject: string): Limit {
    let limit = this.#limitBySubject.get(subject);
    if (limit === undefined) {
      const key = this.#keyPrefix + subject;
      limit = { type: this.type, key, limit: this.#limit, windowMs: this.#windowMs };
      if (this.#limitBySubject.size >= MAX_CACHED_SUBJECTS) this.#limitBySubject.clear();
      this.#limitBySubject.set(subject, limit);
    }
    return limit;
  }

  /** Returns the subject of a limit that `limitOf` returned. */
  subjectOf({ key }: Limit): string {
    return key.slice(this.#keyPrefix.length);
  }
}

export function compileLimits({ limits }: RateLimiterSettings, instanceId: string): CompiledLimit[] {
  const labels = Object.keys(limits).filter(isLabelLimit);
  return [...BEFORE_LABELS, ...labels, ...AFTER_LABELS].flatMap((type: LimitType) => {
    const configured = limits[type];
    if (configured === undefined) return [];
    const windowMs = (windowSeconds(configured.window) ?? 0) * 1000;
    return [new CompiledLimit(type, configured.limit, windowMs, instanceId)];
  });
}
