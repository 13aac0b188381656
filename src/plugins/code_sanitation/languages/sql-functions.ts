// SQL patterns for functions: time delays, probing functions, strings that are written as codes.
import { HEX, isInClass, LETTER, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { COMMA, EQUALS, OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas } from "../char-set.ts";
import { choice, keyword, lit, not, oneOf, peek, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import {
  atWordStart,
  nearTextStart,
  skipWhitespaceBack,
  wordBefore,
  type LookBehind,
} from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote } from "../tokens.ts";
import { calledOn } from "./calls.ts";
import { atFieldStart, FIELD_STARTS } from "./sql-context.ts";
import { NOT_LETTER, sqlOws, sqlRws, textEnd } from "./sql-grammar.ts";
import { LEADING_FUNCTIONS, PROBING_FUNCTIONS, UNCLOSED_CALLS } from "./sql-names.ts";

const call = seq(sqlOws, lit("("));
const argument = seq(call, sqlOws, not(lit(")")), not(end));

const EXPRESSION_UNITS = charSet(QUOTE, "|&-+*/<>^~!");
const EXPRESSION_WORDS = new Set(splitWords("or and xor not select by then else do when where having if"));
/** Matches if a call here is part of an SQL expression: `or sleep(`, `1-sleep(`, `select(sleep(`. */
const inExpression: LookBehind = (input, at) => {
  let position = at;
  let hasParen = false;
  for (let count = 0; count < 6; count++) {
    const before = unitAt(input, position - 1);
    if (before === OPEN_PAREN) hasParen = true;
    else if (!isInClass(before, WHITESPACE)) break;
    position--;
  }
  if (position === 0) return at;
  const before = unitAt(input, position - 1);
  if (before === EQUALS || before === COMMA) return before === EQUALS && position === at ? at : NO_MATCH;
  if (charSetHas(EXPRESSION_UNITS, before)) return hasParen && before !== 0x7c ? NO_MATCH : at;
  if (!isInClass(before, WORD)) return NO_MATCH;
  return EXPRESSION_WORDS.has(wordBefore(input, position)) || atFieldStart(input, at) >= 0 ? at : NO_MATCH;
};

export const SQL_FUNCTIONS: readonly Pattern[] = [
  pattern("sql.time-delay", ["sleep"], {
    catches: "a call of SLEEP in an SQL expression",
    from: "balanced",
    precededBy: charSetExcept(WORD, "."),
    guard: inExpression,
    after: seq(
      call,
      sqlOws,
      times(0, 3, oneOf("(-+")),
      choice(digits, quote, lit("mod("), seq(lit("__"), run(WORD, 0, 12))),
      times(0, 24, choice(oneOf(" 0123456789.*/+-%,()'\""), lit("to_i"))),
      choice(end, peek(oneOf(")'\"#-}=,|&;")), peek(seq(ows, keyword(["and", "or", "from"])))),
      not(lit(";\n")),
      not(lit("; ")),
    ),
    finds: [
      "7 or sleep(4) or 1",
      "select sleep((4))",
      "(select sleep(4) from t)",
      "or sleep(4)--",
      "sleep(4)",
      "(select(sleep(4)))",
      "7-sleep('4')#",
      '7" and sleep(4.to_i) "',
      "x'=sleep(4)='",
      "select sleep(mod(9,5))",
      "sleep(__T__)#",
      "7 and sleep(4) and 1",
    ],
    ignores: [
      "sleep(5);\nx",
      "Call sleep(10) and continue",
      "time.sleep(5)",
      "await sleep(500);",
      "sleep(1)\nprint(2)",
      "asleep(5)",
      "while (1) { sleep(5); }",
      "do sleep(1); while true",
    ],
  }),
  pattern("sql.waitfor", ["waitfor", "waifor"], {
    catches: "WAITFOR DELAY",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(sqlRws, keyword(["delay", "time"]), sqlOws, choice(quote, lit("@"), lit("("))),
    finds: ["waitfor delay '0:0:9'", "x' waitfor time(@k)", "waitfor delay @k", "') waifor delay '0:0:9' --"],
    ignores: ["we waitfor delay to end", "waitfor the bus", "awaitfor delay '1'"],
  }),
  pattern("sql.probe", PROBING_FUNCTIONS, {
    catches: "a call of a function that reads files, fails with data in its message or delays the query",
    from: "balanced",
    before: calledOn(["sys", "dbo"]),
    after: argument,
    finds: ["select pg_sleep(4)", "and extractvalue(1,2)", "sys.fn_varbintohexstr (1)"],
    ignores: [
      "What is updatexml(",
      "How does updatexml() work?",
      "my_updatexml(x)",
      "pg_sleeps(4)",
      "x.updatexml(k)",
    ],
  }),
  pattern("sql.load-file", ["load_file"], {
    catches: "LOAD_FILE with a path or an encoded path",
    from: "balanced",
    precededBy: charSetExcept(WORD, "."),
    after: seq(
      call,
      // The argument is not part of the match: its other quote is not masked either.
      peek(
        seq(
          ows,
          choice(
            seq(quote, choice(oneOf("/\\"), seq(run(LETTER, 1, 1), lit(":")))),
            lit("0x"),
            lit("char("),
            lit("concat("),
          ),
        ),
      ),
    ),
    finds: [
      "load_file('/k')",
      "load_file(0x2f)",
      "load_file (char(47))",
      "load_file(concat('/k'))",
      "load_file('c:/k')",
    ],
    ignores: [
      "config = load_file(path)",
      "load_file('k.txt')",
      "self.load_file('/k')",
      "How does LOAD_FILE() work?",
    ],
  }),
  pattern("sql.leading-call", [...LEADING_FUNCTIONS, ...PROBING_FUNCTIONS], {
    catches: "a field that starts with a call of a probing function",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: call,
    finds: ["group_concat(pin)", "unhex(", " elt(1=1,2)", "db_name (1)"],
    ignores: ["SELECT group_concat(pin) FROM t", "Use unhex(x) here", "elto(1)"],
  }),
  pattern("sql.open-call", UNCLOSED_CALLS, {
    catches: "a field that is the start of a function call",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: (input, at) => {
      const position = skipWhitespaceBack(input, at);
      const isSelected =
        wordBefore(input, unitAt(input, position - 1) === OPEN_PAREN ? position - 1 : position) === "select";
      return isSelected ? at : atFieldStart(input, at);
    },
    after: seq(ows, lit("("), textEnd),
    finds: ["substring(", "version (", "select char(", "select(user("],
    ignores: ["How do I call substring(", "substring(x)", "mysubstring("],
  }),
  pattern("sql.hex-concat", ["concat_ws(0x", "concat(0x"], {
    catches: "CONCAT with a string that is written in hexadecimal",
    from: "balanced",
    finds: ["concat_ws(0x3a,pin,pan)", "group_concat(0x7e,pin)"],
    ignores: ["Use concat_ws(':', pin, pan).", "concat(a, 0x3a)"],
  }),
  pattern("sql.hex-argument", [")),0x"], {
    catches: "a hexadecimal string after nested calls, as tools for error messages write it",
    from: "balanced",
    after: seq(run(HEX, 4, 64), oneOf(",)")),
    finds: ["7,1))),0x7170,floor(1)"],
    ignores: ["f(g(x)),0x10)", "f(g(x)), 0x7170,1"],
  }),
  pattern("sql.benchmark", ["benchmark("], {
    catches: "BENCHMARK with a number of repetitions",
    from: "balanced",
    before: atWordStart,
    after: seq(sqlOws, digits, sqlOws, lit(",")),
    finds: ["benchmark(9000000,md5(1))"],
    ignores: ["benchmark(5)", "run_benchmark(5,1)", "benchmark('x', 5)"],
  }),
  pattern("sql.conditional-comment", ["/*!"], {
    catches: "a comment that MySQL executes",
    from: "relaxed",
    after: choice(
      seq(
        digits,
        ows,
        choice(
          digits,
          seq(
            not(keyword(splitWords("set alter create definer view drop trigger use disable enable lock"))),
            identifier,
          ),
        ),
      ),
      seq(
        ows,
        keyword(splitWords("union select or and from where table concat group_concat limit order all")),
      ),
    ),
    finds: ["7 /*!50000union*/ /*!50000 select*/ 1", "/*!select*/ 1", "select /*!32302 1/0, */ 1"],
    ignores: ["/*!40101 SET NAMES utf8 */;", "/*! jQuery v3 */", "/*!\n * bootstrap */"],
  }),
  pattern("sql.char-codes", ["char", "chr", "nchar"], {
    catches: "a string that is written as the codes of its characters",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(
      lit("("),
      sqlOws,
      digits,
      choice(
        seq(times(2, 2, seq(sqlOws, lit(","), sqlOws, digits))),
        times(
          2,
          2,
          seq(
            lit(")"),
            ows,
            choice(lit("||"), lit("+"), peek(lit("c"))),
            ows,
            choice(lit("char("), lit("chr("), lit("nchar(")),
            digits,
          ),
        ),
      ),
    ),
    finds: [
      "char(97,98,99)",
      "chr(97)||chr(98)||chr(99)",
      "nchar(97)+nchar(98)+nchar(99)",
      "char(97)char(98)char(99)",
    ],
    ignores: ["CHR(13)||CHR(10)", "char(10, 2)", "varchar(1,2,3)", "toChar(97,98,99)"],
  }),
  pattern("sql.whole-cast", ["::"], {
    catches: "a field that is an expression with a PostgreSQL cast at its end",
    from: "balanced",
    precededBy: charSet(WORD | QUOTE, ")"),
    guard: nearTextStart(63, (input, at) => (wordBefore(input, at) !== "std" ? at : NO_MATCH)),
    after: seq(
      keyword(splitWords("int bigint bool boolean json jsonb text numeric float double regclass date")),
      choice(end, seq(ows, choice(lit("precision"), lit("#>"), lit("->")))),
    ),
    finds: ["pin::int", "f(1)::double precision", "'{}'::json #>> '{a}'", "'{}'::jsonb->'a'"],
    ignores: [
      "In PostgreSQL, how do I convert a column to an integer? Is it with price::int",
      "SELECT a.id::text FROM t",
      "x::integer",
      "a ::int",
      "price::numeric; both do the same",
    ],
  }),
];
