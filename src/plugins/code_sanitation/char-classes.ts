// Character classes of UTF-16 code units, and the tables that normalization uses. With tables every test is one load.

export const SPACE = 0x20;
export const NEWLINE = 0x0a;

export const DIGIT = 1;
export const LETTER = 2;
/** Letters, digits, `_` and every non-ASCII unit: a keyword next to one of these is part of a longer word. */
export const WORD = 4;
export const WHITESPACE = 8;
export const HEX = 16;
/** `'`, `"` and the backtick. */
export const QUOTE = 32;

const ASCII = 0x80;
const CLASSES = new Uint8Array(ASCII);
const LOWER_CASE = new Uint8Array(ASCII);

/** The value in FOLDED of a unit that is removed: zero-width characters and control characters. */
export const REMOVED = 0;
/**
 * The unit that each unit is normalized to: full-width and small forms to ASCII, all whitespace to SPACE or NEWLINE,
 * invisible units to REMOVED, any other unit to itself.
 */
export const FOLDED = new Uint16Array(0x10000);
for (let code = 0; code < 0x10000; code++) FOLDED[code] = code;

/** Characters that start an escape, a comment or other syntax that decoding or deobfuscation may remove. */
const SPECIAL_CHARACTERS = "%&\\/*'\"`$<>^";
/** Unit kinds are bits, so that one test separates the units that are copied unchanged from all others. */
export const PLAIN_UNIT = 0;
/** Copied unchanged, and its position is recorded: see SPECIAL_CHARACTERS. */
export const SPECIAL_UNIT = 1;
/** Replaced as FOLDED says. */
export const FOLDED_UNIT = 2;
/** A space or newline: copied unless whitespace precedes it. */
export const WHITESPACE_UNIT = 4;
/** How normalization treats each unit. */
export const UNIT_KIND = new Uint8Array(0x10000).fill(PLAIN_UNIT);

function fillClasses(): void {
  for (let code = 0; code < ASCII; code++) {
    const character = String.fromCharCode(code);
    let bits = 0;
    if (/[0-9]/.test(character)) bits |= DIGIT | HEX | WORD;
    if (/[a-z]/i.test(character)) bits |= LETTER | WORD;
    if (/[a-f]/i.test(character)) bits |= HEX;
    if (character === "_") bits |= WORD;
    if (code === SPACE || code === NEWLINE) bits |= WHITESPACE;
    if (/['"`]/.test(character)) bits |= QUOTE;
    CLASSES[code] = bits;
    LOWER_CASE[code] = character.toLowerCase().charCodeAt(0);
  }
}

function fold(code: number, folded: number): void {
  FOLDED[code] = folded;
  UNIT_KIND[code] = FOLDED_UNIT;
}

function foldRange(from: number, to: number, folded: number): void {
  for (let code = from; code <= to; code++) fold(code, folded);
}

function fillFoldingTables(): void {
  foldRange(0, SPACE - 1, REMOVED);
  fold(0x7f, REMOVED);
  for (const space of [0x09, 0x0b, 0x0c, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000]) fold(space, SPACE);
  foldRange(0x2000, 0x200a, SPACE);
  for (const newline of [0x0a, 0x0d, 0x85, 0x2028, 0x2029]) fold(newline, NEWLINE);
  // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Mongolian fillers, BOM.
  for (const invisible of [0xad, 0x034f, 0x061c, 0x115f, 0x1160, 0x180e, 0x3164, 0xfeff, 0xffa0])
    fold(invisible, REMOVED);
  // Zero-width characters and joiners, text direction marks, invisible operators, variation selectors.
  foldRange(0x200b, 0x200f, REMOVED);
  foldRange(0x202a, 0x202e, REMOVED);
  foldRange(0x2060, 0x206f, REMOVED);
  foldRange(0xfe00, 0xfe0f, REMOVED);
  for (let fullWidth = 0xff01; fullWidth <= 0xff5e; fullWidth++) fold(fullWidth, fullWidth - 0xfee0);
  // The small forms (U+FE50 to U+FE6B) follow no order, so use Unicode's compatibility mapping.
  for (let small = 0xfe50; small <= 0xfe6b; small++) {
    const plain = String.fromCharCode(small).normalize("NFKC").charCodeAt(0);
    if (plain < 0x80) fold(small, plain);
  }
  UNIT_KIND[SPACE] = UNIT_KIND[NEWLINE] = WHITESPACE_UNIT;
  for (const special of SPECIAL_CHARACTERS) UNIT_KIND[special.charCodeAt(0)] = SPECIAL_UNIT;
}

fillClasses();
fillFoldingTables();

/** Returns whether a unit is in one of the classes. Non-ASCII units are in WORD only. */
export function isInClass(code: number, classBits: number): boolean {
  return ((code < ASCII ? (CLASSES[code] ?? 0) : WORD) & classBits) !== 0;
}

/** Returns the lower case of an ASCII letter; other units unchanged. */
export function toLower(code: number): number {
  return code < ASCII ? (LOWER_CASE[code] ?? 0) : code;
}

/** Returns the value of a hexadecimal digit, or -1. */
export function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
