// Sets of two-unit prefixes as lookup tables: what a text that a matcher matches can start with. Checking two units rejects far
// more candidates than one: many keywords share their first letter, few share the first two.
import { DIGIT, isInClass, LETTER, QUOTE, toLower, WHITESPACE } from "./char-classes.ts";
import { CHAR_SET_SIZE, charSetWhere, NON_ASCII, type CharSet } from "./char-set.ts";

/** By first unit, indexed as in a CharSet: a bit for each kind of second unit; 0 if no text starts with the first unit. */
export type PrefixSet = Int32Array;

export const ANY_SECOND = -1;
const LOWER_TO_UPPER = 0x20;

// Kinds of second units: each letter is a kind, all other units are grouped by class.
const OTHER_KIND = 0;
const FIRST_LETTER_KIND = 1;
const WHITESPACE_KIND = 27;
const DIGIT_KIND = 28;
const QUOTE_KIND = 29;
const END_KIND = 30;
/** By unit, indexed as in a CharSet: the number of the bit of a second unit. */
export const SECOND_UNIT_KIND = new Uint8Array(CHAR_SET_SIZE).fill(OTHER_KIND);
for (let code = 0; code < NON_ASCII; code++) SECOND_UNIT_KIND[code] = kindOf(code);

function kindOf(code: number): number {
  if (isInClass(code, LETTER)) return toLower(code) - 0x61 + FIRST_LETTER_KIND;
  if (isInClass(code, WHITESPACE)) return WHITESPACE_KIND;
  if (isInClass(code, DIGIT)) return DIGIT_KIND;
  if (isInClass(code, QUOTE)) return QUOTE_KIND;
  return code === 0 ? END_KIND : OTHER_KIND;
}

/** Returns the bit of a second unit. */
export function secondUnitBit(second: number): number {
  return 1 << (SECOND_UNIT_KIND[second < NON_ASCII ? second : NON_ASCII] ?? OTHER_KIND);
}

/** Returns whether a text in the set may start with these two units. */
export function hasPrefix(prefixes: PrefixSet, first: number, second: number): boolean {
  return ((prefixes[first < NON_ASCII ? first : NON_ASCII] ?? 0) & secondUnitBit(second)) !== 0;
}

const prefixesByCharSet = new Map<CharSet, PrefixSet>();

/** Returns the prefixes whose first unit is in the set; the second unit is arbitrary. */
export function prefixesStartingWith(set: CharSet): PrefixSet {
  let prefixes = prefixesByCharSet.get(set);
  if (prefixes !== undefined) return prefixes;
  prefixes = new Int32Array(CHAR_SET_SIZE);
  for (let first = 0; first < CHAR_SET_SIZE; first++) if (set[first] === 1) prefixes[first] = ANY_SECOND;
  prefixesByCharSet.set(set, prefixes);
  return prefixes;
}

/** Returns the prefixes of these ASCII texts, ignoring case. After a text of one character, the second unit is arbitrary. */
export function prefixesOf(texts: Iterable<string>): PrefixSet {
  const prefixes = new Int32Array(CHAR_SET_SIZE);
  for (const text of texts) {
    const first = toLower(text.charCodeAt(0));
    const seconds = text.length < 2 ? ANY_SECOND : 1 << kindOf(text.charCodeAt(1));
    addSeconds(prefixes, first, seconds);
    if (isInClass(first, LETTER)) addSeconds(prefixes, first - LOWER_TO_UPPER, seconds);
  }
  return prefixes;
}

function addSeconds(prefixes: PrefixSet, first: number, seconds: number): void {
  prefixes[first] = (prefixes[first] ?? 0) | seconds;
}

/** Returns the union. Most of the thousands of unions have one non-empty operand, and share its table instead of copying it. */
export function unionOfPrefixes(...sets: readonly PrefixSet[]): PrefixSet {
  let union = NO_PREFIXES;
  let isCopy = false;
  for (const set of sets) {
    if (set === union || set === NO_PREFIXES) continue;
    if (union === NO_PREFIXES) {
      union = set;
      continue;
    }
    if (!isCopy) union = union.slice();
    isCopy = true;
    for (let first = 0; first < CHAR_SET_SIZE; first++) {
      const seconds = set[first] ?? 0;
      if (seconds !== 0) addSeconds(union, first, seconds);
    }
  }
  return union;
}

const prefixesBySeconds = new Map<PrefixSet, Map<number, PrefixSet>>();

/** Returns the prefixes of one unit of `set` and, after it, a text that starts with a prefix in `next`. Equal sets share a table. */
export function prefixesBefore(set: PrefixSet, next: PrefixSet): PrefixSet {
  let seconds = 0;
  for (let code = 0; code < CHAR_SET_SIZE; code++) if (next[code] !== 0) seconds |= secondUnitBit(code);
  let known = prefixesBySeconds.get(set);
  if (known === undefined) prefixesBySeconds.set(set, (known = new Map<number, PrefixSet>()));
  let prefixes = known.get(seconds);
  if (prefixes === undefined) known.set(seconds, (prefixes = set.map((allowed) => allowed & seconds)));
  return prefixes;
}

/** Returns the prefixes that are in both sets. */
export function intersectionOfPrefixes(one: PrefixSet, other: PrefixSet): PrefixSet {
  return one.map((seconds, first) => seconds & (other[first] ?? 0));
}

/** Returns the prefixes that start with none of the units. */
export function withoutFirstUnits(prefixes: PrefixSet, units: CharSet): PrefixSet {
  return prefixes.map((seconds, first) => (units[first] === 1 ? 0 : seconds));
}

const firstUnitsByPrefixes = new Map<PrefixSet, CharSet>();

/** Returns the set of first units. */
export function firstUnitsOf(prefixes: PrefixSet): CharSet {
  let units = firstUnitsByPrefixes.get(prefixes);
  if (units === undefined) {
    units = charSetWhere((code) => prefixes[code] !== 0);
    firstUnitsByPrefixes.set(prefixes, units);
  }
  return units;
}

export const NO_PREFIXES: PrefixSet = new Int32Array(CHAR_SET_SIZE);
