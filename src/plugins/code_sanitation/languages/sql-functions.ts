// SQL patterns for functions and names: time delays, probing functions, system catalogs, stored procedures, file access.
import { isInClass, QUOTE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN } from "../char-codes.ts";
import { choice, exact, keyword, lit, not, oneOf, opt, peek, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { calledOn } from "./calls.ts";
import { revealingCall } from "./sql-breakout.ts";
import { literal, NOT_LETTER, sqlOws, sqlRws } from "./sql-grammar.ts";
import { PROBING_FUNCTIONS, PROCEDURES, SYSTEM_CATALOGS } from "./sql-names.ts";

const call = seq(sqlOws, lit("("));

const castBefore: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WORD | QUOTE) || unitAt(input, at - 1) === CLOSE_PAREN ? at : NO_MATCH;

export const SQL_FUNCTIONS: readonly Pattern[] = [
  pattern("sql.time-delay", ["sleep"], {
    before: calledOn([]),
    after: seq(
      call,
      sqlOws,
      times(0, 3, oneOf("(-+")),
      choice(digits, quote, lit("mod(")),
      times(0, 24, oneOf(" 0123456789.*/+-%,()'\"to_i")),
      choice(end, peek(oneOf(")'\"#-}=,|&")), peek(seq(ows, keyword(["and", "or"])))),
      not(lit(";\n")),
    ),
  }),
  pattern("sql.waitfor", ["waitfor"], {
    precededBy: NOT_LETTER,
    after: seq(sqlRws, keyword(["delay", "time"]), sqlOws, choice(quote, lit("@"), lit("("))),
  }),
  pattern("sql.probe", PROBING_FUNCTIONS, {
    before: calledOn(["sys", "dbo"]),
    after: seq(wordBoundary, call),
  }),
  pattern("sql.benchmark", ["benchmark("], { before: atWordStart, after: seq(sqlOws, digits) }),
  pattern("sql.catalogue", SYSTEM_CATALOGS, { precededBy: NOT_LETTER }),
  pattern("sql.procedure", PROCEDURES, { before: atWordStart, after: wordBoundary }),
  pattern("sql.exec", ["exec", "execute"], {
    precededBy: NOT_LETTER,
    after: seq(
      wordBoundary,
      sqlOws,
      choice(
        seq(
          lit("("),
          sqlOws,
          choice(lit("@"), seq(quote, sqlOws, keyword(["select", "drop", "xp_cmdshell"]))),
        ),
        lit("master."),
        lit("master "),
        lit("xp_"),
        lit("sp_"),
        lit("immediate "),
        lit("@"),
      ),
    ),
  }),
  pattern("sql.file-write", ["into"], {
    precededBy: NOT_LETTER,
    after: seq(sqlRws, keyword(["outfile", "dumpfile"]), sqlOws, choice(quote, end, lit("0x"))),
  }),
  pattern("sql.file-read", ["load"], {
    precededBy: NOT_LETTER,
    after: seq(
      sqlRws,
      lit("data"),
      sqlRws,
      opt(seq(keyword(["local", "low_priority"]), sqlRws)),
      lit("infile"),
    ),
  }),
  pattern("sql.select-probe", ["select"], {
    precededBy: NOT_LETTER,
    after: seq(
      wordBoundary,
      opt(seq(sqlOws, keyword(["all", "distinct"]))),
      sqlOws,
      choice(
        revealingCall,
        seq(lit("@@"), identifier),
        seq(literal, lit(","), not(oneOf(" \n"))),
        seq(oneOf("(*"), sqlOws, lit("/*")),
      ),
    ),
  }),
  pattern("sql.subselect", ["(select"], {
    after: seq(
      wordBoundary,
      sqlOws,
      choice(
        oneOf("@'\"0123456789("),
        seq(lit("*"), sqlOws, lit("from"), sqlOws, lit("(")),
        seq(lit("*"), lit("from")),
        seq(lit("top"), sqlRws, digits),
      ),
    ),
  }),
  pattern("sql.conditional-comment", ["/*!"], {
    after: choice(
      seq(digits, ows, identifier),
      seq(
        ows,
        keyword(
          splitWords(`
  union select or and from where table concat group_concat limit order all
`),
        ),
      ),
    ),
  }),
  pattern("sql.char-codes", ["char", "chr", "nchar"], {
    precededBy: NOT_LETTER,
    after: seq(
      wordBoundary,
      lit("("),
      sqlOws,
      digits,
      choice(
        seq(sqlOws, lit(","), sqlOws, digits),
        seq(lit(")"), sqlOws, choice(lit("||"), lit("+"), lit("char("), lit("chr("))),
      ),
    ),
  }),
  pattern("sql.declare", ["declare"], {
    precededBy: NOT_LETTER,
    after: seq(
      sqlRws,
      lit("@"),
      identifier,
      sqlRws,
      opt(seq(lit("as"), sqlRws)),
      keyword(
        splitWords(`
    varchar nvarchar char int table cursor sysname nchar varbinary
  `),
      ),
    ),
  }),
  pattern("sql.cast", ["::"], {
    before: castBefore,
    after: seq(
      choice(
        ...splitWords(`
  int bigint bool boolean json jsonb text numeric float double regclass date
`).map(exact),
      ),
      wordBoundary,
    ),
  }),
  pattern("sql.version-variable", ["@@"], {
    before: atWordStart,
    after: seq(
      opt(seq(keyword(["global", "session"]), lit("."))),
      keyword(
        splitWords(`
  version datadir basedir hostname servername version_compile_os version_comment tmpdir secure_file_priv
  language spid rowcount identity microsoftversion max_allowed_packet port
`),
      ),
    ),
  }),
];
