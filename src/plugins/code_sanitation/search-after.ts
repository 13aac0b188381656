// What must follow a trigger for some patterns to match, farther than the first two units: conditions that take less time than the matcher of the
// pattern, and that WebAssembly checks as well (wasm/read-triggers.ts).
import { isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE, WORD } from "./char-classes.ts";
import { CLOSE_BRACKET, CLOSE_PAREN, COLON, DASH, EQUALS, LESS, OPEN_PAREN, SLASH } from "./char-codes.ts";
import { charSet, charSetHas } from "./char-set.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { hasPrefix, prefixesOf } from "./prefix-set.ts";

export const NOTHING_AFTER = 0;
/** A word, a quote, and a space or letter: `'cat' x`, `'una'me`. */
export const CLOSED_WORD = 1;
/** A condition of a batch file: a comparison after a name or a group, or one of its words. */
export const BATCH_CONDITION = 2;
/** A name and, after whitespace, what a path starts with; or a name and `/` or `<`. */
export const NAME_AND_PATH = 3;
/** No two words, unless the first one is a constant of SQL, such as `null`, or may precede one, such as `not`. */
export const CONSTANT_OPERAND = 4;
/** What is searched after a trigger. The numbers are those of wasm/read-triggers.ts. */
export type SearchAfter =
  | typeof NOTHING_AFTER
  | typeof CLOSED_WORD
  | typeof BATCH_CONDITION
  | typeof NAME_AND_PATH
  | typeof CONSTANT_OPERAND;

/** Returns whether what is searched follows at `at`. */
export function isFoundAfter(search: SearchAfter, input: NormalizedText, at: number): boolean {
  if (search === CLOSED_WORD) return hasClosedWord(input, at);
  if (search === NAME_AND_PATH) return hasNameAndPath(input, at);
  if (search === CONSTANT_OPERAND) return mayBeConstantOperand(input, at);
  return search === NOTHING_AFTER || mayBeBatchCondition(input, at);
}

const MAX_WORD = 24;
const MAX_WHITESPACE = 4;
/** The bit that distinguishes a lower case letter. */
const LOWER_CASE = 0x20;

function skipWhitespace(input: NormalizedText, at: number): number {
  let end = at;
  while (end - at < MAX_WHITESPACE && isInClass(unitAt(input, end), WHITESPACE)) end++;
  return end;
}

/** Returns the end of the name at a position; the position itself if there is none. */
function endOfName(input: NormalizedText, at: number): number {
  let end = at;
  while (end - at < MAX_WORD && isInName(unitAt(input, end))) end++;
  return end;
}

function isInName(code: number): boolean {
  return isInClass(code, WORD) || code === DASH;
}

/** Returns false if a word is there that is not followed by a quote and a space or letter. */
function hasClosedWord(input: NormalizedText, at: number): boolean {
  const end = endOfName(input, at);
  if (end === at) return true;
  const next = unitAt(input, end + 1);
  return isInClass(unitAt(input, end), QUOTE) && (next === SPACE || isInClass(next, LETTER));
}

const PATH_STARTS = charSet(0, "/.~");

/** Returns false if a name is there without a path after it. */
function hasNameAndPath(input: NormalizedText, at: number): boolean {
  const start = skipWhitespace(input, at);
  const end = endOfName(input, start);
  const after = unitAt(input, end);
  if (end === start || after === SLASH || after === LESS) return true;
  const path = skipWhitespace(input, end);
  if (path === end) return false;
  const first = unitAt(input, path);
  // `C:\` is a drive.
  return charSetHas(PATH_STARTS, first) || (isInClass(first, LETTER) && unitAt(input, path + 1) === COLON);
}

/** The first three letters of words of SQL that may start a condition with a constant. */
const CONSTANT_WORDS: ReadonlySet<number> = new Set(
  ["not", "nul", "bin", "tru", "fal", "exi", "cur", "ses", "sys", "utc", "loc", "sel"].map((letters) =>
    keyOfLetters(letters.charCodeAt(0), letters.charCodeAt(1), letters.charCodeAt(2)),
  ),
);

function keyOfLetters(first: number, second: number, third: number): number {
  return ((first | LOWER_CASE) << 16) | ((second | LOWER_CASE) << 8) | (third | LOWER_CASE);
}

/** Returns false for two words of prose, as in `and nobody came`, `or a cat`: a name in a condition is followed by an operator. */
function mayBeConstantOperand(input: NormalizedText, at: number): boolean {
  const start = isInClass(unitAt(input, at), WHITESPACE) ? at + 1 : at;
  let end = start;
  while (end - start < MAX_WORD && isInClass(unitAt(input, end), LETTER)) end++;
  if (end === start || unitAt(input, end) !== SPACE || !isInClass(unitAt(input, end + 1), LETTER))
    return true;
  return (
    end - start >= 3 &&
    CONSTANT_WORDS.has(keyOfLetters(unitAt(input, start), unitAt(input, start + 1), unitAt(input, start + 2)))
  );
}

const MAX_NAME = 40;
const MAX_GROUP = 24;
/** Words that a condition of a batch file starts with, and operators. */
const CONDITION_WORDS = prefixesOf(["not", "exist", "defined", "errorlevel"]);
const COMPARISON_WORDS = prefixesOf(["equ", "neq", "gtr", "geq", "lss", "leq"]);

/** Returns false for most conditions of programs, `if (name …` and `if name …`: no comparison follows. */
function mayBeBatchCondition(input: NormalizedText, at: number): boolean {
  const isGroup = unitAt(input, at) === OPEN_PAREN;
  const start = isGroup ? at + 1 : at;
  let end = start;
  while (end - start < MAX_NAME && isInClass(unitAt(input, end), WORD)) end++;
  if (end === start || hasPrefix(CONDITION_WORDS, unitAt(input, start), unitAt(input, start + 1)))
    return true;
  if (isComparison(input, end)) return true;
  const groupEnd = isGroup ? endOfGroup(input, start) : -1;
  return groupEnd >= 0 && isComparison(input, groupEnd);
}

function isComparison(input: NormalizedText, at: number): boolean {
  const start = skipWhitespace(input, at);
  const first = unitAt(input, start);
  const second = unitAt(input, start + 1);
  // `===` is JavaScript.
  if (first === EQUALS) return second === EQUALS && unitAt(input, start + 2) !== EQUALS;
  return hasPrefix(COMPARISON_WORDS, first, second);
}

/** Returns the position after the bracket that ends a group; -1 if there is none. */
function endOfGroup(input: NormalizedText, start: number): number {
  for (let index = start; index - start <= MAX_GROUP; index++) {
    const code = unitAt(input, index);
    if (code === CLOSE_PAREN || code === CLOSE_BRACKET) return index + 1;
    if (code === NEWLINE) return -1;
  }
  return -1;
}
