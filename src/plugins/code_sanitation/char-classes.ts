// What a UTF-16 code unit is: the classes that views and grammars ask for, as tables so that a test is one load.

export const SPACE = 0x20;
export const NEWLINE = 0x0a;

export const DIGIT = 1;
export const LETTER = 2;
/** Letters, digits, `_` and everything beyond ASCII: what may not touch a keyword. */
export const WORD = 4;
export const BLANK = 8;
export const HEX = 16;
/** `'`, `"` and the backtick. */
export const QUOTE = 32;

/** The mark in FOLD of a unit that no language sees: zero-width characters and control characters. */
export const DROPPED = 0;

const ASCII = 0x80;
const CLASSES = new Uint8Array(ASCII);
const LOWER = new Uint8Array(ASCII);
/** What each unit is read as: wide forms as ASCII, every blank as SPACE or NEWLINE, invisible ones as DROPPED. */
export const FOLD = new Uint16Array(0x10000);
for (let code = 0; code < 0x10000; code++) FOLD[code] = code;

/** Units that open an escape, a comment or other syntax that a further reading of the text may take out. */
const MARKED = "%&\\/*'\"`$<>^";
/** As bits, so that one test tells all units that are written as they stand from the others. */
export const PLAIN_UNIT = 0;
export const MARKED_UNIT = 1;
export const FOLDED_UNIT = 2;
export const BLANK_UNIT = 4;
/** How a unit is read: as it stands, as it stands but remembered, as FOLD says, or as a blank of its own. */
export const KIND = new Uint8Array(0x10000).fill(PLAIN_UNIT);

function fillClasses(): void {
  for (let code = 0; code < ASCII; code++) {
    const character = String.fromCharCode(code);
    let bits = 0;
    if (/[0-9]/.test(character)) bits |= DIGIT | HEX | WORD;
    if (/[a-z]/i.test(character)) bits |= LETTER | WORD;
    if (/[a-f]/i.test(character)) bits |= HEX;
    if (character === "_") bits |= WORD;
    if (code === SPACE || code === NEWLINE) bits |= BLANK;
    if (/['"`]/.test(character)) bits |= QUOTE;
    CLASSES[code] = bits;
    LOWER[code] = character.toLowerCase().charCodeAt(0);
  }
}

function fold(code: number, readAs: number): void {
  FOLD[code] = readAs;
  KIND[code] = FOLDED_UNIT;
}

function foldRange(from: number, to: number, readAs: number): void {
  for (let code = from; code <= to; code++) fold(code, readAs);
}

function fillFoldAndKind(): void {
  foldRange(0, SPACE - 1, DROPPED);
  fold(0x7f, DROPPED);
  for (const blank of [0x09, 0x0b, 0x0c, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000]) fold(blank, SPACE);
  foldRange(0x2000, 0x200a, SPACE);
  for (const newline of [0x0a, 0x0d, 0x85, 0x2028, 0x2029]) fold(newline, NEWLINE);
  // Soft hyphen, Arabic letter mark, Hangul and Mongolian fillers, joiners, directions, variation selectors, BOM.
  for (const invisible of [0xad, 0x034f, 0x061c, 0x115f, 0x1160, 0x180e, 0x3164, 0xfeff, 0xffa0])
    fold(invisible, DROPPED);
  foldRange(0x200b, 0x200f, DROPPED);
  foldRange(0x202a, 0x202e, DROPPED);
  foldRange(0x2060, 0x206f, DROPPED);
  foldRange(0xfe00, 0xfe0f, DROPPED);
  for (let wide = 0xff01; wide <= 0xff5e; wide++) fold(wide, wide - 0xfee0);
  // The small forms (U+FE50 to U+FE6B) are scattered, so Unicode's own compatibility mapping says which they are.
  for (let small = 0xfe50; small <= 0xfe6b; small++) {
    const plain = String.fromCharCode(small).normalize("NFKC").charCodeAt(0);
    if (plain < 0x80) fold(small, plain);
  }
  KIND[SPACE] = KIND[NEWLINE] = BLANK_UNIT;
  for (const marked of MARKED) KIND[marked.charCodeAt(0)] = MARKED_UNIT;
}

fillClasses();
fillFoldAndKind();

export function isOf(code: number, classBits: number): boolean {
  return ((code < ASCII ? (CLASSES[code] as number) : WORD) & classBits) !== 0;
}

/** ASCII lower case; other units stay. */
export function lower(code: number): number {
  return code < ASCII ? (LOWER[code] as number) : code;
}

/** The value of a hexadecimal digit, or -1. */
export function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
