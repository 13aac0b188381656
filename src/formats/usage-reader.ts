// Reads the token usage of responses: from a whole body without parsing it, and from the events of a stream.
// Which fields to read and what they mean is declared by each format.
import { parseBounded } from "../base/bounded-json.ts";
import { indexOfBytes, lastIndexOfBytes, latin1From } from "../base/byte-search.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { ReportedTokens } from "./token-counts.ts";
import { ABSENT, toCount, UsageScanner } from "./usage-scanner.ts";

/** Values of `UsageFields.counters` and `lists`, in that order; ABSENT for those that a usage object does not have. */
export type Counters = readonly number[];

interface UsageFields {
  /** Key of the usage object in the body of a response. */
  readonly key: string;
  /** Integer fields of the usage object that `toTokenCounts` needs; `a.b` for the field `b` of its object `a`. */
  readonly counters: readonly string[];
  /** Further counters, after those. */
  readonly lists?: UsageLists;
  /** Returns null if all counters are absent or unusable. Call `reportedTokens`. */
  readonly toTokenCounts: (counters: Counters) => ReportedTokens | null;
  /** Returns the usage object in a stream event, or null if the event reports no usage. */
  readonly findInEvent: (event: JsonObject) => EventUsage | null;
  /** Returns the generated text in a stream event: output, reasoning, and calls of tools. */
  readonly textOf: (event: JsonObject) => string;
  /** The same for a whole body. */
  readonly textOfBody: (body: JsonObject) => string;
}

/** Counters in lists of a usage object, which most usage objects do not have. */
interface UsageLists {
  /** A text that is in the lists if they have counters. */
  readonly marker: string;
  readonly size: number;
  readonly countersOf: (usage: JsonObject) => Counters;
}

export interface EventUsage {
  readonly usage: JsonObject;
  /**
   * `start`: reported before the model generates output. `running`: the counts so far. `final`: the counts are complete,
   * even if the stream is cut afterwards.
   */
  readonly stage: "start" | "running" | "final";
  /** The event reports nothing else, so that the gateway can remove it if the client did not request usage. */
  readonly isUsageOnly: boolean;
}

/**
 * Counters of a stream are cumulative: a later value replaces an earlier one, but 0 does not, because some servers end a stream with counters
 * of 0. Returns null if no counter has a value so far.
 */
export function addCounters(sum: Counters | null, counters: Counters): Counters | null {
  if (sum === null && counters.every((count) => count === ABSENT)) return null;
  return counters.map((count, index) => {
    const earlier = sum?.[index] ?? ABSENT;
    return count > 0 || earlier === ABSENT ? count : earlier;
  });
}

/** A body with this many candidates is parsed instead, because each candidate costs a scan of the bytes after it. */
const MAX_CANDIDATES = 8;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_N = 0x6e;
const NO_LISTS: UsageLists = { marker: "", size: 0, countersOf: () => [] };

export class UsageReader {
  readonly toTokenCounts: UsageFields["toTokenCounts"];
  readonly findInEvent: UsageFields["findInEvent"];
  readonly textOf: UsageFields["textOf"];
  readonly textOfBody: UsageFields["textOfBody"];
  readonly #key: string;
  readonly #quotedKey: Uint8Array;
  readonly #counters: readonly (readonly string[])[];
  readonly #lists: UsageLists;
  readonly #quotedMarker: Uint8Array;
  readonly #noListCounters: Counters;
  readonly #scanner: UsageScanner;

  constructor({
    key,
    counters,
    lists = NO_LISTS,
    toTokenCounts,
    findInEvent,
    textOf,
    textOfBody,
  }: UsageFields) {
    this.toTokenCounts = toTokenCounts;
    this.findInEvent = findInEvent;
    this.textOf = textOf;
    this.textOfBody = textOfBody;
    this.#key = key;
    this.#quotedKey = Buffer.from(JSON.stringify(key));
    this.#counters = counters.map((name) => name.split("."));
    this.#lists = lists;
    this.#quotedMarker = Buffer.from(JSON.stringify(lists.marker));
    this.#noListCounters = Array.from({ length: lists.size }, () => ABSENT);
    this.#scanner = new UsageScanner(counters);
  }

  countersOf(usage: JsonObject): Counters {
    return [...this.#counters.map((path) => toCount(valueAt(usage, path))), ...this.#lists.countersOf(usage)];
  }

  /**
   * Returns the counters of the usage object at the top level of a body, or null if there is none.
   *
   * Only the bytes after the last occurrences of the key are read, which is correct for valid JSON: a quote without a
   * backslash before it begins or ends a string, and no letter follows the end of a string, so the bytes found are a
   * complete string. It is a key of the outermost object if and only if `{`, followed by the rest of the body, is valid
   * JSON. `body` may therefore lack its beginning.
   */
  readBody(body: Uint8Array): Counters | null {
    const key = this.#quotedKey;
    let at = lastIndexOfBytes(body, key, body.byteLength);
    for (let candidates = 0; at > 0; candidates++) {
      if (candidates === MAX_CANDIDATES) return this.#readObject(parse(latin1From(body, 0)));
      if (body[at - 1] !== BACKSLASH) {
        const counters = this.#scan(body, at + key.byteLength);
        if (counters !== null) return counters;
        // Strings are not decoded as UTF-8, because only numbers are read.
        const tail = parse(`{${latin1From(body, at)}`);
        if (tail !== null) return this.#readObject(tail);
      }
      at = lastIndexOfBytes(body, key, at - 1);
    }
    return null;
  }

  /** Returns false if the bytes contain no usage object. Some streams have `"usage":null` in every chunk. */
  mayContainUsage(bytes: Uint8Array): boolean {
    const key = this.#quotedKey;
    for (let at = 0; ;) {
      at = indexOfBytes(bytes, key, at);
      if (at < 0) return false;
      at += key.byteLength;
      if (bytes[at] !== COLON) return true;
      const value = bytes[at + 1] === SPACE ? at + 2 : at + 1;
      if (bytes[value] !== LETTER_N) return true;
    }
  }

  /** Lists are not scanned: usage with counters in them, which is rare, is parsed. */
  #scan(body: Uint8Array, from: number): Counters | null {
    if (this.#lists.size === 0) return this.#scanner.scan(body, from);
    if (indexOfBytes(body, this.#quotedMarker, from) >= 0) return null;
    const counters = this.#scanner.scan(body, from);
    return counters === null ? null : [...counters, ...this.#noListCounters];
  }

  #readObject(body: unknown): Counters | null {
    const usage = isJsonObject(body) ? body[this.#key] : null;
    return isJsonObject(usage) ? this.countersOf(usage) : null;
  }
}

function valueAt(usage: JsonObject, path: readonly string[]): unknown {
  let value: unknown = usage;
  for (const name of path) value = isJsonObject(value) ? value[name] : undefined;
  return value;
}

function parse(json: string): unknown {
  try {
    return parseBounded(json);
  } catch {
    return null;
  }
}
