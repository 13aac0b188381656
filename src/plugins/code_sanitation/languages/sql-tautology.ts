// Conditions with a constant result, which injected SQL has and ordinary programs do not: `or 1=1`, `and 'a'='a`, `xor 2 > (select …)`.
import { DIGIT, isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE } from "../char-classes.ts";
import { DASH, EQUALS, HASH } from "../char-codes.ts";
import { charSet } from "../char-set.ts";
import { charTable, seq } from "../combinators.ts";
import { NO_MATCH, searching, withFirstSetOf, withPrefixes, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { prefixesOf, prefixesStartingWith, unionOfPrefixes } from "../prefix-set.ts";
import { CONSTANT_OPERAND } from "../search-after.ts";
import { stepsToRead } from "../work-budget.ts";
import { sqlOws } from "./sql-grammar.ts";
import {
  endOfVariableComparison,
  endOfWordComparison,
  isAtEnd,
  isCut,
  isSymbol,
  isValueOrQuery,
  operand,
  skipNot,
} from "./sql-operand.ts";
import {
  ARITHMETIC,
  CLAUSE,
  COMPARISON,
  END,
  endOfString,
  LOGICAL,
  NAME,
  NUMBER,
  OPEN,
  OPEN_QUOTE,
  STRING,
  token,
  VARIABLE,
  VARIABLE_WORDS,
} from "./sql-tokens.ts";

/** The digits of a number that are read before its tokens. */
const MAX_DIGITS = 16;
const MAX_COMMENT = 20;

/**
 * What a tautology starts with. Names have one letter (`x=x`): prose has a word after almost every `and`, and reading it takes
 * time.
 */
const TAUTOLOGY_START = unionOfPrefixes(
  prefixesStartingWith(charSet(DIGIT | QUOTE, ".+-~!(@\\")),
  prefixesOf(["not", "null", "binary", "true", "false", "exists", ...VARIABLE_WORDS]),
  prefixesOf(Array.from("abcdefghijklmnopqrstuvwxyz").flatMap((letter) => [`${letter}=`, `${letter} `])),
);

/** `1=1`, `'a'='a`, `2 > (select …)`, `1 = version()`, `x=x`: a condition whose left side is a constant, or whose sides are equal. */
const constantCondition: Matcher = withPrefixes(TAUTOLOGY_START, (input, at) => {
  operand.read(input, at);
  if (operand.isQuery) return (operand.kinds & NAME) === 0 ? operand.end : NO_MATCH;
  if (!operand.hasValue) return NO_MATCH;
  const { kinds, start, end, nameStart } = operand;
  skipNot(input);
  if (token.kind !== COMPARISON) return NO_MATCH;
  if (kinds === VARIABLE && isInClass(unitAt(input, start), LETTER))
    return endOfVariableComparison(input, start);
  // `and "x" is null` is prose: strings are compared with other strings.
  if (!isSymbol(input)) {
    const isIs = (unitAt(input, token.start) | 0x20) === 0x69;
    return (kinds & (isIs ? NAME | STRING : NAME)) === 0 ? endOfWordComparison(input) : NO_MATCH;
  }
  const hasSpace = token.start > end;
  const isEquals = unitAt(input, token.start) === EQUALS && token.end - token.start === 1;
  operand.read(input, token.end);
  if ((kinds & NAME) !== 0) {
    const isTrue =
      (kinds | OPEN) === (NAME | OPEN) && isEquals && isSame(input, nameStart, end) && isAtEnd(input);
    return isTrue ? operand.end : NO_MATCH;
  }
  if (!operand.hasValue && !operand.isQuery) return endOfOpenOperand();
  if (!isValueOrQuery()) return NO_MATCH;
  // `[@name='x']` is XPath.
  if (kinds === VARIABLE && isEquals && operand.kinds === STRING) return NO_MATCH;
  if (!hasSpace || (kinds | operand.kinds | NUMBER | ARITHMETIC) !== (NUMBER | ARITHMETIC))
    return operand.end;
  // `and 2 > 1`: prose, unless the numbers are equal or more SQL follows.
  return isSame(input, start, end) || isSqlAfterNumbers(input) ? operand.end : NO_MATCH;
});

/** What may follow a value in a condition, by its first unit: operators, another string, and words such as `like`. */
const AFTER_VALUE = charTable("=<>!^*/+-%|&).:~'\"xelrgsbindmc\0 \n");

/** Rejects `or 1 or`, `and 2 cats`, `and a cat`, `or 'x' or` before any token is read. Returns true if it does not know. */
function canContinue(input: NormalizedText, at: number): boolean {
  let end = at;
  const first = unitAt(input, at);
  input.work.steps++;
  // A name is only compared with itself.
  if (isInClass(first, LETTER) && unitAt(input, at + 1) === SPACE)
    return !isInClass(unitAt(input, at + 2), LETTER);
  if (isInClass(first, QUOTE)) {
    end = endOfString(input, at, first);
    if (end < 0) return false;
  } else {
    while (end - at < MAX_DIGITS && isInClass(unitAt(input, end), DIGIT)) end++;
    if (end === at) return true;
  }
  if (unitAt(input, end) === SPACE) end++;
  return AFTER_VALUE[unitAt(input, end)] === 1;
}

const separatedCondition = seq(sqlOws, constantCondition);
/** A condition that is constant, after optional whitespace or a comment. */
export const tautology: Matcher = searching(
  CONSTANT_OPERAND,
  withFirstSetOf(separatedCondition, false, (input, at) => {
    const first = unitAt(input, at);
    const start = first === DASH || first === HASH ? endOfLineComment(input, at) : at;
    if (start < 0) return NO_MATCH;
    const isSpace = isInClass(unitAt(input, start), WHITESPACE);
    return canContinue(input, isSpace ? start + 1 : start) ? constantCondition(input, start) : NO_MATCH;
  }),
);

/** Returns the end of the line of a comment of a few random letters, as attack tools write it; NO_MATCH if the line is longer. */
function endOfLineComment(input: NormalizedText, at: number): number {
  let end = at;
  while (end - at < MAX_COMMENT && end < input.length && unitAt(input, end) !== NEWLINE) end++;
  input.work.steps += stepsToRead(end - at);
  return unitAt(input, end) === NEWLINE ? end : NO_MATCH;
}

/** `= '` and `= (` at the end of the text. */
function endOfOpenOperand(): number {
  if (token.kind === OPEN_QUOTE) return token.end;
  return (operand.kinds & OPEN) !== 0 && token.kind === END ? token.end : NO_MATCH;
}

/** Returns whether the last operand is the same text as the one from `start` up to `end`. */
function isSame(input: NormalizedText, start: number, end: number): boolean {
  if (operand.end - operand.start !== end - start) return false;
  for (let index = 0; index < end - start; index++)
    if (unitAt(input, operand.start + index) !== unitAt(input, start + index)) return false;
  return true;
}

function isSqlAfterNumbers(input: NormalizedText): boolean {
  return isCut(input) || (token.kind & (STRING | OPEN_QUOTE | LOGICAL | CLAUSE)) !== 0;
}
