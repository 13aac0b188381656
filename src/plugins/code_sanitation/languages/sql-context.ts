// Look-behinds that tell injected SQL from SQL in a program or in a question: what is injected follows a value that the text
// starts with, or a quote that closes a string which was opened outside of the text.
import { DIGIT, isInClass, NEWLINE, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { BACKTICK, EQUALS, SINGLE_QUOTE } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { charTable } from "../combinators.ts";
import { nearTextStart, requiring, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { closesShortString, farFromStart, OPEN_STRING, precededByPairs } from "../required-before.ts";
import { stepsToRead } from "../work-budget.ts";

/** How far to look back for the opening quote of a string. */
const MAX_STRING = 160;
const MAX_VALUE = 32;

/** The length of the longest `name=` and of the whitespace after it. */
const MAX_FIELD_START = MAX_VALUE + 5;
const MAX_GAP = 8;

const VALUE_UNITS = charTable("abcdefghijklmnopqrstuvwxyz0123456789_.-,%*@$\\/");
const NAME_UNITS = charTable("abcdefghijklmnopqrstuvwxyz0123456789_.-[]$");
const VALUE_ENDS = ")%>\\";
const VALUE_END_UNITS = charSet(WORD, VALUE_ENDS);
const STRING_PREFIXES = charTable("bfru");
const GAP = ") \n+}]";
const GAP_UNITS = charTable(GAP);
/** The work of looking back for the start of a short string. */
const STEPS_OF_SHORT_STRING = 2;

function isIn(table: Uint8Array, code: number): boolean {
  return table[code] === 1;
}

/** Returns the start of the run of such units that ends at `end`. */
function startOfRun(input: NormalizedText, end: number, table: Uint8Array, max: number): number {
  let start = end;
  while (end - start < max && isIn(table, unitAt(input, start - 1))) start--;
  input.work.steps += stepsToRead(end - start);
  return start;
}

/** Returns whether a field starts at `at`: the text itself, or the value of `name=` at the start of the text. */
function isFieldStart(input: NormalizedText, at: number): boolean {
  // Nearly all candidates are too far from the start of the text.
  if (at > MAX_FIELD_START) return false;
  let start = at;
  while (at - start < 4 && isInClass(unitAt(input, start - 1), WHITESPACE)) start--;
  if (start === 0) return true;
  return unitAt(input, start - 1) === EQUALS && startOfRun(input, start - 1, NAME_UNITS, MAX_VALUE) === 0;
}

const LEADING_UNITS = charTable(" \n(,");
/** Units that may precede a trigger at the start of a field. Index 0 is the start of the text. */
export const FIELD_STARTS = charSet(WHITESPACE, "\0(,=");

/** Matches at the start of a field, with nothing but whitespace before. */
export const startsField: LookBehind = nearTextStart(MAX_FIELD_START, (input, at) =>
  isFieldStart(input, at) ? at : NO_MATCH,
);

/** Matches at the start of a field. Whitespace, opening parentheses and commas may precede. */
export const atFieldStart: LookBehind = nearTextStart(MAX_FIELD_START + MAX_GAP, (input, at) => {
  const start = startOfRun(input, at, LEADING_UNITS, MAX_GAP);
  return isFieldStart(input, start) ? at : NO_MATCH;
});

const MAX_LEADING_STRING = 14;
/** Matches if the field starts with a short string that ends here: `'1'='`. */
export const leadingString: LookBehind = nearTextStart(
  MAX_FIELD_START + MAX_GAP + MAX_LEADING_STRING,
  (input, at) => {
    let index = at - 1;
    while (at - index < MAX_LEADING_STRING && isInClass(unitAt(input, index), WORD)) index--;
    return unitAt(input, index) === SINGLE_QUOTE ? atFieldStart(input, index) : NO_MATCH;
  },
);

const WORDS_BEFORE_STRINGS = new Set([
  "return",
  "case",
  "typeof",
  "in",
  "of",
  "else",
  "from",
  "import",
  "throw",
]);

/** Returns whether a quote closes a string that was opened on the same line. In programs it does, in injected text it does not. */
function closesString(input: NormalizedText, at: number): boolean {
  const { codes } = input;
  const mark = unitAt(input, at);
  const first = Math.max(0, at - MAX_STRING);
  let index = at - 1;
  while (index >= first && codes[index] !== mark && codes[index] !== NEWLINE) index--;
  input.work.steps += stepsToRead(at - index);
  if (index < first || codes[index] !== mark) return false;
  // After a word a single quote is an apostrophe, unless the word is a keyword of a program: `return'x'`.
  const isApostrophe = mark === SINGLE_QUOTE && isInClass(unitAt(input, index - 1), WORD);
  return !isApostrophe || WORDS_BEFORE_STRINGS.has(wordBefore(input, index));
}

/** Matches if the trigger starts with a quote that closes no string. */
export const unpairedQuote: LookBehind = (input, at) => (closesString(input, at) ? NO_MATCH : at);

/** Matches after a value, and at the start of a field: where a quote ends a string. */
const followsValue: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  const isValue =
    charSetHas(VALUE_END_UNITS, before) || (before === unitAt(input, at) && isInClass(before, QUOTE));
  if (!isValue) return isFieldStart(input, at) ? at : NO_MATCH;
  // `f"` and `rb'` start a string in Python.
  const prefix = startOfRun(input, at, STRING_PREFIXES, 2);
  const isPrefix = prefix > 0 && prefix < at && !isInClass(unitAt(input, prefix - 1), WORD);
  return isPrefix ? NO_MATCH : at;
};

/** Matches as followsValue does, unless the quote closes a short string, which costs less to find out than what follows the quote. */
export const mayEndValue: LookBehind = requiring(
  // A field starts only near the start of a text.
  farFromStart(precededByPairs([[charSet(WORD | QUOTE, VALUE_ENDS), null]], OPEN_STRING)),
  (input, at) => {
    if (followsValue(input, at) < 0) return NO_MATCH;
    input.work.steps += STEPS_OF_SHORT_STRING;
    return closesShortString(input, at) ? NO_MATCH : at;
  },
);

/** Matches if the trigger starts with a quote that closes no string and follows a value: `x'`, `)'`, or the start of a field. */
export const quoteAfterValue: LookBehind = (input, at) =>
  followsValue(input, at) < 0 ? NO_MATCH : unpairedQuote(input, at);

/** Returns the position of the last unit before whitespace and closing brackets. */
function skipGapBack(input: NormalizedText, at: number): number {
  const start = startOfRun(input, at, GAP_UNITS, MAX_GAP);
  return start - 1;
}

/** A quote precedes, with optional whitespace and closing brackets in between. */
const AFTER_QUOTE = farFromStart(
  precededByPairs([
    [charSet(QUOTE), null],
    [charSet(0, GAP), charSet(QUOTE, GAP)],
  ]),
);

/** Matches after a value that a field starts with, such as `1) `, and after a quote that ends a value, such as `x') `. */
export const afterInjectedValue: LookBehind = requiring(AFTER_QUOTE, (input, at) => {
  const mark = skipGapBack(input, at);
  if (mark < 0) return at;
  if (isInClass(unitAt(input, mark), QUOTE)) return quoteAfterValue(input, mark);
  if (mark > MAX_FIELD_START + MAX_VALUE) return NO_MATCH;
  const start = startOfRun(input, mark + 1, VALUE_UNITS, MAX_VALUE);
  return isFieldStart(input, start) && hasDigit(input, start, mark + 1) ? start : NO_MATCH;
});

/** Matches after a quote that ends a value, with optional whitespace and closing brackets in between. */
export const afterUnpairedQuote: LookBehind = requiring(AFTER_QUOTE, (input, at) => {
  const mark = skipGapBack(input, at);
  const code = unitAt(input, mark);
  // A backtick after a word starts a template of JavaScript.
  return isInClass(code, QUOTE) && code !== BACKTICK ? quoteAfterValue(input, mark) : NO_MATCH;
});

/** Matches after a value that is all that a field has so far. */
export const afterWholeValue: LookBehind = nearTextStart(MAX_FIELD_START + MAX_VALUE, (input, at) => {
  const start = startOfRun(input, at, VALUE_UNITS, MAX_VALUE);
  return start < at && isFieldStart(input, start) ? start : NO_MATCH;
});

/** A single word without a digit is prose or a keyword: `BEGIN; UPDATE …`. */
function hasDigit(input: NormalizedText, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (isInClass(unitAt(input, index), DIGIT)) return true;
  return start === end || !isInClass(unitAt(input, start), WORD);
}

/** Matches after a value that a field starts with. */
export const afterLeadingValue: LookBehind = nearTextStart(
  MAX_FIELD_START + MAX_VALUE + MAX_GAP,
  (input, at) => {
    const mark = skipGapBack(input, at);
    return mark < 0 || isInClass(unitAt(input, mark), QUOTE) ? NO_MATCH : afterInjectedValue(input, at);
  },
);

/** Matches after a value like afterInjectedValue, but not at the start of a field. */
export const afterValue: LookBehind = requiring(AFTER_QUOTE, (input, at) =>
  at <= MAX_GAP && skipGapBack(input, at) < 0 ? NO_MATCH : afterInjectedValue(input, at),
);
