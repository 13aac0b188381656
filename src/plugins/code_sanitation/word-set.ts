// Sets of words as bit tables: which word a text that a matcher matches can start with. The first four units of a word decide, so that a
// lookup takes the same time for every word. Two units reject few words of prose and programs, four units reject nearly all.
import { DIGIT, isInClass, LETTER, toLower, WHITESPACE, WORD } from "./char-classes.ts";
import { CHAR_SET_SIZE, NON_ASCII } from "./char-set.ts";

/** A bit for each hash of a word. Different words may have the same hash. */
export type WordSet = Uint32Array;

/** Creates a set; null for any words. Called when the set is first needed: most patterns are never tried, and a set takes a kilobyte. */
export type WordSource = () => WordSet | null;

const HASH_BITS = 13;
const SET_LENGTH = (1 << HASH_BITS) / 32;
/** A large odd number with bits at irregular places (2^32 divided by the golden ratio). */
const MULTIPLIER = 0x9e3779b1;
/** The units of a word that are hashed. */
const HASHED_UNITS = 4;
const SYMBOL_BITS = 5;
const NOT_IN_WORD = 0;
const DIGIT_SYMBOL = 27;
const UNDERSCORE_SYMBOL = 28;
const NON_ASCII_SYMBOL = 29;

/** By unit, indexed as in a CharSet: letters are numbered, ignoring case; 0 for units that are not part of a word. */
export const WORD_SYMBOLS = new Uint8Array(CHAR_SET_SIZE);
for (let code = 0; code < CHAR_SET_SIZE; code++) WORD_SYMBOLS[code] = symbolOf(code);

function symbolOf(code: number): number {
  if (code >= NON_ASCII) return NON_ASCII_SYMBOL;
  if (isInClass(code, LETTER)) return toLower(code) - 0x60;
  if (isInClass(code, DIGIT)) return DIGIT_SYMBOL;
  return isInClass(code, WORD) ? UNDERSCORE_SYMBOL : NOT_IN_WORD;
}

function symbolAt(codes: Uint16Array, at: number): number {
  const code = codes[at] ?? 0;
  return WORD_SYMBOLS[code < NON_ASCII ? code : NON_ASCII] ?? NOT_IN_WORD;
}

/** The hash where no word is. */
const NO_WORD = 0;

function hashOf(key: number): number {
  return Math.imul(key, MULTIPLIER) >>> (32 - HASH_BITS);
}

/** Returns the hash of the word at a position, or after the whitespace there; NO_WORD if there is none. A zero must follow the text. */
export function wordHashAt(codes: Uint16Array, at: number): number {
  let index = isInClass(codes[at] ?? 0, WHITESPACE) ? at + 1 : at;
  let key = 0;
  for (let shift = 0; shift < HASHED_UNITS * SYMBOL_BITS; shift += SYMBOL_BITS) {
    const symbol = symbolAt(codes, index++);
    if (symbol === NOT_IN_WORD) break;
    key |= symbol << shift;
  }
  return hashOf(key);
}

/** Returns false if a word is there that is not in the set. */
export function mayHaveWord(set: WordSet, hash: number): boolean {
  return hash === NO_WORD || (((set[hash >>> 5] ?? 0) >>> (hash & 31)) & 1) !== 0;
}

export const NO_WORDS: WordSet = new Uint32Array(SET_LENGTH);
export const noWords: WordSource = () => NO_WORDS;
export const anyWords: WordSource = () => null;

/** Returns the set of the words that these ASCII texts start with, ignoring case. */
export function wordSetOf(texts: Iterable<string>): WordSet {
  const set = new Uint32Array(SET_LENGTH);
  for (const text of texts) addHash(set, wordHashAt(readUnits(text), 0));
  return set;
}

/** Returns the words that a text can start with which starts with a literal; null for any. */
export function wordSetOfLiteral(literal: string): WordSet | null {
  const units = readUnits(literal);
  const start = isInClass(units[0] ?? 0, WHITESPACE) ? 1 : 0;
  let end = start;
  while (symbolAt(units, end) !== NOT_IN_WORD) end++;
  if (end === start && end < literal.length) return NO_WORDS;
  if (end < literal.length || end - start >= HASHED_UNITS) return wordSetOf([literal]);
  // The word continues after the literal.
  if (end - start < HASHED_UNITS - 1) return null;
  const set = wordSetOf([literal]);
  const continued = readUnits(literal);
  for (let code = 0; code < CHAR_SET_SIZE; code++) {
    continued[end] = code;
    addHash(set, wordHashAt(continued, 0));
  }
  return set;
}

/** Enough for whitespace, the units that are hashed, and a zero. */
const MAX_READ_UNITS = HASHED_UNITS + 2;
const readBuffer = new Uint16Array(MAX_READ_UNITS);

/** Returns the first units of a text, with a zero after them. The next call overwrites them. */
function readUnits(text: string): Uint16Array {
  const count = Math.min(text.length, MAX_READ_UNITS - 1);
  for (let index = 0; index < count; index++) readBuffer[index] = text.charCodeAt(index);
  readBuffer[count] = 0;
  return readBuffer;
}

function addHash(set: WordSet, hash: number): void {
  if (hash !== NO_WORD) set[hash >>> 5] = (set[hash >>> 5] ?? 0) | (1 << (hash & 31));
}

/** Returns the union; null if one of them is any words. Sets are not copied if only one has words. */
export function unionOfWords(sources: readonly WordSource[]): WordSet | null {
  const sets: WordSet[] = [];
  for (const source of sources) {
    const set = source();
    if (set === null) return null;
    sets.push(set);
  }
  const [first = NO_WORDS, ...others] = new Set(sets.filter((set) => set !== NO_WORDS));
  if (others.length === 0) return first;
  const union = first.slice();
  for (const set of others)
    for (let index = 0; index < SET_LENGTH; index++) union[index] = (union[index] ?? 0) | (set[index] ?? 0);
  return union;
}
