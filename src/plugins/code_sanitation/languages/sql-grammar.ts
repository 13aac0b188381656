// Building blocks of the SQL patterns: whitespace, operands and comparisons as they occur in injected text.
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
/** Whitespace, a comment, or the `+` that is a space in form encoding. */
const separator = choice(run(WHITESPACE, 1, 4), comment, lit("+"));
/** Optional whitespace in SQL. */
export const sqlOws: Matcher = whitespaceMatcher(times(0, 6, separator), "/-#+");
/** Required whitespace in SQL. */
export const sqlRws: Matcher = whitespaceMatcher(times(1, 6, separator), "/-#+");
/** What separates two words: whitespace, or nothing before an opening parenthesis or quote. */
export const sqlSeparator: Matcher = choice(sqlRws, peek(oneOf("('\"`@[{")));
/** The end of a statement: a comment, a semicolon or the end of the text. */
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
/** A literal with the signs, parentheses and casts that attack tools add. */
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

/** The start of a column list after SELECT that does not occur in prose. */
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

/** Returns the position of the last unit before whitespace and closing parentheses. */
function skipClosingBack(input: NormalizedText, at: number): number {
  let position = at;
  while (at - position < 8 && CLOSING[unitAt(input, position - 1)] === 1) position--;
  input.work.steps += at - position + 1;
  return position - 1;
}

/** Matches if a quote precedes the keyword, with optional whitespace and closing parentheses in between: `') or`. */
export const afterQuote: LookBehind = (input, at) => {
  const mark = skipClosingBack(input, at);
  return isInClass(unitAt(input, mark), QUOTE) ? mark : NO_MATCH;
};

/** Matches if a number precedes the keyword, with optional whitespace and closing parentheses in between: `1) or`. */
export const afterNumber: LookBehind = (input, at) => {
  const mark = skipClosingBack(input, at);
  return isInClass(unitAt(input, mark), DIGIT) ? mark : NO_MATCH;
};

/** Units that may precede or follow an SQL keyword: numbers and quotes (`1union`, `'or`), but not letters. */
export const NOT_LETTER = charSetExcept(LETTER, "_\x80");
