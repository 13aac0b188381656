// Conditions in injected SQL: `' and sleep(5)`, `1 or x is null --`. Ordinary programs have conditions too. Which forms
// count depends on what precedes the operator: a quote that closes no string, a number, or nothing. Those that count after anything have a constant
// result (sql-tautology.ts).
import { isInClass, NEWLINE, WHITESPACE, WORD } from "../char-classes.ts";
import { CARET, PERCENT } from "../char-codes.ts";
import { charSet } from "../char-set.ts";
import { charTable } from "../combinators.ts";
import { NO_MATCH, withSeparatedPrefixes, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { prefixesOf, prefixesStartingWith, unionOfPrefixes } from "../prefix-set.ts";
import {
  endOfWordComparison,
  isAtEnd,
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
} from "./sql-tokens.ts";

/** Length of the rest of a text after its last quote: `' or 'a`. */
const MAX_REST = 16;

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
