// SQL patterns for whole statements: UNION SELECT, DROP TABLE, DELETE and statements that are stacked after a semicolon.
import { WHITESPACE } from "../char-classes.ts";
import { charSet } from "../char-set.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, identifier, wordBoundary } from "../tokens.ts";
import {
  comparison,
  literal,
  NOT_LETTER,
  operand,
  plainComparison,
  selectList,
  sqlOws,
  sqlRws,
  sqlSeparator,
  terminator,
} from "./sql-grammar.ts";

const call = seq(sqlOws, lit("("));
const unionModifier = opt(seq(sqlOws, keyword(["all", "distinct", "distinctrow"])));
const select = seq(lit("select"), wordBoundary, selectList);

/** Objects that DROP removes. */
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

export const SQL_STATEMENTS: readonly Pattern[] = [
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
];
