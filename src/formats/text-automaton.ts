// The automaton of text-tokens.ts: classes of characters, and what a character adds to the tokens of a text. `transition` describes it; a
// table holds its results. The constants are averages over o200k_base and cl100k_base, fitted to prose, code, JSON and encoded data;
// `npm run accuracy:tokens` measures the result.

/** All constants are multiples of 1/400 of a token. */
export const UNITS_PER_TOKEN = 400;

const CONSONANT = 0;
const VOWEL = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const TAB = 5;
const NEWLINE = 6;
export const PUNCTUATION = 7;
/** The same punctuation character as the one before. */
export const REPEATED = 8;
export const CLASS_BITS = 4;
export const ASCII_CLASSES = Uint8Array.from({ length: 128 }, (_, code) =>
  asciiClass(String.fromCharCode(code)),
);

/** Tokens of a lowercase or capitalized word by its length, and per letter of a longer one. */
const WORD_TOKENS = [0, 1.05, 1, 1, 0.95, 0.9, 0.9, 1, 1, 1.05, 1.25, 1.45, 1.8];
const LONG_WORD_LETTER = 0.3;
/** Per letter beyond the third in a row without a vowel: random letters and abbreviations are split into more tokens. */
const CROWDED_CONSONANT = 0.5;
/** For a word that follows a word or a number without a space, as in `parseInt` or base64. */
const CONTINUED_WORD = 0.33;
const FIRST_DIGIT = 0.9;
const DIGITS_PER_TOKEN = 3;
/** A space is part of the word that follows it, but not of a number. */
const SPACE_BEFORE_DIGITS = 0.85;
/** The vocabularies contain words with one punctuation character before them: `.length`, `_name`. */
const PREFIX = 0.5;
const ACCENTED_WORD = 0.5;
const ACCENTED_WORD_LETTER = 0.24;

// States: what precedes the next character.
export const START = 0;
const ONE_SPACE = 1;
const ONE_TAB = 2;
const SPACES = 3;
const NEWLINES = 4;
/** One to three digits, the last of which complete a token. */
const DIGITS = 5;
const PREFIXED = DIGITS + DIGITS_PER_TOKEN;
/** One to MAX_PUNCTUATION different punctuation characters. */
const MAX_PUNCTUATION = 4;
const PUNCTUATED = PREFIXED + 1;
const SCRIPT = PUNCTUATED + MAX_PUNCTUATION;
const UPPERCASE = SCRIPT + 1;
const MIXED_CASE = SCRIPT + 2;
const ACCENTED = SCRIPT + 3;
const ONE_UPPER = SCRIPT + 4;
/** One to MAX_WORD letters, the last state also for more. */
const WORD = SCRIPT + 5;
const MAX_WORD = WORD_TOKENS.length;

interface Transition {
  readonly tokens: number;
  readonly next: number;
}

/** Consonants in a row that are counted; more of them are crowded. */
const MAX_CONSONANTS = 3;
/** The position of the units in an entry of the table. Below are the bits of the next row. They may be negative. */
export const UNITS_SHIFT = 16;
export const ROW_MASK = (1 << UNITS_SHIFT) - 1;

/** A row of the table is a state together with the number of consonants before the next character. */
const rows: { readonly state: number; readonly consonants: number }[] = [];
export const START_ROW = rowOf(START, 0);
export const SCRIPT_ROW = rowOf(SCRIPT, 0);
export const ACCENTED_ROW = rowOf(ACCENTED, 0);
/** By row and class of the next character: the units that it adds, and the next row. */
export const TRANSITIONS = compileTransitions();
export const STATE_OF_ROW = Uint8Array.from(rows, ({ state }) => state);

/** Returns the first index of a row in the table, and adds the row if it is new. */
function rowOf(state: number, consonants: number): number {
  const known = rows.findIndex((row) => row.state === state && row.consonants === consonants);
  return (known === -1 ? rows.push({ state, consonants }) - 1 : known) << CLASS_BITS;
}

