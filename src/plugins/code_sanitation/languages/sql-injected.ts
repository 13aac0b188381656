// SQL that is put into a query: what leaves a string or a number, is always true, or cuts off the rest.
import {
  any,
  blanks,
  blanksBack,
  digits,
  end,
  identifier,
  lit,
  NO_MATCH,
  not,
  oneOf,
  peek,
  quote,
  run,
  seq,
  times,
  wordBack,
  type Before,
  words,
} from "../grammar.ts";
import { BLANK, DIGIT, isOf, QUOTE, WORD } from "../char-classes.ts";
import { edge } from "../edge.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { unitAt } from "../view.ts";
import {
  behindQuoteOrNumber,
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
  apart,
  behindNumber,
  literal,
  operand,
  plainComparison,
  space,
  spaced,
  NOT_LETTER,
} from "./sql-grammar.ts";

/** `'1'='`: a short string before the operator. */
const shortString: Before = (view, at) => {
  let index = at - 1;
  while (at - index < 14 && isOf(unitAt(view, index), WORD)) index--;
  return unitAt(view, index) === 0x27 ? index : NO_MATCH;
};
/** `and name =`, `or x like`: a condition that ends in an open string. */
const conditionBack: Before = (view, at) => {
  const position = blanksBack(view, at);
  let start = position;
  while (position - start < 24 && isOf(unitAt(view, start - 1), WORD)) start--;
  if (start === position || !"( \n".includes(String.fromCharCode(unitAt(view, start - 1) || 0x21)))
    return NO_MATCH;
  let before = blanksBack(view, start);
  if (unitAt(view, before - 1) === 0x28) before = blanksBack(view, before - 1);
  return ["or", "and", "where", "xor"].includes(wordBack(view, before)) ? start : NO_MATCH;
};
/** A second closing parenthesis stands before this one. */
const closedTwice: Before = (view, at) => (unitAt(view, blanksBack(view, at) - 1) === 0x29 ? at : NO_MATCH);

export const SQL_INJECTED: readonly Pattern[] = [
  pattern("sql.tautology", ["or", "and", "xor", "||", "&&"], {
    prev: NOT_LETTER,
    next: NOT_LETTER,
    after: seq(space, tautology),
  }),
  pattern("sql.having", ["having"], {
    prev: NOT_LETTER,
    after: seq(spaced, operand, space, plainComparison, space, operand),
  }),
  pattern("sql.quote-breakout", ["'", '"', "`"], {
    next: edge(BLANK, ")+|&oaxhwlrgibnOAXHWLRGIBN"),
    after: joinedCondition,
    before: unpairedQuote,
  }),
  pattern("sql.string-operator", ["'"], {
    next: edge(BLANK, "=<>!|&^*/%+-"),
    before: strayQuote,
    after: operatorChain,
  }),
  pattern(
    "sql.string-equals",
    ["'='", "' = '", "'<'", "'>'", "' like '", "' regexp '", "' not regexp '", "' rlike '"],
    { before: shortString, after: any(seq(run(WORD, 0, 16), any(end, peek(oneOf("'"))))) },
  ),
  pattern("sql.open-string", ["=", "like"], {
    prev: edge(BLANK | WORD),
    next: edge(BLANK | QUOTE),
    before: conditionBack,
    after: seq(blanks, quote, end),
  }),
  pattern("sql.exclusive-or", ["xor"], {
    prev: NOT_LETTER,
    after: seq(space, literal, space, oneOf("<>=-+!")),
  }),
  pattern("sql.open-call", OPEN_CALLS, {
    prev: NOT_LETTER,
    next: edge(BLANK, "("),
    after: seq(blanks, lit("("), (view, at) => (at >= view.length ? at : NO_MATCH)),
  }),
  pattern("sql.numeric-if", ["if("], {
    prev: NOT_LETTER,
    after: seq(space, digits, space, lit("="), not(lit("="))),
  }),
  pattern("sql.closed-and-cut", [")--", ") --"], { before: closedTwice, after: lineEnd }),
  pattern(
    "sql.quoted-operator",
    ["'or'", "'and'", "'xor'", "'||'", '"or"', '"and"', '"||"', "`or`", "'or ", "'and ", "'like'"],
    { before: strayQuote, after: any(peek(seq(times(0, 3, oneOf("'\"(")), digits)), peek(identifier)) },
  ),
  pattern(
    "sql.number-breakout",
    words(`
    or and xor || && having rlike like regexp
  `),
    {
      prev: edge(BLANK | DIGIT, ")+"),
      next: NOT_LETTER,
      guard: behindNumber,
      before: behindNumber,
      after: seq(space, numberCondition),
    },
  ),
  pattern("sql.order-by-number", ["order", "group"], {
    before: behindQuoteOrNumber,
    after: seq(
      spaced,
      lit("by"),
      apart,
      any(
        seq(digits, any(seq(space, oneOf(",#-/;)")), end)),
        seq(oneOf("(@"), space),
        seq(identifier, space, any(lit("--"), lit("#"), lit("/*"), lit("having"))),
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
