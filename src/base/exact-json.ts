// Parses JSON and writes it again with the numbers that it had: a JavaScript number would round integers above 2^53, such as 64-bit ids.

import { rejectUnbounded } from "./bounded-json.ts";
import { withRawJson } from "./raw-json.ts";

/** Of texts up to this length. Reading each number takes ten times as long as JSON.parse, and the event loop waits for it. */
const MAX_EXACT_CHARACTERS = 128 * 1024;
/** How deep below a value `stringifyExact` looks for a value with such numbers: values that are built from parsed parts are shallow. */
const SEARCH_DEPTH = 4;
/** Of requests to providers: the arguments of a call are in a part of a message of a list. */
export const REQUEST_SEARCH_DEPTH = 6;

/** 16 digits, or an exponent of three. Shorter numbers are exact, or were rounded by their sender. */
const LONG_NUMBER = /\d(?:\.?\d){15}|[eE][+-]?\d{3}/;

interface ExactNumber {
  readonly value: number;
  readonly source: string;
}

/** The numbers of an object or array that are not exact, by key. Empty for one that only contains such an object. */
const numbersOf = new WeakMap<object, Map<string, ExactNumber>>();
/** Whether there has been such a number: most processes never see one, and search for none. */
let hasParsedAny = false;

/** Whether `parseExact` may return other numbers than JSON.parse. */
export function hasLongNumbers(text: string): boolean {
  return text.length <= MAX_EXACT_CHARACTERS && LONG_NUMBER.test(text);
}

/** Values are as those of JSON.parse. Throws a SyntaxError, also for what `parseBounded` rejects. */
export function parseExact(text: string, maxItems = Infinity): unknown {
  rejectUnbounded(text, maxItems);
  if (!hasLongNumbers(text)) return JSON.parse(text);
  return JSON.parse(
    text,
    function (this: object, key: string, value: unknown, context?: { source?: string }) {
      const source = context?.source;
      if (typeof value === "number") {
        if (source !== undefined && LONG_NUMBER.test(source) && JSON.stringify(value) !== source)
          keep(this).set(key, { value, source });
      } else if (isContainer(value) && numbersOf.has(value)) keep(this);
      return value;
    },
  );
}

/** As `stringifyExact`, for a value that may contain raw JSON: returns bytes if it does. */
export function writeExact(value: object): string | Uint8Array {
  return withRawJson(() => stringifyExact(value));
}

/** `value` is built from values that `parseExact` returned. Numbers that were replaced since are written as they are now. */
export function stringifyExact(value: object, searchDepth: number = SEARCH_DEPTH): string {
  if (!hasParsedAny || !hasExactNumbers(value, searchDepth)) return JSON.stringify(value);
  return JSON.stringify(value, function (this: object, key: string, each: unknown) {
    const known = typeof each === "number" ? numbersOf.get(this)?.get(key) : undefined;
    return known !== undefined && known.value === each ? rawJson(known.source) : each;
  });
}

function keep(holder: object): Map<string, ExactNumber> {
  hasParsedAny = true;
  let numbers = numbersOf.get(holder);
  if (numbers === undefined) numbersOf.set(holder, (numbers = new Map<string, ExactNumber>()));
  return numbers;
}

function hasExactNumbers(value: object, depth: number): boolean {
  if (numbersOf.has(value)) return true;
  if (depth === 0) return false;
  for (const each of Object.values(value) as unknown[])
    if (isContainer(each) && hasExactNumbers(each, depth - 1)) return true;
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const { rawJSON: rawJson } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown };
