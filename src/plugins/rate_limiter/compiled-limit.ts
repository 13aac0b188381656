// One limit of a gateway as a request needs it: its headers by name, and who is limited in the words of the counters.
import type { Limit } from "../../sdk/index.ts";
import type { LimitType } from "./identity.ts";
import { windowSeconds, type RateLimiterSettings } from "./settings.ts";

/** The order of checking: the first without room names the error; global is the last line of defence. */
const ORDER: readonly LimitType[] = ["per_fingerprint", "per_ip", "per_user", "global"];

/** The same subjects come again and again. Beyond this many all are made anew. */
const MAX_KNOWN = 1000;

export class CompiledLimit {
  readonly type: LimitType;
  readonly limitText: string;
  readonly headers: { readonly limit: string; readonly remaining: string; readonly reset: string };
  readonly #keyPrefix: string;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #known = new Map<string, Limit>();

  constructor(type: LimitType, limit: number, windowMs: number, instanceId: string) {
    const prefix = `X-RateLimit-${type}-`;
    this.type = type;
    this.limitText = String(limit);
    this.headers = { limit: `${prefix}Limit`, remaining: `${prefix}Remaining`, reset: `${prefix}Reset` };
    this.#keyPrefix = `${instanceId}:${type}:`;
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  limitOf(subject: string): Limit {
    let limit = this.#known.get(subject);
    if (limit === undefined) {
      const key = this.#keyPrefix + subject;
      limit = { type: this.type, key, limit: this.#limit, windowMs: this.#windowMs };
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(subject, limit);
    }
    return limit;
  }

  subjectOf({ key }: Limit): string {
    return key.slice(this.#keyPrefix.length);
  }
}

export function compileLimits({ limits }: RateLimiterSettings, instanceId: string): CompiledLimit[] {
  return ORDER.flatMap((type) => {
    const configured = limits[type];
    if (configured === undefined) return [];
    const windowMs = (windowSeconds(configured.window) ?? 0) * 1000;
    return [new CompiledLimit(type, configured.limit, windowMs, instanceId)];
  });
}
