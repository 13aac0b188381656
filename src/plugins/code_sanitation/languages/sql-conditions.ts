// Conditions in injected SQL: `or 1=1`, `' and sleep(5)`, `1 or x is null --`. Ordinary programs have conditions too. Which forms
// count depends on what precedes the operator: nothing special, a quote that closes no string, or a number.
import { DIGIT, isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { CARET, DASH, EQUALS, HASH, PERCENT } from "../char-codes.ts";
import { charSet } from "../char-set.ts";
import { charTable, seq } from "../combinators.ts";
import { NO_MATCH, withFirstSetOf, withPrefixes, withSeparatedPrefixes, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { prefixesOf, prefixesStartingWith, unionOfPrefixes } from "../prefix-set.ts";
import { stepsToRead } from "../work-budget.ts";
import { sqlOws } from "./sql-grammar.ts";
import {
  endOfVariableComparison,
  endOfWordComparison,
  isCut,
  isSelect,
  isSymbol,
  isValueOrQuery,
  MAX_TOKENS,
  operand,
  skipNot,
  startsCondition,
} from "./sql-operand.ts";
import {
  ARITHMETIC,
  ARITHMETIC_WORDS,
  CLAUSE,
  CLOSE,
  COMMENT,
  COMPARISON,
  COMPARISON_WORDS,
  CONSTANT,
  END,
  LOGICAL,
  LOGICAL_WORDS,
  NAME,
  NUMBER,
  OPEN,
  OPEN_QUOTE,
  PREFIX,
  SEMICOLON,
  STRING,
  token,
  VARIABLE,
  VARIABLE_WORDS,
  endOfString,
} from "./sql-tokens.ts";

/** Length of the rest of a text after its last quote: `' or 'a`. */
const MAX_REST = 16;
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
    while (end - at < MAX_REST && isInClass(unitAt(input, end), DIGIT)) end++;
    if (end === at) return true;
  }
  if (unitAt(input, end) === SPACE) end++;
  return AFTER_VALUE[unitAt(input, end)] === 1;
}

const separatedCondition = seq(sqlOws, constantCondition);
/** A condition that is constant, after optional whitespace or a comment. */
export const tautology: Matcher = withFirstSetOf(separatedCondition, false, (input, at) => {
  const first = unitAt(input, at);
  const start = first === DASH || first === HASH ? endOfLineComment(input, at) : at;
  if (start < 0) return NO_MATCH;
  const isSpace = isInClass(unitAt(input, start), WHITESPACE);
  return canContinue(input, isSpace ? start + 1 : start) ? constantCondition(input, start) : NO_MATCH;
});

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

function isAtEnd(input: NormalizedText): boolean {
  return token.kind === END || isCut(input) || (token.kind & (OPEN_QUOTE | SEMICOLON)) !== 0;
}

function isSqlAfterNumbers(input: NormalizedText): boolean {
  return isCut(input) || (token.kind & (STRING | OPEN_QUOTE | LOGICAL | CLAUSE)) !== 0;
}

/** A condition after a quote that closes no string: almost any condition counts. */
const conditionAfterQuote: Matcher = (input, at) => {
  operand.read(input, at);
  if (operand.isQuery) return operand.end;
  const { kinds, hasValue, end } = operand;
  if (!hasValue) return endOfIncompleteCondition(input);
  const isName = (kinds & NAME) !== 0;
  if (!isName && (kinds & (OPEN | ARITHMETIC)) !== 0) return end;
  const hasNot = token.kind === PREFIX;
  skipNot(input);
  if (token.kind === COMPARISON) return isSymbol(input) ? token.end : endOfWordComparison(input, true);
  if (hasNot) return NO_MATCH;
  if (isCut(input) || (token.kind === COMMENT && (kinds & (NAME | NUMBER)) === 0)) return token.end;
  if (token.kind === SEMICOLON) return isName && !isFollowedByCut(input) ? NO_MATCH : end;
  if (token.kind === OPEN_QUOTE)
    return isShortRest(input, token.end) && (kinds & ARITHMETIC) !== 0 ? end : NO_MATCH;
  if (isName) return (kinds & OPEN) !== 0 && token.kind === LOGICAL && isSymbol(input) ? end : NO_MATCH;
  return (token.kind & (END | LOGICAL | CLAUSE)) !== 0 ? end : NO_MATCH;
};

/** `' or '`, `' or 'a` at the end of the text, `' or isnull(`, `' or (like`, `' or (exists)`. */
function endOfIncompleteCondition(input: NormalizedText): number {
  if (token.kind === OPEN_QUOTE) return isShortRest(input, token.end) ? input.length : NO_MATCH;
  if (operand.kinds === (OPEN | PREFIX) && token.kind === CLOSE) return token.end;
  if (token.kind !== COMPARISON || isSymbol(input)) return NO_MATCH;
  return (operand.kinds & OPEN) !== 0 || token.next(input) === OPEN ? token.end : NO_MATCH;
}

function isFollowedByCut(input: NormalizedText): boolean {
  token.next(input);
  return isCut(input);
}

