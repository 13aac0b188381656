// SQL: UNION SELECT and DROP TABLE, and the families behind them: stacked statements, time delays, file access,
// catalogues, and, next door, strings that are broken out of.
import {
  any,
  atWordStart,
  blanks,
  digits,
  end,
  exact,
  identifier,
  lit,
  NO_MATCH,
  not,
  oneOf,
  opt,
  peek,
  quote,
  seq,
  times,
  upTo,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { BLANK, isOf, QUOTE, WORD } from "../char-classes.ts";
import { edge } from "../edge.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { unitAt } from "../view.ts";
import { calledOn } from "./calls.ts";
import { revealingCall } from "./sql-breakout.ts";
import { CATALOGUES, PROBES, PROCEDURES } from "./sql-names.ts";
import {
  apart,
  comparison,
  literal,
  operand,
  plainComparison,
  selectList,
  space,
  spaced,
  terminator,
  NOT_LETTER,
} from "./sql-grammar.ts";
import { SQL_INJECTED } from "./sql-injected.ts";

const call = seq(space, lit("("));
const unionModifier = opt(seq(space, word(["all", "distinct", "distinctrow"])));
const select = seq(lit("select"), wordEnd, selectList);

/** What DROP takes away; then its name. */
const DROPPED = words(`
  table database schema view procedure function trigger login role tablespace sequence
`);
const PROSE_AFTER_DROP = new Set(
  words(`
  a and are as at by can command do does for from in is it into mean means of on or query queries statement
  statements syntax that the to was will with works work operation privilege privileges permission
  permissions off when this here lamp lamps runner seat seats
`),
);
const objectName = any(
  terminator,
  seq(
    spaced,
    opt(seq(lit("if"), spaced, lit("exists"), spaced)),
    any(seq(not(word(PROSE_AFTER_DROP)), identifier), oneOf("`\"[#@'")),
  ),
);

const OBJECTS = words(`
  table database user view index procedure function trigger schema login role
`);
const stackedStatement = any(
  seq(
    lit("select"),
    apart,
    any(
      oneOf("*@('\"0123456789`"),
      seq(identifier, space, any(oneOf(",("), seq(lit("from"), wordEnd), end, lit("."))),
    ),
  ),
  seq(lit("select"), wordEnd, peek(oneOf("(*@'\"`"))),
  seq(lit("insert"), spaced, lit("into"), wordEnd),
  seq(lit("delete"), spaced, lit("from"), wordEnd),
  seq(lit("update"), spaced, identifier, spaced, lit("set"), wordEnd),
  seq(
    word(["drop", "create", "alter"]),
    spaced,
    opt(seq(word(["or", "temporary", "temp"]), spaced)),
    word(OBJECTS),
  ),
  seq(lit("truncate"), any(seq(spaced, lit("table"), wordEnd), oneOf("[`"))),
  seq(
    word(["exec", "execute"]),
    apart,
    any(
      lit("@"),
      seq(lit("("), space, lit("@")),
      lit("xp_"),
      lit("sp_"),
      seq(lit("master"), oneOf(". ")),
      lit("immediate"),
      seq(identifier, lit(".")),
    ),
  ),
  seq(
    lit("declare"),
    spaced,
    any(
      lit("@"),
      seq(
        identifier,
        spaced,
        word(
          words(`
    int varchar nvarchar number char cursor
  `),
        ),
      ),
    ),
  ),
  seq(lit("set"), spaced, lit("@")),
  seq(lit("waitfor"), spaced, word(["delay", "time"])),
  seq(lit("shutdown"), any(terminator, seq(spaced, lit("with")))),
  seq(word(["grant", "revoke"]), spaced, word(["all", "select", "insert", "execute", "dba"])),
  seq(lit("call"), spaced, identifier, space, lit("(")),
  seq(lit("if"), space, lit("("), space, any(seq(literal, space, comparison), lit("select"))),
  seq(lit("begin"), spaced, word(["declare", "dbms_lock"])),
  seq(
    word(["merge", "load", "copy", "backup", "handler"]),
    spaced,
    any(word(["into", "data", "database"]), seq(identifier, spaced, word(["from", "to", "open"]))),
  ),
  seq(lit("do"), spaced, lit("sleep"), call),
);

const castBefore: Before = (view, at) =>
  isOf(unitAt(view, at - 1), WORD | QUOTE) || unitAt(view, at - 1) === 0x29 ? at : NO_MATCH;

export const SQL: readonly Pattern[] = [
  pattern("sql.union-select", ["union"], {
    prev: NOT_LETTER,
    after: seq(
      any(seq(unionModifier, apart), seq(lit("("), space)),
      times(0, 4, seq(space, lit("("))),
      space,
      select,
    ),
  }),
  pattern("sql.set-select", ["except", "intersect", "minus"], {
    prev: NOT_LETTER,
    after: seq(
      spaced,
      opt(seq(lit("all"), spaced)),
      lit("select"),
      wordEnd,
      space,
      peek(oneOf("0123456789.*'\"(@")),
    ),
  }),
  pattern("sql.drop", ["drop"], { before: atWordStart, after: seq(spaced, word(DROPPED), objectName) }),
  pattern("sql.drop-commented", ["drop/*", "truncate/*", "delete/*"], {
    before: atWordStart,
    after: seq(upTo(lit("*/"), 80), identifier),
  }),
  pattern("sql.truncate", ["truncate"], {
    before: atWordStart,
    after: seq(spaced, lit("table"), objectName),
  }),
  pattern("sql.alter-drop", ["alter"], {
    before: atWordStart,
    after: seq(spaced, lit("table"), spaced, identifier, spaced, lit("drop"), wordEnd),
  }),
  pattern("sql.delete", ["delete"], {
    before: atWordStart,
    after: seq(
      spaced,
      lit("from"),
      spaced,
      identifier,
      any(seq(spaced, lit("where"), spaced, any(operand, identifier), space, plainComparison), terminator),
    ),
  }),
  pattern("sql.stacked", [";"], {
    next: edge(BLANK, "/#-+abcdeghilmrstuwABCDEGHILMRSTUW"),
    after: seq(space, stackedStatement),
  }),
  pattern("sql.select-comment", ["select/*", "from/*", "where/*"], {
    prev: NOT_LETTER,
    after: seq(upTo(lit("*/"), 80), space, any(identifier, oneOf("*'\"(0123456789"))),
  }),
  pattern("sql.time-delay", ["sleep"], {
    before: calledOn([]),
    after: seq(
      call,
      space,
      times(0, 3, oneOf("(-+")),
      any(digits, quote, lit("mod(")),
      times(0, 24, oneOf(" 0123456789.*/+-%,()'\"to_i")),
      any(end, peek(oneOf(")'\"#-}=,|&")), peek(seq(blanks, word(["and", "or"])))),
      not(lit(";\n")),
    ),
  }),
  pattern("sql.waitfor", ["waitfor"], {
    prev: NOT_LETTER,
    after: seq(spaced, word(["delay", "time"]), space, any(quote, lit("@"), lit("("))),
  }),
  pattern("sql.probe", PROBES, { before: calledOn(["sys", "dbo"]), after: seq(wordEnd, call) }),
  pattern("sql.benchmark", ["benchmark("], { before: atWordStart, after: seq(space, digits) }),
  pattern("sql.catalogue", CATALOGUES, { prev: NOT_LETTER }),
  pattern("sql.procedure", PROCEDURES, { before: atWordStart, after: wordEnd }),
  pattern("sql.exec", ["exec", "execute"], {
    prev: NOT_LETTER,
    after: seq(
      wordEnd,
      space,
      any(
        seq(lit("("), space, any(lit("@"), seq(quote, space, word(["select", "drop", "xp_cmdshell"])))),
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
    prev: NOT_LETTER,
    after: seq(spaced, word(["outfile", "dumpfile"]), space, any(quote, end, lit("0x"))),
  }),
  pattern("sql.file-read", ["load"], {
    prev: NOT_LETTER,
    after: seq(spaced, lit("data"), spaced, opt(seq(word(["local", "low_priority"]), spaced)), lit("infile")),
  }),
  pattern("sql.select-probe", ["select"], {
    prev: NOT_LETTER,
    after: seq(
      wordEnd,
      opt(seq(space, word(["all", "distinct"]))),
      space,
      any(
        revealingCall,
        seq(lit("@@"), identifier),
        seq(literal, lit(","), not(oneOf(" \n"))),
        seq(oneOf("(*"), space, lit("/*")),
      ),
    ),
  }),
  pattern("sql.subselect", ["(select"], {
    after: seq(
      wordEnd,
      space,
      any(
        oneOf("@'\"0123456789("),
        seq(lit("*"), space, lit("from"), space, lit("(")),
        seq(lit("*"), lit("from")),
        seq(lit("top"), spaced, digits),
      ),
    ),
  }),
  pattern("sql.conditional-comment", ["/*!"], {
    after: any(
      seq(digits, blanks, identifier),
      seq(
        blanks,
        word(
          words(`
  union select or and from where table concat group_concat limit order all
`),
        ),
      ),
    ),
  }),
  pattern("sql.char-codes", ["char", "chr", "nchar"], {
    prev: NOT_LETTER,
    after: seq(
      wordEnd,
      lit("("),
      space,
      digits,
      any(
        seq(space, lit(","), space, digits),
        seq(lit(")"), space, any(lit("||"), lit("+"), lit("char("), lit("chr("))),
      ),
    ),
  }),
  pattern("sql.declare", ["declare"], {
    prev: NOT_LETTER,
    after: seq(
      spaced,
      lit("@"),
      identifier,
      spaced,
      opt(seq(lit("as"), spaced)),
      word(
        words(`
    varchar nvarchar char int table cursor sysname nchar varbinary
  `),
      ),
    ),
  }),
  pattern("sql.cast", ["::"], {
    before: castBefore,
    after: seq(
      any(
        ...words(`
  int bigint bool boolean json jsonb text numeric float double regclass date
`).map(exact),
      ),
      wordEnd,
    ),
  }),
  pattern("sql.version-variable", ["@@"], {
    before: atWordStart,
    after: seq(
      opt(seq(word(["global", "session"]), lit("."))),
      word(
        words(`
  version datadir basedir hostname servername version_compile_os version_comment tmpdir secure_file_priv
  language spid rowcount identity microsoftversion max_allowed_packet port
`),
      ),
    ),
  }),
  ...SQL_INJECTED,
];
