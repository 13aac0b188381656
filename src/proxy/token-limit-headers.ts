// The token limit that a client sees in the header fields of OpenAI: that of the gateway instead of the provider's.
import { BoundedCache } from "../base/bounded-cache.ts";
import { RATE_LIMIT_PREFIX, type FieldName, type HeaderFields } from "../http/header-fields.ts";
import type { LineWriter } from "../http/line-writer.ts";
import { checkFieldName } from "./plugin-values.ts";

const LIMIT = "x-ratelimit-limit-tokens";
const REMAINING = "x-ratelimit-remaining-tokens";
const RESET = "x-ratelimit-reset-tokens";
const LETTER_H = 0x68;
const LETTER_M = 0x6d;
const LETTER_R = 0x72;
const LETTER_S = 0x73;
export const TOKEN_LIMIT_NAMES: readonly string[] = [LIMIT, REMAINING, RESET];

/** A limit at the time of the request. */
export interface LimitNumbers {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in seconds. */
  readonly resetAt: number;
  /** In seconds. */
  readonly window?: number;
}

/** The limits whose lines are kept, for each name: gateways use the same names with limits of their own. */
const KEPT_LIMITS = 1000;

/** The fields of limits with one name, prepared to be written. */
export class LimitFields {
  readonly names: readonly FieldName[];
  /** The bits of all names. */
  readonly bits: number;
  readonly #resetLines: ResetLines;
  readonly #limitLines: LimitLines;

  /** Throws if the name cannot be part of a header field. */
  constructor(name: string) {
    const [limit, remaining, reset] = [
      checkFieldName(`X-RateLimit-${name}-Limit`),
      checkFieldName(`X-RateLimit-${name}-Remaining`),
      checkFieldName(`X-RateLimit-${name}-Reset`),
    ];
    this.names = [limit, remaining, reset];
    this.bits = limit.bit | remaining.bit | reset.bit;
    this.#resetLines = new ResetLines(reset.start);
    this.#limitLines = new LimitLines(limit.start, remaining.start);
  }

  write(writer: LineWriter, limit: number, remaining: number, resetAt: number): void {
    writer.constant(this.#limitLines.until(limit));
    writer.number(remaining);
    this.#resetLines.write(writer, resetAt);
  }
}

/** The line of a reset time after the line before it: limits of one window have the same one for a second or longer. */
class ResetLines {
  readonly #name: string;
  readonly #start: Uint8Array;
  #lastTime = NaN;
  /** The line of the last time if it was written twice in a row; else null, because creating it takes longer than writing digits. */
  #last: Uint8Array | null = null;

  constructor(name: string) {
    this.#name = name;
    this.#start = Buffer.from(`\r\n${name}`);
  }

  write(writer: LineWriter, resetAt: number): void {
    if (resetAt === this.#lastTime) {
      writer.constant((this.#last ??= Buffer.from(`\r\n${this.#name}${resetAt}\r\n`)));
      return;
    }
    this.#lastTime = resetAt;
    this.#last = null;
    writer.constant(this.#start);
    writer.number(resetAt);
    writer.lineEnd();
  }
}

/** Returns the values of the fields, in the order of their names. */
export function valuesOf({ limit, remaining, resetAt }: LimitNumbers): string[] {
  return [String(limit), String(remaining), String(resetAt)];
}

/** The line of a limit and the start of that of the remaining amount: a limit rarely changes. */
class LimitLines {
  readonly #limitStart: string;
  readonly #remainingStart: string;
  readonly #lines = new BoundedCache<number, Uint8Array>(KEPT_LIMITS);
  #lastLimit = NaN;
  #last: Uint8Array = new Uint8Array(0);

  constructor(limitStart: string, remainingStart: string) {
    this.#limitStart = limitStart;
    this.#remainingStart = remainingStart;
  }

  /** Returns the bytes before the remaining amount. */
  until(limit: number): Uint8Array {
    if (limit === this.#lastLimit) return this.#last;
    let lines = this.#lines.get(limit);
    if (lines === undefined) {
      lines = Buffer.from(`${this.#limitStart}${limit}\r\n${this.#remainingStart}`);
      this.#lines.set(limit, lines);
    }
    this.#lastLimit = limit;
    this.#last = lines;
    return lines;
  }
}

/** By name: there are as many as limits in the configuration, unless a plugin invents names. */
const knownFields = new BoundedCache<string, LimitFields>(1000);

/** Throws if the name cannot be part of a header field. */
export function limitFieldsOf(name: string): LimitFields {
  let fields = knownFields.get(name);
  if (fields === undefined) knownFields.set(name, (fields = new LimitFields(name)));
  return fields;
}

export function isTokenLimit(name: string): boolean {
  return name.endsWith("-tokens") && TOKEN_LIMIT_NAMES.includes(name);
}

const tokenLimitLines = new LimitLines(`${LIMIT}: `, `${REMAINING}: `);
const RESET_START = Buffer.from(`\r\n${RESET}: `);

/** `unixMs` is the time of the response: the client gets the duration until the reset. */
export function writeTokenLimit(
  writer: LineWriter,
  { limit, remaining, resetAt, window = Infinity }: LimitNumbers,
  unixMs: number,
): void {
  writer.constant(tokenLimitLines.until(limit));
  writer.number(remaining);
  writer.constant(RESET_START);
  writeDuration(writer, Math.min(window, Math.max(0, Math.ceil(resetAt - unixMs / 1000))));
  writer.lineEnd();
}

const PROVIDER_PREFIX = "x-gw-provider-ratelimit-";

/** Returns the names of the provider's own fields, after `moveProviderRateLimits`. */
export function movedRateLimitsIn({ names }: HeaderFields): string[] {
  return names.filter((name) => name.startsWith(PROVIDER_PREFIX));
}

/** Moves the provider's own fields out of the way. `headers` are those of the provider that the client gets. */
export function moveProviderRateLimits(headers: HeaderFields): void {
  const { names } = headers;
  let first = 0;
  while (first < names.length && !isRateLimit(names[first] ?? "")) first++;
  if (first === names.length) return;
  for (const name of names.filter(isRateLimit)) {
    const value = headers.get(name);
    headers.delete(name);
    if (value !== null) headers.set(`X-GW-Provider-RateLimit-${name.slice(RATE_LIMIT_PREFIX.length)}`, value);
  }
}

function isRateLimit(name: string): boolean {
  // The third letter of most other names is not an `r`, and comparing it is cheaper.
  return name.charCodeAt(2) === LETTER_R && name.startsWith(RATE_LIMIT_PREFIX);
}

/** Writes seconds as OpenAI does: `6m0s`, `1h0m5s`, `59s`. */
function writeDuration(writer: LineWriter, seconds: number): void {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) {
    writer.number(hours);
    writer.character(LETTER_H);
  }
  if (seconds >= 60) {
    writer.number(minutes);
    writer.character(LETTER_M);
  }
  writer.number(seconds % 60);
  writer.character(LETTER_S);
}
