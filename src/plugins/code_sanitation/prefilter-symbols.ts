// The symbols of the prefilter's automaton: what it distinguishes. Fixed for all prefilters, so that compiled code contains the address of
// the table.
import { toLower } from "./char-classes.ts";

/**
 * The characters of triggers, those most frequent in prose first, so that mostly one cache line of a state's row is read. A letter means
 * both cases.
 */
const CHARACTERS = " etaoinshrdlcumwfgypbvkxjqz\n.,'\"-()/:;=<>_0`*{}[]$#&|+!?@%\\^~";

/** Few triggers contain digits. All digits share one symbol, so that the number of symbols stays below 64. */
const DIGITS = "0123456789";

/** By code unit: a number below 2^ROW_BITS. All units that occur in no trigger have symbol 0, which leads back to the root. */
export const UNIT_SYMBOLS = new Uint8Array(0x10000);
for (const [index, character] of Array.from(CHARACTERS).entries())
  for (const same of DIGITS.includes(character) ? DIGITS : character)
    UNIT_SYMBOLS[same.charCodeAt(0)] = index + 1;
for (let code = 0; code < 0x80; code++) UNIT_SYMBOLS[code] = UNIT_SYMBOLS[toLower(code)] ?? 0;
