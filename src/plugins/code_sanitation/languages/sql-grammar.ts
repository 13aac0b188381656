// What SQL's patterns are made of: gaps, operands and comparisons as injected text has them.
import { DIGIT, HEX, isInClass, LETTER, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSetExcept } from "../char-set.ts";
import {
  charTable,
  choice,
  except,
  keyword,
  lit,
  not,
  oneOf,
  opt,
  peek,
  run,
  seq,
  skipTo,
  times,
} from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { digits, end, identifier, quoted, whitespaceMatcher, wordBoundary } from "../tokens.ts";

const comment = choice(
  seq(lit("/*"), skipTo(lit("*/"), 80)),
  seq(choice(lit("--"), lit("#")), except("\n", 0, 80), lit("\n")),
);
/** What SQL reads as a blank, or nothing. `+` is a blank of form encoding. */
const gapPart = choice(run(WHITESPACE, 1, 4), comment, lit("+"));
export const sqlOws: Matcher = whitespaceMatcher(times(0, 6, gapPart), "/-#+");
export const sqlRws: Matcher = whitespaceMatcher(times(1, 6, gapPart), "/-#+");
/** A gap between words; an opening parenthesis or quote needs none. */
export const sqlSeparator: Matcher = choice(sqlRws, peek(oneOf("('\"`@[{")));
/** The rest of the statement is cut off. */
export const terminator: Matcher = seq(sqlOws, choice(lit("--"), lit("#"), lit("/*"), lit(";"), end));

const number = choice(
  seq(lit("0x"), run(HEX, 0, 64)),
  seq(digits, opt(seq(lit("."), run(DIGIT, 0, 24))), opt(seq(oneOf("e"), digits))),
  seq(lit("."), digits),
);
export const literal: Matcher = choice(
  number,
  seq(not(lit("`")), quoted(64)),
  seq(lit("@"), run(WORD, 0, 40)),
  keyword(["null", "true", "false"]),
);
/** A literal with the signs, parentheses and casts that tools put before it. */
export const operand: Matcher = seq(
  times(0, 6, choice(oneOf("+-~!("), run(WHITESPACE, 1, 4), seq(keyword(["not", "binary"]), sqlOws))),
  literal,
  opt(seq(lit("::"), run(WORD, 1, 20))),
  times(0, 3, seq(sqlOws, lit(")"))),
);

const COMPARING_WORDS = splitWords(`
  like rlike regexp glob between in is sounds div mod notnull isnull similar ilike collate
`);
export const comparison: Matcher = choice(
  seq(oneOf("=<>!^"), times(0, 2, oneOf("=<>"))),
  seq(opt(seq(lit("not"), sqlOws)), keyword(COMPARING_WORDS)),
);
export const plainComparison: Matcher = choice(
  seq(not(lit("=>")), oneOf("=<>"), times(0, 2, oneOf("=<>"))),
  lit("!="),
  seq(
    opt(seq(lit("not"), sqlOws)),
    keyword(
      splitWords(`
    like rlike regexp glob between in is sounds
  `),
    ),
  ),
);

/** Behind SELECT: the start of a list that prose would not have there. */
export const selectList: Matcher = choice(
  end,
  seq(
    sqlOws,
    choice(
      seq(not(lit("--")), oneOf("(@*'\"`-+!~0123456789{[\\%")),
      seq(lit("."), digits),
      terminator,
      seq(
        keyword(
          splitWords(`
    null all distinct distinctrow top true false unhex hex case
  `),
        ),
        choice(sqlSeparator, oneOf(",("), end),
      ),
      seq(
        identifier,
        times(0, 3, seq(oneOf(".:"), run(WORD, 1, 40))),
        sqlOws,
        choice(oneOf(",(`"), lit("||"), seq(lit("from"), wordBoundary), terminator),
      ),
    ),
  ),
);

const CLOSING = charTable(") \n+");

/** Back over blanks and closing parentheses. */
function beforeClosing(input: NormalizedText, at: number): number {
  let position = at;
  while (at - position < 8 && CLOSING[unitAt(input, position - 1)] === 1) position--;
  input.work.steps += at - position + 1;
  return position - 1;
}

/** Where a string was closed: the keyword comes behind a quote, with blanks and parentheses between. */
export const afterQuote: LookBehind = (input, at) => {
  const mark = beforeClosing(input, at);
  return isInClass(unitAt(input, mark), QUOTE) ? mark : NO_MATCH;
};

/** Behind a number, parentheses between: `1) or`. */
export const afterNumber: LookBehind = (input, at) => {
  const mark = beforeClosing(input, at);
  return isInClass(unitAt(input, mark), DIGIT) ? mark : NO_MATCH;
};

/** A keyword may touch a number or a quote (`1union`, `'or`), but not a letter. */
export const NOT_LETTER = charSetExcept(LETTER, "_\x80");
