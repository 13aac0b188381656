// The token limit that a client sees in the header fields of OpenAI: that of the gateway instead of the provider's.
import { BoundedCache } from "../base/bounded-cache.ts";
import { RATE_LIMIT_PREFIX, type FieldName, type HeaderFields } from "../http/header-fields.ts";
import type { TokenLimitState } from "../sdk/index.ts";
import { checkFieldName } from "./plugin-values.ts";

const LIMIT = "x-ratelimit-limit-tokens";
const REMAINING = "x-ratelimit-remaining-tokens";
const RESET = "x-ratelimit-reset-tokens";
export const TOKEN_LIMIT_NAMES: readonly string[] = [LIMIT, REMAINING, RESET];

/** The fields of one limit, prepared to be written. */
export interface LimitFields {
  readonly limit: FieldName;
  readonly remaining: FieldName;
  readonly reset: FieldName;
  /** The starts of the second and third line, with the end of the line before. */
  readonly remainingStart: string;
  readonly resetStart: string;
  /** The bits of all names. */
  readonly bits: number;
}

/** By name: there are as many as limits in the configuration, unless a plugin invents names. */
const knownFields = new BoundedCache<string, LimitFields>(1000);

/** Throws if the name cannot be part of a header field. */
export function limitFieldsOf(name: string): LimitFields {
  let fields = knownFields.get(name);
  if (fields === undefined) {
    const [limit, remaining, reset] = [
      checkFieldName(`X-RateLimit-${name}-Limit`),
      checkFieldName(`X-RateLimit-${name}-Remaining`),
      checkFieldName(`X-RateLimit-${name}-Reset`),
    ];
    const bits = limit.bit | remaining.bit | reset.bit;
    const [remainingStart, resetStart] = [`\r\n${remaining.start}`, `\r\n${reset.start}`];
    fields = { limit, remaining, reset, remainingStart, resetStart, bits };
    knownFields.set(name, fields);
  }
  return fields;
}

export function isTokenLimit(name: string): boolean {
  return name.endsWith("-tokens") && TOKEN_LIMIT_NAMES.includes(name);
}

/** Returns the fields as lines. `unixMs` is the time of the response: the client gets the duration until the reset. */
export function tokenLimitLines({ limit, remaining, resetAt }: TokenLimitState, unixMs: number): string {
  const reset = durationOf(Math.max(0, Math.ceil(resetAt - unixMs / 1000)));
  return `${LIMIT}: ${limit}\r\n${REMAINING}: ${remaining}\r\n${RESET}: ${reset}\r\n`;
}

/** Moves the provider's own fields out of the way. `headers` are those of the provider that the client gets. */
export function moveProviderRateLimits(headers: HeaderFields): void {
  if (!headers.names.some(isRateLimit)) return;
  for (const name of headers.names.filter(isRateLimit)) {
    const value = headers.get(name);
    headers.delete(name);
    if (value !== null) headers.set(`X-GW-Provider-RateLimit-${name.slice(RATE_LIMIT_PREFIX.length)}`, value);
  }
}

function isRateLimit(name: string): boolean {
  return name.startsWith(RATE_LIMIT_PREFIX);
}

/** Formats seconds as OpenAI does: `6m0s`, `1h0m5s`, `59s`. */
function durationOf(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const parts = hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : "";
  return `${parts}${seconds % 60}s`;
}
