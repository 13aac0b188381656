// Splits SQL into tokens. Conditions (`or 1=1`) are read token by token and not with combinators: their triggers are frequent,
// and a token costs a few nanoseconds, however many kinds of operands a condition allows.
import { DIGIT, HEX, isInClass, LETTER, NEWLINE, toLower, WHITESPACE, WORD } from "../char-classes.ts";
import {
  AMPERSAND,
  BACKSLASH,
  BACKTICK,
  COLON,
  DASH,
  DOT,
  EQUALS,
  GREATER,
  LESS,
  PIPE,
  PLUS,
  SLASH,
  STAR,
} from "../char-codes.ts";
import { charTable } from "../combinators.ts";
import { endOfRun, splitWords } from "../keyword-set.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { stepsToRead } from "../work-budget.ts";

// Kinds of tokens are bits, so that one test checks for several kinds.
export const END = 1;
export const NUMBER = 2;
/** A closed string of at most MAX_STRING units on one line. */
export const STRING = 4;
/** A quote without a closing quote. */
export const OPEN_QUOTE = 8;
/** `@x`, `@@x`, and functions that are called without parentheses, such as `current_user`. */
export const VARIABLE = 16;
export const NAME = 32;
/** `null`, `true`, `false`. */
export const CONSTANT = 64;
/** Words before an operand: `not`, `binary`, `exists`. */
export const PREFIX = 128;
/** `or`, `and`, `xor`, `||`, `&&`. */
export const LOGICAL = 256;
/** `=`, `<>`, `like`, `between`, `is` and others. */
export const COMPARISON = 512;
export const ARITHMETIC = 1024;
export const OPEN = 2048;
export const CLOSE = 4096;
export const COMMA = 8192;
export const SEMICOLON = 16384;
/** The start of a comment. */
export const COMMENT = 32768;
/** Words that start a clause: `select`, `union`, `order`. */
export const CLAUSE = 65536;
const OTHER = 131072;

const MAX_STRING = 64;
const MAX_NUMBER = 64;
const MAX_NAME = 40;
const MAX_WHITESPACE = 6;

const WORD_KINDS = new Map<number, readonly (readonly [string, number])[]>();
/** By first letter: bit n is set if a known word has n letters. */
const LENGTHS = new Int32Array(0x80);

export const LOGICAL_WORDS: readonly string[] = splitWords("or and xor");
export const COMPARISON_WORDS: readonly string[] = splitWords(
  "like rlike regexp glob sounds between in is similar ilike notnull isnull",
);
/** Functions that are called without parentheses. */
export const VARIABLE_WORDS: readonly string[] =
  splitWords(`current_user session_user system_user current_date current_time current_timestamp utc_date utc_time
  utc_timestamp localtime localtimestamp sysdate`);
export const ARITHMETIC_WORDS: readonly string[] = splitWords("div mod collate");

function addWords(kind: number, words: readonly string[]): void {
  for (const word of words) {
    const key = wordKey(word.charCodeAt(0), word.charCodeAt(1), word.length);
    WORD_KINDS.set(key, [...(WORD_KINDS.get(key) ?? []), [word, kind]]);
    const first = word.charCodeAt(0);
    LENGTHS[first] = (LENGTHS[first] ?? 0) | (1 << word.length);
  }
}
addWords(LOGICAL, LOGICAL_WORDS);
addWords(COMPARISON, COMPARISON_WORDS);
addWords(ARITHMETIC, ARITHMETIC_WORDS);
addWords(CONSTANT, splitWords("null true false"));
addWords(PREFIX, splitWords("not binary exists any all some"));
addWords(VARIABLE, VARIABLE_WORDS);
addWords(CLAUSE, splitWords("select union from where having order group limit into procedure waitfor case"));

function wordKey(first: number, second: number, length: number): number {
  return (first << 16) | (second << 8) | length;
}

function kindOfWord(input: NormalizedText, start: number, end: number): number {
  const first = toLower(unitAt(input, start));
  const length = end - start;
  if (first >= 0x80 || ((LENGTHS[first] ?? 0) & (1 << length)) === 0) return NAME;
  const candidates = WORD_KINDS.get(wordKey(first, toLower(unitAt(input, start + 1)), length));
  if (candidates === undefined) return NAME;
  for (const [word, kind] of candidates) if (isWordAt(input, start, word)) return kind;
  return NAME;
}

function isWordAt(input: NormalizedText, at: number, word: string): boolean {
  for (let index = 2; index < word.length; index++)
    if (toLower(unitAt(input, at + index)) !== word.charCodeAt(index)) return false;
  return true;
}

