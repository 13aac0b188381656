// SQL patterns for statements that follow an injected value, and for fields that start with a statement for probing.
import { WHITESPACE, WORD } from "../char-classes.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { afterInjectedValue, afterUnpairedQuote, atFieldStart, FIELD_STARTS } from "./sql-context.ts";
import { literal, NOT_LETTER, sqlOws, sqlRws, sqlSeparator, terminator } from "./sql-grammar.ts";

const OBJECTS = splitWords("table database user view index procedure function trigger schema login role");
/** The start of a statement, with enough of it that it is no prose. */
const query = choice(
  seq(
    lit("select"),
    sqlRws,
    choice(
      oneOf("*@('\"0123456789`"),
      seq(identifier, sqlOws, choice(oneOf(",("), seq(lit("from"), wordBoundary), end, lit("."))),
    ),
  ),
  seq(lit("insert"), sqlRws, lit("into"), wordBoundary),
  seq(lit("delete"), sqlRws, opt(seq(lit("low_priority"), sqlRws)), lit("from"), wordBoundary),
  seq(lit("update"), sqlRws, identifier, sqlRws, lit("set"), wordBoundary),
  seq(
    keyword(["drop", "create", "alter"]),
    sqlRws,
    times(0, 2, seq(keyword(["or", "replace", "temporary", "temp"]), sqlRws)),
    keyword(OBJECTS),
  ),
  seq(lit("truncate"), choice(seq(sqlRws, lit("table"), wordBoundary), oneOf("[`"))),
  seq(
    keyword(splitWords("merge load copy backup handler bulk")),
    sqlRws,
    choice(
      keyword(splitWords("into data xml database insert")),
      seq(identifier, sqlRws, keyword(["from", "to", "open"])),
    ),
  ),
  seq(lit("set"), sqlRws, lit("@")),
);
/** The same, and statements that programs of other languages have too. */
const statement = choice(
  query,
  seq(lit("select"), peek(oneOf("(*@'\"`"))),
  seq(
    keyword(["exec", "execute"]),
    sqlSeparator,
    choice(oneOf("@('"), lit("xp_"), lit("sp_"), lit("immediate"), seq(identifier, lit("."))),
  ),
  seq(
    lit("declare"),
    sqlRws,
    choice(lit("@"), seq(identifier, sqlRws, keyword(splitWords("int varchar char cursor")))),
  ),
  seq(lit("waitfor"), sqlRws, keyword(["delay", "time"])),
  seq(lit("shutdown"), choice(terminator, seq(sqlRws, lit("with")))),
  seq(
    keyword(["grant", "revoke"]),
    sqlRws,
    keyword(splitWords("all select insert execute dba connect resource")),
  ),
  seq(lit("call"), sqlRws, identifier, sqlOws, lit("(")),
  seq(
    lit("if"),
    sqlOws,
    choice(seq(lit("("), sqlOws, choice(literal, lit("select"))), seq(lit("exists"), sqlOws, lit("("))),
  ),
  seq(lit("begin"), sqlRws, keyword(["declare", "dbms_lock", "shutdown"])),
  seq(lit("do"), sqlRws, lit("sleep"), sqlOws, lit("(")),
  seq(keyword(["desc", "describe", "use"]), sqlRws, identifier, terminator),
);