/** Returns whether the text ends after one short word: the query that it is inserted into closes the string. */
function isShortRest(input: NormalizedText, at: number): boolean {
  if (input.length - at > MAX_REST) return false;
  for (let index = at; index < input.length; index++) {
    const code = unitAt(input, index);
    if (
      !isInClass(code, WORD) &&
      code !== PERCENT &&
      code !== CARET &&
      (!isInClass(code, WHITESPACE) || index + 1 < input.length)
    )
      return false;
  }
  return true;
}

/** A condition after a number that a field starts with. */
export const conditionAfterNumber: Matcher = (input, at) => {
  const isNegated = token.read(input, at) === PREFIX;
  operand.read(input, at);
  if (operand.isQuery) return operand.end;
  if (!operand.hasValue) return token.kind === CLAUSE && isSelect(input) ? token.end : NO_MATCH;
  const { kinds, end } = operand;
  if (isCut(input)) return token.end;
  if ((kinds & NAME) === 0) {
    if (token.kind === COMPARISON && (kinds & VARIABLE) !== 0) return token.end;
    const isUnusual = isNegated || (kinds & (CONSTANT | VARIABLE | OPEN)) !== 0;
    return (isUnusual && (token.kind & (END | SEMICOLON | LOGICAL)) !== 0) || token.kind === CLAUSE
      ? end
      : NO_MATCH;
  }
  skipNot(input);
  if (token.kind !== COMPARISON) return NO_MATCH;
  if (!isSymbol(input)) return endOfWordComparison(input);
  operand.read(input, token.end);
  return isValueOrQuery() && isAtEnd(input) ? operand.end : NO_MATCH;
};

/** A condition that a field consists of: `or x=y`, `|| (x!=`, `and true --`. */
export const wholeCondition: Matcher = (input, at) => {
  operand.read(input, at);
  if (operand.isQuery) return operand.end;
  if (!operand.hasValue) return endOfIncompleteCondition(input);
  if (isCut(input)) return token.end;
  skipNot(input);
  if (token.kind !== COMPARISON) return NO_MATCH;
  if (!isSymbol(input)) return endOfWordComparison(input, true);
  operand.read(input, token.end);
  return operand.isQuery || isAtEnd(input) ? operand.end : NO_MATCH;
};

const CHAIN =
  ARITHMETIC | COMPARISON | NUMBER | OPEN | CLOSE | VARIABLE | CONSTANT | PREFIX | LOGICAL | STRING | NAME;

/** What an operator starts with, and the whitespace before it. */
const OPERATOR_START = unionOfPrefixes(
  prefixesStartingWith(charSet(WHITESPACE, "=<>+-*/%^~!&|:")),
  prefixesOf([...COMPARISON_WORDS, ...ARITHMETIC_WORDS]),
);

/** After a quote that closes no string: operators with simple operands, up to a comment or a last quote. `x'-email--`, `aa'='aa`. */
export const operatorChain: Matcher = withSeparatedPrefixes(OPERATOR_START, (input, at) => {
  token.read(input, at);
  if ((token.kind & (ARITHMETIC | COMPARISON)) === 0 && !(token.kind === LOGICAL && isSymbol(input)))
    return NO_MATCH;
  let kinds = 0;
  let before = 0;
  for (let count = 0; count < MAX_TOKENS && (token.kind & CHAIN) !== 0; count++) {
    if ((token.kind & kinds & STRING) !== 0 || unitAt(input, token.start - 1) === NEWLINE) return NO_MATCH;
    // Two words or values without an operator are prose.
    if ((token.kind & (NAME | STRING)) !== 0 && (before & (NAME | NUMBER | CONSTANT)) !== 0) return NO_MATCH;
    before = token.kind;
    kinds |= before;
    token.next(input);
  }
  if (unitAt(input, token.start - 1) === NEWLINE) return NO_MATCH;
  if (token.kind === OPEN_QUOTE) return isShortRest(input, token.end) ? input.length : NO_MATCH;
  if (token.kind === END) return before === STRING && (kinds & COMPARISON) !== 0 ? token.end : NO_MATCH;
  const isCutOff =
    isCut(input) || (token.kind === SEMICOLON && (kinds & COMPARISON) !== 0 && token.next(input) === END);
  return isCutOff ? token.end : NO_MATCH;
});

/** A call of a function that reveals data or delays the query, and nothing before it. */
export const revealingCall: Matcher = (input, at) => {
  operand.read(input, at);
  return operand.isQuery ? operand.end : NO_MATCH;
};

const GAP = charTable(") \n+");
const MAX_GAP = 8;

/** What a joined condition starts with, and the gap before it. */
const JOIN_START = unionOfPrefixes(
  prefixesStartingWith(charSet(WHITESPACE, ")+")),
  prefixesOf([...LOGICAL_WORDS, "||", "&&", "having", "where"]),
);

/** What follows a quote that ends a string: closing parentheses, an operator that joins conditions, and a condition. */
export const joinedCondition: Matcher = withSeparatedPrefixes(JOIN_START, (input, at) => {
  let start = at;
  while (start - at < MAX_GAP && GAP[unitAt(input, start)] === 1) start++;
  const kind = token.read(input, start);
  if (kind !== LOGICAL && !(kind === CLAUSE && startsCondition(input))) return NO_MATCH;
  return conditionAfterQuote(input, token.end);
});
