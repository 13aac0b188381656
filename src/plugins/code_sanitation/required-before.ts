// What must precede a trigger for a look-behind to match: conditions that take less time than the look-behind, and that WebAssembly checks as well
// (wasm/read-triggers.ts).
import { isInClass, LETTER, NEWLINE, toLower, WHITESPACE, WORD } from "./char-classes.ts";
import { SINGLE_QUOTE } from "./char-codes.ts";
import type { CharSet } from "./char-set.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import {
  hasPrefix,
  intersectionOfPrefixes,
  prefixesBefore,
  prefixesStartingWith,
  unionOfPrefixes,
  type PrefixSet,
} from "./prefix-set.ts";

/** Triggers that end after this position are too far from the start of the text for patterns that match only there. */
export const NEAR_START_UNITS = 128;

export const NO_SEARCH = 0;
/** The trigger is a quote that closes no short string. */
export const OPEN_STRING = 1;
/** A name that starts with `on`, such as that of an event attribute, precedes the trigger. */
export const NAME_WITH_ON = 2;
/** What is searched before a trigger. The numbers are those of wasm/read-triggers.ts. */
export type Search = typeof NO_SEARCH | typeof OPEN_STRING | typeof NAME_WITH_ON;

export interface RequiredBefore {
  /** The units before the trigger, read backwards. */
  readonly lastUnits: PrefixSet;
  readonly search: Search;
  /** False if the look-behind has other ways to match in the first NEAR_START_UNITS of a text. */
  readonly isAlsoNearStart: boolean;
}

/** Returns the condition that one of the pairs precedes: the unit before the trigger, and the unit before that one; null for any. */
export function precededByPairs(
  pairs: readonly (readonly [CharSet, CharSet | null])[],
  search: Search = NO_SEARCH,
): RequiredBefore {
  const prefixes = pairs.map(([last, other]) =>
    other === null
      ? prefixesStartingWith(last)
      : prefixesBefore(prefixesStartingWith(last), prefixesStartingWith(other)),
  );
  return { lastUnits: unionOfPrefixes(...prefixes), search, isAlsoNearStart: true };
}

/** Returns the same condition for triggers after NEAR_START_UNITS of a text. */
export function farFromStart(condition: RequiredBefore): RequiredBefore {
  return { ...condition, isAlsoNearStart: false };
}

/** Returns the condition that all of them are met; null if there is none. At most one of them searches. */
export function allRequiredBefore(
  precededBy: CharSet | null,
  conditions: readonly (RequiredBefore | undefined)[],
): RequiredBefore | null {
  const given = conditions.filter((each) => each !== undefined);
  const [first, ...others] = given.map(({ lastUnits }) => lastUnits);
  if (first === undefined) return null;
  const all = precededBy === null ? others : [...others, prefixesStartingWith(precededBy)];
  return {
    lastUnits: all.reduce(intersectionOfPrefixes, first),
    search: given.find(({ search }) => search !== NO_SEARCH)?.search ?? NO_SEARCH,
    isAlsoNearStart: given.every(({ isAlsoNearStart }) => isAlsoNearStart),
  };
}

/** Returns whether the units before a trigger that starts at `at` may precede it. */
export function hasUnitsBefore(lastUnits: PrefixSet, input: NormalizedText, at: number): boolean {
  return hasPrefix(lastUnits, unitAt(input, at - 1), unitAt(input, at - 2));
}

/** Returns whether what is searched precedes a trigger that starts at `at`. */
export function isFoundBefore(search: Search, input: NormalizedText, at: number): boolean {
  if (search === OPEN_STRING) return !closesShortString(input, at);
  return search === NO_SEARCH || startOfNameWithOn(input, at) >= 0;
}

/** Nearly all strings of programs are shorter. */
const SHORT_STRING = 32;

/** Returns whether the quote at `at` closes a short string on the same line. A single quote after a word opens none: it is an apostrophe. */
export function closesShortString(input: NormalizedText, at: number): boolean {
  const { codes } = input;
  const mark = codes[at] ?? 0;
  const first = Math.max(0, at - SHORT_STRING);
  let index = at - 1;
  while (index >= first && codes[index] !== mark && codes[index] !== NEWLINE) index--;
  return (
    index >= first &&
    codes[index] === mark &&
    (mark !== SINGLE_QUOTE || !isInClass(unitAt(input, index - 1), WORD))
  );
}

const MAX_NAME = 26;
const MIN_NAME = 4;
const MAX_WHITESPACE = 4;
const LOWER_N = 0x6e;
const LOWER_O = 0x6f;

/** Returns the start of a name of letters that starts with `on` and ends before `at`, with optional whitespace in between; otherwise -1. */
export function startOfNameWithOn(input: NormalizedText, at: number): number {
  let end = at;
  while (end > 0 && at - end < MAX_WHITESPACE && isInClass(unitAt(input, end - 1), WHITESPACE)) end--;
  let start = end;
  while (end - start < MAX_NAME && isInClass(unitAt(input, start - 1), LETTER)) start--;
  const isName =
    end - start >= MIN_NAME &&
    toLower(unitAt(input, start)) === LOWER_O &&
    toLower(unitAt(input, start + 1)) === LOWER_N;
  return isName ? start : -1;
}
