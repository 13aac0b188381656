// SQL: UNION SELECT and DROP TABLE, and the families behind them: stacked statements, time delays, file access,
// catalogues, and, next door, strings that are broken out of.
import { isInClass, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet } from "../char-set.ts";
import { choice, exact, keyword, lit, not, oneOf, opt, peek, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { calledOn } from "./calls.ts";
import { revealingCall } from "./sql-breakout.ts";
import { CATALOGUES, PROBES, PROCEDURES } from "./sql-names.ts";
import {
  sqlSeparator,
  comparison,
  literal,
  operand,
  plainComparison,
  selectList,
  sqlOws,
  sqlRws,
  terminator,
  NOT_LETTER,
} from "./sql-grammar.ts";
import { SQL_INJECTED } from "./sql-injected.ts";

const call = seq(sqlOws, lit("("));
const unionModifier = opt(seq(sqlOws, keyword(["all", "distinct", "distinctrow"])));
const select = seq(lit("select"), wordBoundary, selectList);

/** What DROP takes away; then its name. */
const DROPPED = splitWords(`
  table database schema view procedure function trigger login role tablespace sequence
`);
const PROSE_AFTER_DROP = new Set(
  splitWords(`
  a and are as at by can command do does for from in is it into mean means of on or query queries statement
  statements syntax that the to was will with works work operation privilege privileges permission
  permissions off when this here lamp lamps runner seat seats
`),
);
const objectName = choice(
  terminator,
  seq(
    sqlRws,
    opt(seq(lit("if"), sqlRws, lit("exists"), sqlRws)),
    choice(seq(not(keyword(PROSE_AFTER_DROP)), identifier), oneOf("`\"[#@'")),
  ),
);

const OBJECTS = splitWords(`
  table database user view index procedure function trigger schema login role
`);
const stackedStatement = choice(
  seq(
    lit("select"),
    sqlSeparator,
    choice(
      oneOf("*@('\"0123456789`"),
      seq(identifier, sqlOws, choice(oneOf(",("), seq(lit("from"), wordBoundary), end, lit("."))),
    ),
  ),
  seq(lit("select"), wordBoundary, peek(oneOf("(*@'\"`"))),
  seq(lit("insert"), sqlRws, lit("into"), wordBoundary),
  seq(lit("delete"), sqlRws, lit("from"), wordBoundary),
  seq(lit("update"), sqlRws, identifier, sqlRws, lit("set"), wordBoundary),
  seq(
    keyword(["drop", "create", "alter"]),
    sqlRws,
    opt(seq(keyword(["or", "temporary", "temp"]), sqlRws)),
    keyword(OBJECTS),
  ),
  seq(lit("truncate"), choice(seq(sqlRws, lit("table"), wordBoundary), oneOf("[`"))),
  seq(
    keyword(["exec", "execute"]),
    sqlSeparator,
    choice(
      lit("@"),
      seq(lit("("), sqlOws, lit("@")),
      lit("xp_"),
      lit("sp_"),
      seq(lit("master"), oneOf(". ")),
      lit("immediate"),
      seq(identifier, lit(".")),
    ),
  ),
  seq(
    lit("declare"),
    sqlRws,
    choice(
      lit("@"),
      seq(
        identifier,
        sqlRws,
        keyword(
          splitWords(`
    int varchar nvarchar number char cursor
  `),
        ),
      ),
    ),
  ),
  seq(lit("set"), sqlRws, lit("@")),
  seq(lit("waitfor"), sqlRws, keyword(["delay", "time"])),
  seq(lit("shutdown"), choice(terminator, seq(sqlRws, lit("with")))),
  seq(keyword(["grant", "revoke"]), sqlRws, keyword(["all", "select", "insert", "execute", "dba"])),
  seq(lit("call"), sqlRws, identifier, sqlOws, lit("(")),
  seq(lit("if"), sqlOws, lit("("), sqlOws, choice(seq(literal, sqlOws, comparison), lit("select"))),
  seq(lit("begin"), sqlRws, keyword(["declare", "dbms_lock"])),
  seq(
    keyword(["merge", "load", "copy", "backup", "handler"]),
    sqlRws,
    choice(keyword(["into", "data", "database"]), seq(identifier, sqlRws, keyword(["from", "to", "open"]))),
  ),
  seq(lit("do"), sqlRws, lit("sleep"), call),
);

const castBefore: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WORD | QUOTE) || unitAt(input, at - 1) === 0x29 ? at : NO_MATCH;

export const SQL: readonly Pattern[] = [
  pattern("sql.union-select", ["union"], {
    precededBy: NOT_LETTER,
    after: seq(
      choice(seq(unionModifier, sqlSeparator), seq(lit("("), sqlOws)),
      times(0, 4, seq(sqlOws, lit("("))),
      sqlOws,
      select,
    ),
  }),
  pattern("sql.set-select", ["except", "intersect", "minus"], {
    precededBy: NOT_LETTER,
    after: seq(
      sqlRws,
      opt(seq(lit("all"), sqlRws)),
      lit("select"),
      wordBoundary,
      sqlOws,
      peek(oneOf("0123456789.*'\"(@")),
    ),
  }),
  pattern("sql.drop", ["drop"], { before: atWordStart, after: seq(sqlRws, keyword(DROPPED), objectName) }),
  pattern("sql.drop-commented", ["drop/*", "truncate/*", "delete/*"], {
    before: atWordStart,
    after: seq(skipTo(lit("*/"), 80), identifier),
  }),
  pattern("sql.truncate", ["truncate"], {
    before: atWordStart,
    after: seq(sqlRws, lit("table"), objectName),
  }),
  pattern("sql.alter-drop", ["alter"], {
    before: atWordStart,
    after: seq(sqlRws, lit("table"), sqlRws, identifier, sqlRws, lit("drop"), wordBoundary),
  }),
  pattern("sql.delete", ["delete"], {
    before: atWordStart,
    after: seq(
      sqlRws,
      lit("from"),
      sqlRws,
      identifier,
      choice(
        seq(sqlRws, lit("where"), sqlRws, choice(operand, identifier), sqlOws, plainComparison),
        terminator,
      ),
    ),
  }),
  pattern("sql.stacked", [";"], {
    followedBy: charSet(WHITESPACE, "/#-+abcdeghilmrstuwABCDEGHILMRSTUW"),
    after: seq(sqlOws, stackedStatement),
  }),
  pattern("sql.select-comment", ["select/*", "from/*", "where/*"], {
    precededBy: NOT_LETTER,
    after: seq(skipTo(lit("*/"), 80), sqlOws, choice(identifier, oneOf("*'\"(0123456789"))),
  }),
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
  pattern("sql.probe", PROBES, { before: calledOn(["sys", "dbo"]), after: seq(wordBoundary, call) }),
  pattern("sql.benchmark", ["benchmark("], { before: atWordStart, after: seq(sqlOws, digits) }),
  pattern("sql.catalogue", CATALOGUES, { precededBy: NOT_LETTER }),
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
  ...SQL_INJECTED,
];