function compileTransitions(): Int32Array {
  const entries: number[] = [];
  // `rows` grows while the rows that follow each row are found.
  for (let index = 0; index < rows.length; index++) {
    const { state, consonants } = rows[index] ?? { state: START, consonants: 0 };
    for (let kind = 0; kind <= REPEATED; kind++) {
      const { tokens, next } = transition(state, kind);
      const crowded = kind === CONSONANT && consonants === MAX_CONSONANTS ? CROWDED_CONSONANT : 0;
      const row = rowOf(next, kind === CONSONANT ? Math.min(consonants + 1, MAX_CONSONANTS) : 0);
      entries[(index << CLASS_BITS) | kind] = (unitsOf(tokens + crowded) << UNITS_SHIFT) | row;
    }
  }
  return Int32Array.from({ length: rows.length << CLASS_BITS }, (_, at) => entries[at] ?? 0);
}

export function unitsOf(tokens: number): number {
  return Math.round(tokens * UNITS_PER_TOKEN);
}

/** Tokens per character by the upper byte of its code unit: [first, last, tokens]. Later rows replace earlier ones. */
const SCRIPT_TOKENS: readonly (readonly [number, number, number])[] = [
  [0x00, 0xff, 0.8],
  [0x03, 0x03, 0.43], // Greek
  [0x04, 0x04, 0.22], // Cyrillic
  [0x05, 0x05, 0.44], // Hebrew, Armenian
  [0x06, 0x07, 0.36], // Arabic
  [0x09, 0x0d, 0.4], // scripts of India
  [0x0e, 0x0e, 0.43], // Thai, Lao
  [0x10, 0x10, 0.5], // Georgian, Burmese
  [0x12, 0x13, 1.6], // Ethiopic
  [0x20, 0x2f, 1], // punctuation and symbols
  [0x25, 0x25, 0.4], // lines of boxes, usually repeated
  [0x30, 0x31, 0.83], // kana
  [0x32, 0x33, 1.5],
  [0x34, 0x9f, 0.96], // Han
  [0xac, 0xd7, 0.93], // Hangul
  [0xd8, 0xdf, 1], // surrogates: half an emoji
  [0xe0, 0xfa, 1.5], // private use, rare Han
  [0xff, 0xff, 1], // full-width forms
];
const TOKENS_BY_RANGE = new Float64Array(256);
for (const [first, last, tokens] of SCRIPT_TOKENS) TOKENS_BY_RANGE.fill(tokens, first, last + 1);
const CYRILLIC_WORD = 0.5;
/** For a letter that Russian does not use: words of other languages are rarer in the vocabularies. */
const CYRILLIC_BEYOND_RUSSIAN = 1;

/** Returns what a character of the class adds to the tokens of the text, and the state after it. */
export function transition(state: number, kind: number): Transition {
  if (kind === CONSONANT || kind === VOWEL) return lowercaseTransition(state);
  if (kind === UPPER) return uppercaseTransition(state);
  const unpaid = state === PREFIXED ? 1 - PREFIX : 0;
  switch (kind) {
    case DIGIT:
      return digitTransition(state, unpaid);
    case SPACE:
      return spaceTransition(state, unpaid, ONE_SPACE);
    case TAB:
      return spaceTransition(state, unpaid, ONE_TAB);
    case NEWLINE:
      // Newlines are part of the punctuation before them.
      if (state === NEWLINES) return { tokens: 0.03, next: NEWLINES };
      return { tokens: isPunctuated(state) ? unpaid + 0.05 : 1.1, next: NEWLINES };
    case REPEATED:
      return { tokens: unpaid + 0.015, next: state === PREFIXED ? PUNCTUATED : state };
    default:
      return punctuationTransition(state, unpaid);
  }
}

function lowercaseTransition(state: number): Transition {
  if (state === ONE_UPPER) return { tokens: lettersOfWord(2), next: WORD + 1 };
  if (state >= WORD) {
    const length = state - WORD + 2;
    return { tokens: lettersOfWord(length), next: WORD + Math.min(length, MAX_WORD) - 1 };
  }
  if (state === ACCENTED) return { tokens: ACCENTED_WORD_LETTER, next: ACCENTED };
  // Lowercase letters after several uppercase ones are rare outside of random letters.
  if (state === UPPERCASE) return { tokens: 0.65, next: MIXED_CASE };
  if (state === MIXED_CASE) return { tokens: 0.25, next: MIXED_CASE };
  return { tokens: lettersOfWord(1) + continuation(state), next: WORD };
}

