// A rate limit of one gateway, prepared for fast checks: header names, and the claim of each subject.
import { windowSeconds, type RequestsLimitClaim, type UnavailablePolicy } from "../../sdk/index.ts";
import type { LimitType } from "./identity.ts";
import { isLabelLimit, type RateLimiterSettings } from "./settings.ts";

/** The order in which limits are checked. The error names the first limit that is reached, so `global` is last. */
const BEFORE_LABELS = ["per_fingerprint", "per_ip", "per_user", "per_key"] as const;
const AFTER_LABELS = ["per_model", "per_tool", "global"] as const;

/** Most requests have a subject that was seen recently. The cache is cleared when it has this many entries. (A
 * plugin imports only the SDK, which does not export the gateway's own bounded cache.) */
const MAX_CACHED_SUBJECTS = 1000;

export class CompiledLimit {
  readonly type: LimitType;
  /** In the names of header fields. */
  readonly name: string;
  readonly limit: number;
  readonly #keyPrefix: string;
  readonly #windowMs: number;
  readonly #onUnavailable: UnavailablePolicy;
  readonly #claimBySubject = new Map<string, RequestsLimitClaim>();

  constructor(
    type: LimitType,
    limit: number,
    windowMs: number,
    instanceId: string,
    onUnavailable: UnavailablePolicy,
  ) {
    this.type = type;
    // A colon is not allowed in the name of a header field.
    this.name = type.replace(":", ".");
    this.limit = limit;
    this.#keyPrefix = `${instanceId}:${type}:`;
    this.#windowMs = windowMs;
    this.#onUnavailable = onUnavailable;
  }

  /** Returns the claim of a request of this subject. */
  claimOf(subject: string): RequestsLimitClaim {
    let claim = this.#claimBySubject.get(subject);
    if (claim === undefined) {
      claim = {
        kind: "requests",
        type: this.type,
        key: this.#keyPrefix + subject,
        limit: this.limit,
        windowMs: this.#windowMs,
        onUnavailable: this.#onUnavailable,
        // A batch of messages calls one tool at most.
        ...(this.type === "per_tool" && { amount: 1 }),
      };
      if (this.#claimBySubject.size >= MAX_CACHED_SUBJECTS) this.#claimBySubject.clear();
      this.#claimBySubject.set(subject, claim);
    }
    return claim;
  }

  /** Returns the subject of a claim that `claimOf` returned. */
  subjectOf({ key }: RequestsLimitClaim): string {
    return key.slice(this.#keyPrefix.length);
  }
}

export function compileLimits(
  { limits, on_store_failure }: RateLimiterSettings,
  instanceId: string,
): CompiledLimit[] {
  const labels = Object.keys(limits).filter(isLabelLimit);
  return [...BEFORE_LABELS, ...labels, ...AFTER_LABELS].flatMap((type: LimitType) => {
    const configured = limits[type];
    if (configured === undefined) return [];
    const windowMs = (windowSeconds(configured.window) ?? 0) * 1000;
    return [new CompiledLimit(type, configured.limit, windowMs, instanceId, on_store_failure)];
  });
}
