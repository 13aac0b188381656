// SQL that is put into a query: what leaves a string or a number, is always true, or cuts off the rest.
import { DIGIT, isInClass, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet } from "../char-set.ts";
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
  strayQuote,
  tautology,
  unpairedQuote,
} from "./sql-breakout.ts";
import { OPEN_CALLS } from "./sql-names.ts";
import {
  sqlSeparator,
  afterNumber,
  literal,
  operand,
  plainComparison,
  sqlOws,
  sqlRws,
  NOT_LETTER,
} from "./sql-grammar.ts";

/** `'1'='`: a short string before the operator. */
const shortString: LookBehind = (input, at) => {
  let index = at - 1;
  while (at - index < 14 && isInClass(unitAt(input, index), WORD)) index--;
  return unitAt(input, index) === 0x27 ? index : NO_MATCH;
};
/** `and name =`, `or x like`: a condition that ends in an open string. */
const conditionBack: LookBehind = (input, at) => {
  const position = skipWhitespaceBack(input, at);
  let start = position;
  while (position - start < 24 && isInClass(unitAt(input, start - 1), WORD)) start--;
  if (start === position || !"( \n".includes(String.fromCharCode(unitAt(input, start - 1) || 0x21)))
    return NO_MATCH;
  let before = skipWhitespaceBack(input, start);
  if (unitAt(input, before - 1) === 0x28) before = skipWhitespaceBack(input, before - 1);
  return ["or", "and", "where", "xor"].includes(wordBefore(input, before)) ? start : NO_MATCH;
};
/** A second closing parenthesis stands before this one. */
const closedTwice: LookBehind = (input, at) =>
  unitAt(input, skipWhitespaceBack(input, at) - 1) === 0x29 ? at : NO_MATCH;

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
    before: strayQuote,
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
    before: conditionBack,
    after: seq(ows, quote, end),
  }),
  pattern("sql.exclusive-or", ["xor"], {
    precededBy: NOT_LETTER,
    after: seq(sqlOws, literal, sqlOws, oneOf("<>=-+!")),
  }),
  pattern("sql.open-call", OPEN_CALLS, {
    precededBy: NOT_LETTER,
    followedBy: charSet(WHITESPACE, "("),
    after: seq(ows, lit("("), (input, at) => (at >= input.length ? at : NO_MATCH)),
  }),
  pattern("sql.numeric-if", ["if("], {
    precededBy: NOT_LETTER,
    after: seq(sqlOws, digits, sqlOws, lit("="), not(lit("="))),
  }),
  pattern("sql.closed-and-cut", [")--", ") --"], { before: closedTwice, after: lineEnd }),
  pattern(
    "sql.quoted-operator",
    ["'or'", "'and'", "'xor'", "'||'", '"or"', '"and"', '"||"', "`or`", "'or ", "'and ", "'like'"],
    { before: strayQuote, after: choice(peek(seq(times(0, 3, oneOf("'\"(")), digits)), peek(identifier)) },
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
      before: strayQuote,
      after: lineEnd,
    },
  ),
];
