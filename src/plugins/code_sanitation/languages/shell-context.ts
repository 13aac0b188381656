// What precedes a command or a path: conditions that distinguish an injected command from prose, tables and programs.
import { DIGIT, isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import {
  AMPERSAND,
  BACKTICK,
  DOLLAR,
  DOT,
  EQUALS,
  HASH,
  OPEN_BRACE,
  OPEN_PAREN,
  PIPE,
  SEMICOLON,
} from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas } from "../char-set.ts";
import { endOfWord, isTextAt, lowerCaseText, splitWords } from "../keyword-set.ts";
import { nearTextStart, skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { COMMANDS, COMPARED_TOOLS, PLAIN_COMMANDS } from "./shell-commands.ts";
import { stepsOfLoop } from "./shell-grammar.ts";
import { commandOf } from "./shell-names.ts";

/** Units that may precede a command: not the inside of a word, a path or an option. */
export const BEFORE_COMMAND = charSetExcept(WORD, "-./$");
/** Units that may precede an absolute path: not the inside of a URL or of a relative path. */
export const BEFORE_PATH = charSetExcept(WORD, "./:#!}*");

const LINE_LENGTH = 100;
const CELL_LENGTH = 40;

/** Returns a look-behind that matches if all of the look-behinds match. */
export function allOf(...conditions: readonly LookBehind[]): LookBehind {
  return (input, at) => (conditions.every((condition) => condition(input, at) !== NO_MATCH) ? at : NO_MATCH);
}

const FIELD_PUNCTUATION = charSet(QUOTE | WHITESPACE, ")]};|&$*\\");
export const MAX_PREFIX = 4;
/** Matches at the start of the text, after at most four quotes, brackets and separators that end what precedes an injection. */
export const atTextStart: LookBehind = nearTextStart(MAX_PREFIX, (input, at) => {
  let start = at;
  while (start > 0 && charSetHas(FIELD_PUNCTUATION, unitAt(input, start - 1))) start--;
  input.work.steps += at - start + 1;
  return start === 0 ? 0 : NO_MATCH;
});

const VALUE_LENGTH = 24;
const VALUE_PUNCTUATION = charSet(0, ".=@");
/** Returns whether punctuation inside a value is at this position, as in `example.com` or `name=x`. */
function isPartOfValue(input: NormalizedText, at: number): boolean {
  return charSetHas(VALUE_PUNCTUATION, unitAt(input, at)) && isInClass(unitAt(input, at + 1), WORD);
}
/** Matches after a value at the start of the text: nothing, punctuation, a number, an address or a pair (`name=x`). */
export const afterFieldValue: LookBehind = nearTextStart(VALUE_LENGTH, (input, at) => {
  // A script starts with `#!`.
  if (unitAt(input, 0) === HASH) return NO_MATCH;
  let isWord = false;
  for (let index = 0; index < at; index++) {
    const code = unitAt(input, index);
    if (isInClass(code, WHITESPACE)) return NO_MATCH;
    if (isInClass(code, LETTER)) isWord = true;
    else if (isInClass(code, WORD) || isPartOfValue(input, index)) return at;
  }
  input.work.steps += stepsOfLoop(at);
  return isWord ? NO_MATCH : at;
});

/** Matches unless the `;` ends an HTML entity: `&#59;`, `&amp;`. */
export const notInEntity: LookBehind = (input, at) => {
  if (unitAt(input, at) !== SEMICOLON) return at;
  let index = at - 1;
  while (at - index < 8 && isInClass(unitAt(input, index), WORD)) index--;
  input.work.steps += 2;
  const isEntity =
    unitAt(input, index) === AMPERSAND ||
    (unitAt(input, index) === HASH && unitAt(input, index - 1) === AMPERSAND);
  return isEntity ? NO_MATCH : at;
};

/** Matches unless `|` separates the cells of a Markdown table: spaces on both sides and another `|` on the same line. */
export const notInTable: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) !== SPACE && at > 0 && unitAt(input, at - 1) !== NEWLINE) return at;
  if (unitAt(input, at + 1) !== SPACE) return at;
  let index = at + 2;
  while (index < at + CELL_LENGTH && !isEndOfCell(input, index)) index++;
  input.work.steps += stepsOfLoop(index - at);
  return unitAt(input, index) === PIPE && isTableRow(input, at) ? NO_MATCH : at;
};

