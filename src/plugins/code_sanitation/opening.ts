// Openings: what a text may start with, two units deep, as a table. They spare most rules their work: words that share a
// first letter are many, words that share the first two are few.
import { BLANK, DIGIT, isOf, LETTER, lower, QUOTE } from "./char-classes.ts";
import { BEYOND_ASCII, EDGE_SIZE, edgeOf, type Edge } from "./edge.ts";

/** By first unit, as in an edge: a bit for each kind of second unit; none where the text cannot start so. */
export type Opening = Int32Array;

const ANY_KIND = -1;
const OTHER = 0;
const FIRST_LETTER = 1;
const BLANKS = 27;
const DIGITS = 28;
const QUOTES = 29;
const END = 30;
const LOWER_TO_UPPER = 0x20;

/** What kind a second unit is: each letter its own, the rest by class. */
const KIND_OF_SECOND = new Uint8Array(BEYOND_ASCII);
for (let code = 0; code < BEYOND_ASCII; code++) KIND_OF_SECOND[code] = kindOf(code);

function kindOf(code: number): number {
  if (isOf(code, LETTER)) return lower(code) - 0x61 + FIRST_LETTER;
  if (isOf(code, BLANK)) return BLANKS;
  if (isOf(code, DIGIT)) return DIGITS;
  if (isOf(code, QUOTE)) return QUOTES;
  return code === 0 ? END : OTHER;
}

/** May a text start with these two? */
export function opens(opening: Opening, first: number, second: number): boolean {
  const seconds = opening[first < BEYOND_ASCII ? first : BEYOND_ASCII] as number;
  const kind = second < BEYOND_ASCII ? (KIND_OF_SECOND[second] as number) : OTHER;
  return (seconds & (1 << kind)) !== 0;
}

const openingsOf = new Map<Edge, Opening>();

/** One of these, and anything behind it. */
export function openingOf(units: Edge): Opening {
  let opening = openingsOf.get(units);
  if (opening !== undefined) return opening;
  opening = new Int32Array(EDGE_SIZE);
  for (let first = 0; first < EDGE_SIZE; first++) if (units[first] === 1) opening[first] = ANY_KIND;
  openingsOf.set(units, opening);
  return opening;
}

/** One of these ASCII texts, case aside; anything behind a single character. */
export function openingOfTexts(texts: Iterable<string>): Opening {
  const opening = new Int32Array(EDGE_SIZE);
  for (const text of texts) {
    const first = lower(text.charCodeAt(0));
    const seconds = text.length < 2 ? ANY_KIND : 1 << kindOf(text.charCodeAt(1));
    (opening[first] as number) |= seconds;
    if (isOf(first, LETTER)) (opening[first - LOWER_TO_UPPER] as number) |= seconds;
  }
  return opening;
}

/** What any of them allows. Of thousands of rules most start as one of their parts does, and share its table. */
export function joinOpenings(...openings: readonly Opening[]): Opening {
  let joined = OPENS_NOTHING;
  let isOwn = false;
  for (const opening of openings) {
    if (opening === joined || opening === OPENS_NOTHING) continue;
    if (joined === OPENS_NOTHING) {
      joined = opening;
      continue;
    }
    if (!isOwn) joined = joined.slice();
    isOwn = true;
    for (let first = 0; first < EDGE_SIZE; first++) {
      const seconds = opening[first] as number;
      if (seconds !== 0) (joined[first] as number) |= seconds;
    }
  }
  return joined;
}

const firstUnitsOf = new Map<Opening, Edge>();

/** The first units alone. */
export function firstUnits(opening: Opening): Edge {
  let units = firstUnitsOf.get(opening);
  if (units === undefined) firstUnitsOf.set(opening, (units = edgeOf((code) => opening[code] !== 0)));
  return units;
}

export const OPENS_NOTHING: Opening = new Int32Array(EDGE_SIZE);
