// SQL patterns for injection into a query: text that breaks out of a string or number, is always true, or cuts off the rest.
import { DIGIT, isInClass, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN, OPEN_PAREN, SINGLE_QUOTE } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { choice, lit, not, oneOf, peek, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote } from "../tokens.ts";
import {
  afterQuoteOrNumber,
  joinedCondition,
  lineEnd,
  numberCondition,
  operatorChain,
  tautology,
  unpairedQuote,
  unpairedQuoteAfterValue,
} from "./sql-breakout.ts";
import {
  afterNumber,
  literal,
  NOT_LETTER,
  operand,
  plainComparison,
  sqlOws,
  sqlRws,
  sqlSeparator,
} from "./sql-grammar.ts";
import { UNCLOSED_CALLS } from "./sql-names.ts";

/** Matches if a short string precedes the operator: `'1'='`. */
const shortString: LookBehind = (input, at) => {
  let index = at - 1;
  while (at - index < 14 && isInClass(unitAt(input, index), WORD)) index--;
  return unitAt(input, index) === SINGLE_QUOTE ? index : NO_MATCH;
};
const BEFORE_COLUMN = charSet(WHITESPACE, "(");
/** Matches if a condition precedes the operator: `and name =`, `or x like`. */
const inCondition: LookBehind = (input, at) => {
  const position = skipWhitespaceBack(input, at);
  let start = position;
  while (position - start < 24 && isInClass(unitAt(input, start - 1), WORD)) start--;
  if (start === position || !charSetHas(BEFORE_COLUMN, unitAt(input, start - 1))) return NO_MATCH;
  let before = skipWhitespaceBack(input, start);
  if (unitAt(input, before - 1) === OPEN_PAREN) before = skipWhitespaceBack(input, before - 1);
  return ["or", "and", "where", "xor"].includes(wordBefore(input, before)) ? start : NO_MATCH;
};
/** Matches if another closing parenthesis precedes. */
const afterClosingParen: LookBehind = (input, at) =>
  unitAt(input, skipWhitespaceBack(input, at) - 1) === CLOSE_PAREN ? at : NO_MATCH;

export const SQL_INJECTED: readonly Pattern[] = [
  pattern("sql.tautology", ["or", "and", "xor", "||", "&&"], {
    precededBy: NOT_LETTER,
    followedBy: NOT_LETTER,
    after: seq(sqlOws, tautology),
  }),
  pattern("sql.having", ["having"], {
    precededBy: NOT_LETTER,
    after: seq(sqlRws, operand, sqlOws, plainComparison, sqlOws, operand),
  }),
  pattern("sql.quote-breakout", ["'", '"', "`"], {
    followedBy: charSet(WHITESPACE, ")+|&oaxhwlrgibnOAXHWLRGIBN"),
    after: joinedCondition,
    before: unpairedQuote,
  }),
  pattern("sql.string-operator", ["'"], {
    followedBy: charSet(WHITESPACE, "=<>!|&^*/%+-"),
    before: unpairedQuoteAfterValue,
    after: operatorChain,
  }),
  pattern(
    "sql.string-equals",
    ["'='", "' = '", "'<'", "'>'", "' like '", "' regexp '", "' not regexp '", "' rlike '"],
    { before: shortString, after: choice(seq(run(WORD, 0, 16), choice(end, peek(oneOf("'"))))) },
  ),
  pattern("sql.open-string", ["=", "like"], {
    precededBy: charSet(WHITESPACE | WORD),
    followedBy: charSet(WHITESPACE | QUOTE),
    before: inCondition,
    after: seq(ows, quote, end),
  }),
  pattern("sql.exclusive-or", ["xor"], {
    precededBy: NOT_LETTER,
    after: seq(sqlOws, literal, sqlOws, oneOf("<>=-+!")),
  }),
  pattern("sql.open-call", UNCLOSED_CALLS, {
    precededBy: NOT_LETTER,
    followedBy: charSet(WHITESPACE, "("),
    after: seq(ows, lit("("), (input, at) => (at >= input.length ? at : NO_MATCH)),
  }),
  pattern("sql.numeric-if", ["if("], {
    precededBy: NOT_LETTER,
    after: seq(sqlOws, digits, sqlOws, lit("="), not(lit("="))),
  }),
  pattern("sql.closed-and-cut", [")--", ") --"], { before: afterClosingParen, after: lineEnd }),
  pattern(
    "sql.quoted-operator",
    ["'or'", "'and'", "'xor'", "'||'", '"or"', '"and"', '"||"', "`or`", "'or ", "'and ", "'like'"],
    {
      before: unpairedQuoteAfterValue,
      after: choice(peek(seq(times(0, 3, oneOf("'\"(")), digits)), peek(identifier)),
    },
  ),
  pattern(
    "sql.number-breakout",
    splitWords(`
    or and xor || && having rlike like regexp
  `),
    {
      precededBy: charSet(WHITESPACE | DIGIT, ")+"),
      followedBy: NOT_LETTER,
      guard: afterNumber,
      before: afterNumber,
      after: seq(sqlOws, numberCondition),
    },
  ),
  pattern("sql.order-by-number", ["order", "group"], {
    before: afterQuoteOrNumber,
    after: seq(
      sqlRws,
      lit("by"),
      sqlSeparator,
      choice(
        seq(digits, choice(seq(sqlOws, oneOf(",#-/;)")), end)),
        seq(oneOf("(@"), sqlOws),
        seq(identifier, sqlOws, choice(lit("--"), lit("#"), lit("/*"), lit("having"))),
      ),
    ),
  }),
  pattern(
    "sql.comment-cut",
    ["'", '"', "`"].flatMap((mark) => [
      `${mark}--`,
      `${mark} --`,
      `${mark};--`,
      `${mark}; --`,
      `${mark})--`,
      `${mark}) --`,
      `${mark}/*`,
      `${mark}#`,
      `${mark} #`,
    ]),
    {
      before: unpairedQuoteAfterValue,
      after: lineEnd,
    },
  ),
];