function isEndOfCell(input: NormalizedText, at: number): boolean {
  const code = unitAt(input, at);
  if (code === 0 || code === NEWLINE) return true;
  return code === PIPE && unitAt(input, at + 1) !== PIPE && unitAt(input, at - 1) === SPACE;
}

const AFTER_LISTED_TOOL = charSet(0, "|&,;.\0");
const comparedTool = commandOf(COMPARED_TOOLS);
/** Matches unless `&` or `|` is between two words of a list, and the second one is the name of a tool: "PHP & Perl". */
export const notListOfTools: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) !== SPACE || !isInClass(unitAt(input, at - 2), LETTER)) return at;
  const end = unitAt(input, at + 1) === SPACE ? comparedTool(input, at + 2) : NO_MATCH;
  if (end < 0) return at;
  const next = unitAt(input, isInClass(unitAt(input, end), WHITESPACE) ? end + 1 : end);
  return charSetHas(AFTER_LISTED_TOOL, next) ? NO_MATCH : at;
};

const BEFORE_ALTERNATIVE = charSet(0, "|(");
/** Matches unless `|` separates the alternatives of a regular expression: `(start|kill|stop)`. */
export const notAlternation: LookBehind = (input, at) => {
  const word = wordBefore(input, at);
  return word !== "" && charSetHas(BEFORE_ALTERNATIVE, unitAt(input, at - word.length - 1)) ? NO_MATCH : at;
};

/** Matches unless `|` precedes, as in a cell of a table. */
export const notAfterPipe: LookBehind = (input, at) =>
  unitAt(input, skipWhitespaceBack(input, at) - 1) === PIPE ? NO_MATCH : at;

/** Returns whether the line starts with `|`, as a table row does. */
function isTableRow(input: NormalizedText, at: number): boolean {
  if (at === 0 || unitAt(input, at - 1) === NEWLINE) return true;
  let start = at;
  while (at - start < LINE_LENGTH && start > 0 && unitAt(input, start - 1) !== NEWLINE) start--;
  input.work.steps += stepsOfLoop(at - start);
  return unitAt(input, start) === PIPE;
}

const EXAMPLE_LENGTH = 80;
const AFTER_EXAMPLE = charSet(WHITESPACE, ".,?!):;\0");
const BEFORE_EXAMPLE = charSet(WORD, ":,");
/** Matches unless the position is inside a quoted example: a quotation that a word precedes and that is closed. */
export const notQuotedExample: LookBehind = (input, at) => {
  let open = at - 1;
  while (at - open < EXAMPLE_LENGTH && !isQuoteOrNewline(unitAt(input, open))) open--;
  input.work.steps += stepsOfLoop(at - open);
  const quote = unitAt(input, open);
  if (!isInClass(quote, QUOTE) || !isInClass(unitAt(input, open - 1), WHITESPACE)) return at;
  const wordEnd = open - 1;
  if (!charSetHas(BEFORE_EXAMPLE, unitAt(input, wordEnd - 1))) return at;
  if (COMMANDS.has(wordBefore(input, wordEnd))) return at;
  if (at > open + 1 && skipWhitespaceBack(input, at) <= open + 1) return at;
  let close = at + 1;
  while (close - at < EXAMPLE_LENGTH && close < input.length && unitAt(input, close) !== quote) close++;
  input.work.steps += stepsOfLoop(close - at);
  const isClosed = unitAt(input, close) === quote && charSetHas(AFTER_EXAMPLE, unitAt(input, close + 1));
  return isClosed ? NO_MATCH : at;
};

function isQuoteOrNewline(code: number): boolean {
  return code === 0 || code === NEWLINE || isInClass(code, QUOTE);
}

/** Names that are also nouns or verbs: "in the file /usr/share/…" is a sentence. */
const commandNameInProse = commandOf(
  splitWords(`
    file find sort more less head tail type install copy touch paste diff mount strings source cut dir del move md rd
  `),
);
/** Matches unless a word precedes and the command name is also a noun or verb. */
export const notInSentence: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WHITESPACE) &&
  isInClass(unitAt(input, at - 2), LETTER) &&
  commandNameInProse(input, at) >= 0
    ? NO_MATCH
    : at;

const PATH_IN_CODE = charSet(0, "=+<>|;&,@{}/\\\0");
/**
 * Matches if a path is an argument or a value rather than mentioned in a sentence: at the start of the text, after an operator,
 * after `../`, after a quote or a parenthesis in code, or after a command or an option.
 */