/** An uppercase letter starts a word, unless it follows another one. */
function uppercaseTransition(state: number): Transition {
  if (state === ONE_UPPER || state === UPPERCASE) return { tokens: 0.14, next: UPPERCASE };
  return { tokens: lettersOfWord(1) + continuation(state), next: ONE_UPPER };
}

function digitTransition(state: number, unpaid: number): Transition {
  if (state >= DIGITS && state < DIGITS + DIGITS_PER_TOKEN - 1) return { tokens: 0, next: state + 1 };
  const space = state === ONE_SPACE || state === SPACES ? SPACE_BEFORE_DIGITS : 0;
  return { tokens: unpaid + space + FIRST_DIGIT, next: DIGITS };
}

/** One space is part of the next word. More of them are one token, up to the longest in the vocabularies. */
function spaceTransition(state: number, unpaid: number, one: number): Transition {
  if (state === ONE_SPACE) return { tokens: 1.1, next: SPACES };
  if (state === ONE_TAB) return { tokens: 0.6, next: SPACES };
  if (state === SPACES) return { tokens: 0.0125, next: SPACES };
  return { tokens: unpaid + (one === ONE_TAB ? 0.5 : 0), next: one };
}

/** Short sequences such as `"},` are in the vocabularies, longer ones are not. */
function punctuationTransition(state: number, unpaid: number): Transition {
  if (state === PREFIXED) return { tokens: unpaid + 0.26, next: PUNCTUATED + 1 };
  if (state === PUNCTUATED + MAX_PUNCTUATION - 1) return { tokens: 0.5, next: state };
  if (isPunctuated(state)) return { tokens: 0.26, next: state + 1 };
  if (state === ONE_SPACE || state === SPACES) return { tokens: 1, next: PUNCTUATED };
  return { tokens: PREFIX, next: PREFIXED };
}

function isPunctuated(state: number): boolean {
  return state >= PREFIXED && state < PUNCTUATED + MAX_PUNCTUATION;
}

function continuation(state: number): number {
  return state >= UPPERCASE || (state >= DIGITS && state < DIGITS + DIGITS_PER_TOKEN) ? CONTINUED_WORD : 0;
}

/** Tokens that the last letter adds to a word of this length. */
function lettersOfWord(length: number): number {
  const tokens = WORD_TOKENS[length];
  return tokens === undefined ? LONG_WORD_LETTER : tokens - (WORD_TOKENS[length - 1] ?? 0);
}

export function tokensBeyondAscii(state: number, code: number): number {
  if (isLatin(code)) return accentTokens(code) + ACCENTED_WORD_LETTER + accentedStart(state);
  const range = code >> 8;
  const tokens = TOKENS_BY_RANGE[range] ?? 1;
  if (range !== 0x04) return tokens;
  const start = state === SCRIPT ? 0 : CYRILLIC_WORD;
  return tokens + start + (isRussian(code) ? 0 : CYRILLIC_BEYOND_RUSSIAN);
}

function isRussian(code: number): boolean {
  return (code >= 0x410 && code <= 0x44f) || code === 0x401 || code === 0x451;
}

/** Latin letters outside of ASCII. */
export function isLatin(code: number): boolean {
  return (code >= 0xc0 && code <= 0x24f) || (code >= 0x1e00 && code <= 0x1eff);
}

/**
 * Tokens that one such letter adds to a word. Words of Western Europe are more frequent in the vocabularies than others, and words of
 * Vietnamese, from U+0180 on, are short.
 */
function accentTokens(code: number): number {
  if (code < 0x100) return 0.37;
  return code < 0x180 ? 0.8 : 0;
}

/** Counts the letters before the first accent as those of a word with accents. */
function accentedStart(state: number): number {
  if (state === ACCENTED) return 0;
  if (state < ONE_UPPER) return ACCENTED_WORD;
  const length = state === ONE_UPPER ? 1 : state - WORD + 1;
  const tokens = WORD_TOKENS[length];
  return tokens === undefined ? ACCENTED_WORD : ACCENTED_WORD + ACCENTED_WORD_LETTER * length - tokens;
}

function asciiClass(character: string): number {
  if (/[aeiouy]/.test(character)) return VOWEL;
  if (/[a-z]/.test(character)) return CONSONANT;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (character === " ") return SPACE;
  if (character === "\t") return TAB;
  return /[\r\n]/.test(character) ? NEWLINE : PUNCTUATION;
}
