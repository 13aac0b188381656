// Building blocks of the patterns for SQL statements: whitespace, select lists and the end of a statement. Comments of the form
// `/* */` are not part of the grammar: a variant of each text has spaces instead of them (`deobfuscate.ts`).
import { DIGIT, HEX, LETTER, WHITESPACE, WORD } from "../char-classes.ts";
import { charSetExcept, charSetWhere } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { NO_MATCH, withPrefixes, type Matcher } from "../matcher.ts";
import { prefixesStartingWith } from "../prefix-set.ts";
import { digits, end, identifier, quoted, whitespaceMatcher, wordBoundary } from "../tokens.ts";

/** A comment up to the end of the line. Attack tools put a few random letters into it. */
const lineComment = seq(choice(lit("--"), lit("#")), except("\n", 0, 20), lit("\n"));
/** Whitespace, a comment, or the `+` that is a space in form encoding. */
const separator = choice(run(WHITESPACE, 1, 4), lineComment, lit("+"));
/** Optional whitespace in SQL. */
export const sqlOws: Matcher = whitespaceMatcher(times(0, 4, separator), "-#+");
/** Required whitespace in SQL. */
export const sqlRws: Matcher = whitespaceMatcher(times(1, 4, separator), "-#+");
/** What separates two words: whitespace, or nothing before an opening parenthesis or quote. */
export const sqlSeparator: Matcher = choice(sqlRws, peek(oneOf("('\"`@[{")));
/** The end of a statement: a comment, a semicolon or the end of the text. */
export const terminator: Matcher = seq(sqlOws, choice(lit("--"), lit("#"), lit("/*"), lit(";"), end));

export const literal: Matcher = choice(
  seq(lit("0x"), run(HEX, 0, 64)),
  seq(digits, opt(seq(lit("."), run(DIGIT, 0, 24)))),
  seq(not(lit("`")), quoted(64)),
  seq(lit("@"), run(WORD, 0, 40)),
  keyword(["null", "true", "false"]),
);

/** The start of a column list after SELECT that does not occur in prose. */
export const selectList: Matcher = seq(
  sqlOws,
  choice(
    oneOf("(@*'\"`-+!~0123456789{[\\%"),
    seq(lit("."), digits),
    terminator,
    seq(keyword(["all", "distinct", "distinctrow", "top", "case"]), sqlSeparator),
    seq(
      identifier,
      times(0, 3, seq(oneOf(".:"), run(WORD, 1, 40))),
      sqlOws,
      choice(oneOf(",(`"), lit("||"), seq(lit("from"), wordBoundary), terminator),
    ),
  ),
);

/** Matches if nothing at all follows. */
export const textEnd: Matcher = withPrefixes(
  prefixesStartingWith(charSetWhere((code) => code === 0)),
  (input, at) => (at >= input.length ? at : NO_MATCH),
);

/** Matches the end of the line, after at most three dashes, plus signs or spaces. */
export const lineEnd: Matcher = seq(times(0, 3, oneOf("-+ ")), choice(end, peek(lit("\n"))));

/** Units that may precede or follow an SQL keyword: numbers and quotes (`1union`, `'or`), but not letters. */
export const NOT_LETTER = charSetExcept(LETTER, "_\x80");