/** By ASCII unit: the kind of the token that it starts; 0 for units that need a closer look. */
const KINDS = new Int32Array(0x80).fill(OTHER);
function setKind(kind: number, characters: string): void {
  for (let index = 0; index < characters.length; index++) KINDS[characters.charCodeAt(index)] = kind;
}
setKind(NUMBER, "0123456789");
setKind(STRING, "'\"");
setKind(VARIABLE, "@");
setKind(NAME, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ`");
setKind(COMPARISON, "=<>");
setKind(ARITHMETIC, "+-*/%^~!&|");
setKind(OPEN, "(");
setKind(CLOSE, ")");
setKind(COMMA, ",");
setKind(SEMICOLON, ";");
setKind(COMMENT, "#");

/** Reads one token after another. The fields describe the last one. */
class TokenReader {
  kind = END;
  start = 0;
  end = 0;

  /** Reads the token at or after `at`. Whitespace before it is skipped. */
  read(input: NormalizedText, at: number): number {
    let start = at;
    while (start - at < MAX_WHITESPACE && isInClass(unitAt(input, start), WHITESPACE)) start++;
    input.work.steps++;
    this.start = start;
    if (start >= input.length) {
      this.end = start;
      return (this.kind = END);
    }
    this.end = start + 1;
    const code = unitAt(input, start);
    const kind = code < 0x80 ? (KINDS[code] ?? OTHER) : NAME;
    return (this.kind = (kind & SINGLE) !== 0 ? kind : readLonger(this, input, code, kind));
  }

  /** Reads the token after the last one. */
  next(input: NormalizedText): number {
    return this.read(input, this.end);
  }
}

/** Kinds of tokens that have one unit. */
const SINGLE = OPEN | CLOSE | COMMA | SEMICOLON | COMMENT;

/** Sets the end of a token that may have several units, and returns its kind. */
function readLonger(reader: TokenReader, input: NormalizedText, code: number, kind: number): number {
  input.work.steps++;
  if (kind === NAME) {
    if (code === BACKTICK) return readString(reader, input, code, NAME);
    reader.end = endOfRun(input, reader.start, WORD, MAX_NAME);
    const wordKind = kindOfWord(input, reader.start, reader.end);
    const isQualified = unitAt(input, reader.end) === DOT && isInClass(unitAt(input, reader.end + 1), LETTER);
    if (!isQualified) return wordKind;
    reader.end = endOfRun(input, reader.end + 1, WORD, MAX_NAME);
    return NAME;
  }
  if (kind === NUMBER) return readNumber(reader, input, code);
  if (kind === STRING) return readString(reader, input, code, STRING);
  if (kind === VARIABLE) {
    if (unitAt(input, reader.end) === code) reader.end++;
    reader.end = endOfRun(input, reader.end, WORD, MAX_NAME);
    return kind;
  }
  return kind === OTHER ? readOther(reader, input, code) : readOperator(reader, input, code, kind);
}

/** Numbers end where a keyword begins (`1or`), but `1st` is a name. */
function readNumber(reader: TokenReader, input: NormalizedText, code: number): number {
  const { start } = reader;
  if (code === 0x30 && (unitAt(input, start + 1) | 0x20) === 0x78) {
    reader.end = endOfRun(input, start + 2, HEX, MAX_NUMBER);
    return NUMBER;
  }
  let end = endOfRun(input, start, DIGIT, MAX_NUMBER);
  if (unitAt(input, end) === DOT) end = endOfRun(input, end + 1, DIGIT, MAX_NUMBER);
  reader.end = end;
  if (!isInClass(unitAt(input, end), LETTER)) return NUMBER;
  const wordEnd = endOfRun(input, end, WORD, MAX_NAME);
  if (kindOfWord(input, end, wordEnd) !== NAME || isExponent(input, end)) return NUMBER;
  reader.end = wordEnd;
  return NAME;
}

const SEPARATORS = charTable(",);]:}");

function readString(reader: TokenReader, input: NormalizedText, mark: number, kind: number): number {
  const end = endOfString(input, reader.start, mark);
  if (end < 0) return OPEN_QUOTE;
  reader.end = end;
  // `', '` in a program is what separates two strings.
  return SEPARATORS[input.codes[reader.start + 1] ?? 0] === 1 ? OTHER : kind;
}

/** Returns the end of the string that starts with the quote `mark` at a position; -1 if it is not closed on the line. */
export function endOfString(input: NormalizedText, at: number, mark: number): number {
  const last = Math.min(at + MAX_STRING, input.length - 1);
  let index = at + 1;
  while (index <= last && input.codes[index] !== mark && input.codes[index] !== NEWLINE) index++;
  input.work.steps += stepsToRead(index - at);
  return index > last || input.codes[index] === NEWLINE ? -1 : index + 1;
}

function readOperator(reader: TokenReader, input: NormalizedText, code: number, kind: number): number {
  const next = unitAt(input, reader.end);
  if ((code === DASH && next === DASH) || (code === SLASH && next === STAR)) {
    reader.end++;
    return COMMENT;
  }
  if ((code === PIPE || code === AMPERSAND) && next === code) {
    reader.end++;
    return LOGICAL;
  }
  if (code === EQUALS && next === GREATER) return OTHER;
  if (kind === ARITHMETIC && (next !== EQUALS || code === PLUS || code === DASH)) return ARITHMETIC;
  while (reader.end - reader.start < 3 && isComparing(unitAt(input, reader.end))) reader.end++;
  return COMPARISON;
}

/** `.5`, `:=`, `\N`, and a cast such as `::int`, which is like a closing parenthesis: it may follow a value and changes nothing. */
function readOther(reader: TokenReader, input: NormalizedText, code: number): number {
  const { end } = reader;
  const next = unitAt(input, end);
  if (code === DOT && isInClass(next, DIGIT)) {
    reader.end = endOfRun(input, end, DIGIT, MAX_NUMBER);
    return NUMBER;
  }
  if (code === COLON && next === COLON) {
    reader.end = endOfRun(input, end + 1, WORD, MAX_NAME);
    return CLOSE;
  }
  const isAssignment = code === COLON && next === EQUALS;
  if (!isAssignment && (code !== BACKSLASH || next !== 0x4e)) return OTHER;
  reader.end++;
  return isAssignment ? COMPARISON : CONSTANT;
}

function isComparing(code: number): boolean {
  return code === EQUALS || code === LESS || code === GREATER;
}

function isExponent(input: NormalizedText, at: number): boolean {
  return (unitAt(input, at) | 0x20) === 0x65 && isInClass(unitAt(input, at + 1), DIGIT);
}

/** A scan is synchronous, so all conditions share one reader. */
export const token = new TokenReader();