export const SQL_STACKED: readonly Pattern[] = [
  pattern("sql.stacked", [";"], {
    catches: "a statement after a semicolon that ends an injected value",
    from: "relaxed",
    guard: afterInjectedValue,
    after: seq(not(lit("\n")), sqlOws, statement),
    finds: [
      "7; select * from cards",
      "x';select pin from cards",
      "x';select(pin)from cards",
      "; insert into cards values (1)",
      "7;delete from cards",
      "7; delete low_priority from cards",
      "x'; update cards set pin=1",
      "7);drop table cards",
      "7; create or replace function f",
      "7; truncate table cards",
      "x'; exec xp_cmdshell 'x'",
      "x'; execute immediate 'x'",
      "x'; declare @k int",
      "x'; declare k cursor",
      "x'; set @k=1",
      "x'; waitfor delay '0:0:5'",
      "x'; shutdown--",
      "x'; shutdown with nowait",
      "x'; grant connect to k",
      "x'; call f(1)",
      "7; if (1=1) select 1",
      "7; if exists (select 1)",
      "x'; begin shutdown end",
      "7; load xml infile 'k'",
      "7; copy cards to '/k'",
      "7; do sleep(5)",
      "x'; desc cards; --",
    ],
    ignores: [
      "INSERT INTO t VALUES ('a'); SELECT * FROM t;",
      "BEGIN;\nUPDATE t SET a = 1;",
      "I tried it; select one of them",
      "x'; update it soon",
      "7; call me later",
    ],
  }),
  pattern("sql.stacked-adjacent", [";"], {
    catches: "a statement directly after a semicolon, without the space that scripts have",
    from: "balanced",
    after: query,
    finds: ["select 1 from cards;copy cards to '/k'", "where 1=1;SELECT (case", "k=1;SET @k"],
    ignores: ["a;b", "SELECT a FROM t; SELECT b FROM u;", "a();if(1&b)return", "a();select(b)"],
  }),
  pattern(
    "sql.statement-after-quote",
    ["select", "alter", "insert", "delete", "update", "declare", "grant"],
    {
      catches: "a statement directly after a quote that closes no string of the text",
      from: "relaxed",
      precededBy: NOT_LETTER,
      guard: afterUnpairedQuote,
      after: seq(
        sqlRws,
        choice(seq(identifier, choice(end, seq(sqlRws, keyword(["to", "set", "into"])))), oneOf("@*")),
      ),
      finds: [
        "'select pin",
        "x' alter cards",
        "x' insert k into cards",
        "x' delete cards",
        "x' update cards set pin=1",
        "x'declare @k varchar(30)=1",
        "x' grant connect to k",
        "x' select *",
      ],
      ignores: ["the boys' select one of them", "'x' select k", "7 select k", "the users' selection"],
    },
  ),
  pattern("sql.leading-select", ["select"], {
    catches: "a field that is a query of variables or constants, or ends where the condition should start",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: seq(
      sqlRws,
      choice(
        seq(
          lit("@"),
          run(WORD, 1, 24),
          choice(end, seq(sqlRws, choice(identifier, quote)), seq(sqlOws, lit("--"))),
        ),
        times(3, 3, seq(digits, lit(","))),
        seq(
          identifier,
          sqlRws,
          lit("group"),
          sqlRws,
          lit("by"),
          sqlRws,
          identifier,
          sqlRws,
          lit("having"),
          wordBoundary,
        ),
        seq(skipTo(oneOf("(0123456789@"), 16, ";"), skipTo(seq(lit("where"), end), 60, ";")),
      ),
    ),
    finds: [
      "select @k",
      "select @k from cards",
      "select @k 'a'",
      "select @k--",
      "select 1,2,3,pin",
      "select pin group by pan having count(1)",
      "select f(1),2 from cards where",
    ],
    ignores: [
      "SELECT @total = COUNT(*) FROM t",
      "Please select @k",
      "select a from b where",
      "SELECT 1, 2, 3;",
      "select count(a) from b where c = 1",
    ],
  }),
  pattern("sql.leading-statement", ["backup", "print", "declare", "set", "create"], {
    catches: "a field that starts with a statement for probing a server",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: seq(
      sqlRws,
      choice(
        seq(lit("database"), sqlRws, identifier, sqlRws, lit("to"), wordBoundary),
        seq(lit("@@"), identifier, end),
        seq(lit("@"), identifier, end),
        seq(
          lit("@"),
          identifier,
          sqlRws,
          identifier,
          ows,
          opt(seq(lit("("), digits, lit(")"), run(WHITESPACE, 1, 1))),
          keyword(["select", "set", "exec"]),
        ),
        seq(lit("table"), sqlRws, identifier, sqlOws, skipTo(seq(quote, sqlOws, lit("bulk")), 40, ";")),
      ),
    ),
    finds: [
      "backup database cards to disk",
      "print @@k",
      "set @k",
      "declare @k varchar(9) select @k = 1",
      "declare @k int exec @k",
      "create table k (a int)' bulk insert k",
    ],
    ignores: [
      "DECLARE @k INT;\nSELECT @k = 1",
      "SET @k := 0;",
      "create table t (a int)",
      "Please print @@k",
      "backup database daily",
    ],
  }),
];
