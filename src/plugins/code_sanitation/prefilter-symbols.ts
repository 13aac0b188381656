// The symbols of the prefilter's automaton: what it distinguishes. Fixed for all prefilters, so that compiled code contains the address of
// the table.
import { SPACE, toLower } from "./char-classes.ts";
import { BACKTICK } from "./char-codes.ts";

/**
 * The characters of triggers, those most frequent in prose first, so that mostly one cache line of a state's row is read. A letter means
 * both cases.
 */
const CHARACTERS = " etaoinshrdlcumwfgypbvkxjqz\n.,'\"-()/:;=<>_0`*{}[]$#&|+!?@%\\^~";

/** Few triggers contain digits. All digits share one symbol, so that the number of symbols stays below 64. */
const DIGITS = "0123456789";

/** The row of a state has an entry for each of 2^SYMBOL_BITS symbols. */
export const SYMBOL_BITS = 6;

/** By code unit: a number below 2^SYMBOL_BITS. All units that occur in no trigger have symbol 0, which leads back to the root. */
export const UNIT_SYMBOLS = new Uint8Array(0x10000);
for (const [index, character] of Array.from(CHARACTERS).entries())
  for (const same of DIGITS.includes(character) ? DIGITS : character)
    UNIT_SYMBOLS[same.charCodeAt(0)] = index + 1;
for (let code = 0; code < 0x80; code++) UNIT_SYMBOLS[code] = UNIT_SYMBOLS[toLower(code)] ?? 0;

/** In WebAssembly memory, the row of a state has a column for each ASCII character instead, so that no symbol has to be looked up. */
export const COLUMN_BITS = 7;
const COLUMNS = 1 << COLUMN_BITS;

/**
 * By code unit: its column, as in wasm/read-triggers.ts. Space is exchanged with the backtick, so that it is in the same cache line as the letters. Units
 * outside of ASCII occur in no trigger.
 */
export const UNIT_COLUMNS = new Uint8Array(0x10000);
for (let code = 0; code < COLUMNS; code++) UNIT_COLUMNS[code] = code;
UNIT_COLUMNS[SPACE] = BACKTICK;
UNIT_COLUMNS[BACKTICK] = SPACE;

/** By column: the symbol of its character. */
export const COLUMN_SYMBOLS = new Uint8Array(COLUMNS);
for (let code = 0; code < COLUMNS; code++) COLUMN_SYMBOLS[UNIT_COLUMNS[code] ?? 0] = UNIT_SYMBOLS[code] ?? 0;
