// Sets of code points, as regular expressions with the flag `u` need them: classes, Unicode properties, and case folding.

/** From the first to the last code point. */
export type CodePointRange = readonly [first: number, last: number];
/** Ranges in order that neither overlap nor touch. */
export type CodePointSet = readonly CodePointRange[];

const LAST_CODE_POINT = 0x10ffff;
/** No code point from here on has another case. */
const END_OF_CASES = 0x20000;
const BLOCK = 0x1000;
const MAX_KEPT_PROPERTIES = 64;
/** Below this number of code points, their cases are looked up one by one. */
const FEW = 64;

export const DIGITS: CodePointSet = [[0x30, 0x39]];
export const WORD: CodePointSet = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
/** The only characters outside of ASCII that fold to a character of a word. With the flag `i` they belong to words as well. */
export const FOLDED_WORD: CodePointSet = [
  [0x17f, 0x17f],
  [0x212a, 0x212a],
];
export const LINE_TERMINATORS: CodePointSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
export const SPACES: CodePointSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** Returns the set with a single code point. */
export function only(codePoint: number): CodePointSet {
  return [[codePoint, codePoint]];
}

/** Returns the code point of a set that has a single one, else null. */
export function soleOf(set: CodePointSet): number | null {
  const [range] = set;
  return range !== undefined && set.length === 1 && range[0] === range[1] ? range[0] : null;
}

export function codePointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

export function unionOf(ranges: readonly CodePointRange[]): CodePointSet {
  const union: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const previous = union.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else union.push([first, last]);
  }
  return union;
}

export function complementOf(set: CodePointSet): CodePointSet {
  const complement: CodePointRange[] = [];
  let next = 0;
  for (const [first, last] of set) {
    if (first > next) complement.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST_CODE_POINT) complement.push([next, LAST_CODE_POINT]);
  return complement;
}

export function hasCodePoint(set: CodePointSet, codePoint: number): boolean {
  let [low, high] = [0, set.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = set[middle] ?? [0, 0];
    if (codePoint < first) high = middle - 1;
    else if (codePoint > last) low = middle + 1;
    else return true;
  }
  return false;
}

/** Returns the set with all code points that the flags `u` and `i` match with one of its own. */
export function withAllCases(set: CodePointSet): CodePointSet {
  const cases = (allCases ??= readAllCases());
  const size = set.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const added: CodePointRange[] = [];
  if (size <= FEW)
    for (const [first, last] of set)
      for (let codePoint = first; codePoint <= last; codePoint++)
        for (const other of cases.get(codePoint) ?? []) added.push([other, other]);
  else
    for (const [codePoint, others] of cases)
      if (hasCodePoint(set, codePoint)) for (const other of others) added.push([other, other]);
  return added.length === 0 ? set : unionOf([...set, ...added]);
}

/** By code point: those that fold to the same one, itself included. Built when a pattern ignores case for the first time. */
let allCases: ReadonlyMap<number, readonly number[]> | undefined;

/** The tables of case folding are those of the runtime: it is asked about single characters. */
function readAllCases(): ReadonlyMap<number, readonly number[]> {
  const candidates: string[] = [];
  for (let codePoint = 0; codePoint < END_OF_CASES; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if (character !== character.toLowerCase() || character !== character.toUpperCase())
      candidates.push(character);
  }
  const text = candidates.join("");
  const cases = new Map<number, readonly number[]>();
  for (const character of candidates) {
    if (cases.has(codePointOf(character))) continue;
    const same = text.match(new RegExp(character, "giu")) ?? [];
    const codePoints = same.map(codePointOf);
    if (codePoints.length > 1) for (const codePoint of codePoints) cases.set(codePoint, codePoints);
  }
  return cases;
}

const properties = new Map<string, CodePointSet>();

/** Returns the code points with a Unicode property, given as in `\p{…}`, by the tables of the runtime. Throws if it is unknown. */
export function codePointsWith(property: string): CodePointSet {
  const known = properties.get(property);
  if (known !== undefined) return known;
  const pattern = new RegExp(`\\p{${property}}+`, "gu");
  const ranges: CodePointRange[] = [];
  for (let block = 0; block <= LAST_CODE_POINT; block += BLOCK) {
    const codePoints = Array.from({ length: BLOCK }, (_, index) => block + index);
    const isSurrogates = block >= 0xd000 && block < 0xe000;
    // Two halves beside each other would be read as one character.
    const texts = isSurrogates ? codePoints.map((unit) => [unit]) : [codePoints];
    for (const text of texts)
      for (const [run] of String.fromCodePoint(...text).matchAll(pattern))
        ranges.push([codePointOf(run), lastCodePointOf(run)]);
  }
  const set = unionOf(ranges);
  if (properties.size >= MAX_KEPT_PROPERTIES) properties.clear();
  properties.set(property, set);
  return set;
}

function lastCodePointOf(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  const isPair = last >= 0xdc00 && last <= 0xdfff && text.length > 1;
  return isPair ? (text.codePointAt(text.length - 2) ?? last) : last;
}
