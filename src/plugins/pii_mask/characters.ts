// Classes of characters, by a table: every character of a request is looked up once.

const LETTER = 1;
const DIGIT = 2;
const UNDERSCORE = 4;
const HEX = 8;
const LOCAL = 16;
const TOKEN = 32;
const TABLE = new Uint8Array(128);

function mark(characters: string, flag: number): void {
  for (const character of characters) {
    const unit = character.charCodeAt(0);
    TABLE[unit] = (TABLE[unit] ?? 0) | flag;
  }
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const LETTERS = LOWER + LOWER.toUpperCase();
const DIGITS = "0123456789";
mark(LETTERS, LETTER);
mark(DIGITS, DIGIT);
mark("_", UNDERSCORE);
mark(`${DIGITS}abcdefABCDEF`, HEX);
mark(`${LETTERS}${DIGITS}._%+-'`, LOCAL);
mark(`${LETTERS}${DIGITS}_-`, TOKEN);

const flagsOf = (unit: number): number => (unit < 128 ? (TABLE[unit] ?? 0) : 0);

export const isDigit = (unit: number): boolean => (flagsOf(unit) & DIGIT) !== 0;
export const isLetter = (unit: number): boolean => (flagsOf(unit) & LETTER) !== 0;
export const isHex = (unit: number): boolean => (flagsOf(unit) & HEX) !== 0;
/** A letter, digit or underscore. */
export const isWord = (unit: number): boolean => (flagsOf(unit) & (LETTER | DIGIT | UNDERSCORE)) !== 0;
export const isAlphanumeric = (unit: number): boolean => (flagsOf(unit) & (LETTER | DIGIT)) !== 0;
/** A character of base64url. */
export const isToken = (unit: number): boolean => (flagsOf(unit) & TOKEN) !== 0;
/** A character of the part of an e-mail address before the "@". Latin letters with accents are allowed. */
export const isLocal = (unit: number): boolean => (flagsOf(unit) & LOCAL) !== 0 || isLatin(unit);
/** A letter of Latin-1 or Latin Extended. */
export const isLatin = (unit: number): boolean =>
  unit >= 0xc0 && unit <= 0x24f && unit !== 0xd7 && unit !== 0xf7;

/** A letter in a label of a domain; its digits and hyphens; 0 for what ends the label. */
export const DOMAIN_LETTER = 1;
export const DOMAIN_OTHER = 2;
const DOMAIN_KINDS = Uint8Array.from({ length: 128 }, (_, unit) => {
  if (isLetter(unit)) return DOMAIN_LETTER;
  return isDigit(unit) || unit === 0x2d ? DOMAIN_OTHER : 0;
});

export function domainKind(unit: number): number {
  if (unit < 128) return DOMAIN_KINDS[unit] ?? 0;
  return isLatin(unit) ? DOMAIN_LETTER : 0;
}

/** What may begin at a character, unless it continues a word. */
export const NOTHING = 0;
export const WORD = 1;
export const AT_LETTER = 2;
export const AT_HEX_LETTER = 3;
export const AT_DIGIT = 4;
export const AT_PHONE = 5;
export const AT_COLON = 6;
export const AT_SIGN = 7;

/** By ASCII character. */
export const STARTS = Uint8Array.from({ length: 128 }, (_, unit) => {
  if (isDigit(unit)) return AT_DIGIT;
  if (isLetter(unit)) return isHex(unit) ? AT_HEX_LETTER : AT_LETTER;
  if (unit === 0x40) return AT_SIGN;
  if (unit === 0x3a) return AT_COLON;
  if (unit === 0x2b || unit === 0x28) return AT_PHONE;
  return unit === 0x5f ? WORD : NOTHING;
});