export const pathAsArgument: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  if (charSetHas(PATH_IN_CODE, before)) return at;
  const outside = unitAt(input, at - 2);
  if (before === DOT) return outside === DOT ? at : NO_MATCH;
  if (isInClass(before, WORD))
    return unitAt(input, at - 1 - wordBefore(input, at).length) === DOLLAR ? at : NO_MATCH;
  if (isInClass(before, WHITESPACE)) return isArgumentAt(input, at) ? at : NO_MATCH;
  const isOpening = before === OPEN_PAREN || (isInClass(before, QUOTE) && before !== BACKTICK);
  return isOpening && !isInClass(outside, WHITESPACE) ? at : NO_MATCH;
};

/** Before a word: `-` starts an option, and a backslash is an escape inside a command name (`ca\t`). */
const BEFORE_ARGUMENT = charSet(0, "-\\");
const PREPOSITIONS = new Set(
  splitWords(
    `the a an and or in on of to for from with by at into through over against using like reads this file`,
  ),
);
/** Returns whether a command, an option, or a command and its first argument precede: `-f /x`, `grep root /x`. */
function isArgumentAt(input: NormalizedText, at: number): boolean {
  const wordEnd = skipWhitespaceBack(input, at);
  const word = wordBefore(input, wordEnd);
  const wordStart = wordEnd - word.length;
  if (charSetHas(BEFORE_ARGUMENT, unitAt(input, wordStart - 1)) || PLAIN_COMMANDS.has(word)) return true;
  if (PREPOSITIONS.has(word)) return false;
  return PLAIN_COMMANDS.has(wordBefore(input, skipWhitespaceBack(input, wordStart)));
}

/** Matches directly after a command name. */
export const afterCommand: LookBehind = (input, at) => {
  const word = wordBefore(input, at);
  const start = at - word.length;
  return COMMANDS.has(word) && charSetHas(BEFORE_COMMAND, unitAt(input, start - 1)) ? start : NO_MATCH;
};

/** Matches at the start of an absolute path; `/bin/` may be preceded by `/usr` or `/usr/local`. */
const programPath: LookBehind = (input, at) => {
  let start = at;
  for (const parent of ["/local", "/usr"])
    if (isTextAt(input, start - parent.length, parent)) start -= parent.length;
  return charSetHas(BEFORE_PATH, unitAt(input, start - 1)) ? start : NO_MATCH;
};

const SCHEDULE = charSet(DIGIT, "*/,- ");
/** The same, unless a key of a service file (`ExecStart=`) or the five times of a crontab precede the program. */
export const unscheduledProgram: LookBehind = (input, at) => {
  const start = programPath(input, at);
  if (start < 0) return NO_MATCH;
  if (unitAt(input, start - 1) === EQUALS) {
    const key = wordBefore(input, start - 1);
    return key.startsWith("exec") && unitAt(input, start - 2 - key.length) === NEWLINE ? NO_MATCH : start;
  }
  let index = start - 1;
  let fields = 0;
  while (start - index < CELL_LENGTH && charSetHas(SCHEDULE, unitAt(input, index)))
    if (unitAt(input, index--) === SPACE) fields++;
  input.work.steps += stepsOfLoop(start - index);
  // `*/5` also counts as the end of a comment, which is replaced by a space.
  return fields >= 5 && (index < 0 || unitAt(input, index) === NEWLINE) ? NO_MATCH : start;
};

const SCRIPT_KEYWORDS = new Set(
  splitWords(`for if while until case echo printf export local return then do else`),
);
/** Matches unless the position is on a later line of a text, and the line is an assignment or a statement of a script. */
export const notInScript: LookBehind = (input, at) => {
  let start = at;
  while (at - start < LINE_LENGTH && start > 0 && unitAt(input, start - 1) !== NEWLINE) start--;
  input.work.steps += stepsOfLoop(at - start);
  if (start <= VALUE_LENGTH || unitAt(input, start - 1) !== NEWLINE) return at;
  const wordEnd = endOfWord(input, start);
  const isStatement =
    unitAt(input, wordEnd) === EQUALS || SCRIPT_KEYWORDS.has(lowerCaseText(input, start, wordEnd));
  return isStatement && wordEnd > start ? NO_MATCH : at;
};

/** Matches directly after a command name at the start of a list in braces. */
export const afterBraceAndCommand: LookBehind = (input, at) => {
  const word = wordBefore(input, at);
  const start = at - word.length - 1;
  return unitAt(input, start) === OPEN_BRACE && COMMANDS.has(word) ? start : NO_MATCH;
};
