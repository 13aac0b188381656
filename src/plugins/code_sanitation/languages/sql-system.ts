// SQL patterns for the database server itself: system tables, variables, stored procedures, files, and queries in parentheses.
import { LETTER } from "../char-classes.ts";
import { DOT, OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetExcept } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { stepsToRead } from "../work-budget.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { revealingCall } from "./sql-conditions.ts";
import { afterInjectedValue, atFieldStart } from "./sql-context.ts";
import { NOT_LETTER, sqlOws, sqlRws, sqlSeparator, terminator } from "./sql-grammar.ts";
import { PACKAGES, PROCEDURES, SERVER_FUNCTIONS, SYSTEM_TABLES } from "./sql-names.ts";

const call = seq(sqlOws, lit("("));
const UNION_WORDS = new Set(["union", "all", "distinct"]);
const READING_WORDS = new Set(["from", "join", "into", "update", "table"]);
const MAX_SELECT_LIST = 80;
/** Matches if a table here is read by an injected query: one in parentheses, or one that the field starts with. */
const readInInjection: LookBehind = (input, at) => {
  const position = skipWhitespaceBack(input, at);
  if (position === 0) return at;
  if (!READING_WORDS.has(wordBefore(input, position))) return NO_MATCH;
  for (let index = position - 4; index >= 0 && index > position - MAX_SELECT_LIST; index--) {
    if ((unitAt(input, index) | 0x20) !== 0x73 || wordBefore(input, index + 6) !== "select") continue;
    input.work.steps += stepsToRead(position - index);
    const before = skipWhitespaceBack(input, index);
    if (unitAt(input, before - 1) === OPEN_PAREN || UNION_WORDS.has(wordBefore(input, before))) return at;
    return afterInjectedValue(input, index);
  }
  input.work.steps += stepsToRead(MAX_SELECT_LIST);
  return atFieldStart(input, position - 4);
};

export const SQL_SYSTEM: readonly Pattern[] = [
  pattern("sql.system-table", SYSTEM_TABLES, {
    catches: "an injected query of a system table",
    from: "balanced",
    precededBy: NOT_LETTER,
    before: readInInjection,
    finds: [
      "select name from sysibm.systables",
      "(select count(*) from information_schema.tables)",
      "from information_schema.",
      "7' select pin from sysusers",
      "7 union select pin k from sysusers",
      "sysobjects",
    ],
    ignores: [
      "How do I list columns with information_schema.columns?",
      "Try: SELECT name FROM sys.databases",
      "copy it from sysusers",
      "Explain what sqlite_master contains.",
    ],
  }),
  pattern("sql.package", PACKAGES, {
    catches: "a call of an Oracle package that connects to other hosts, reads files or waits",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(identifier, choice(seq(sqlOws, lit("("), sqlOws, not(lit(")")), not(end)), end)),
    finds: [
      "x'||utl_http.request('http://example.com')",
      "dbms_pipe.receive_message(('a'),5)",
      "utl_http.request",
    ],
    ignores: [
      "Which package has utl_http.request(",
      "What is utl_http.request() for?",
      "my_utl_http.request(1)",
      "utl_http.txt and more",
    ],
  }),
  pattern("sql.procedure", PROCEDURES, {
    catches: "a stored procedure that runs commands or changes logins, called or alone in a field",
    from: "balanced",
    precededBy: NOT_LETTER,
    guard: (input, at) => {
      const word = wordBefore(input, skipWhitespaceBack(input, at));
      if (word === "exec" || word === "execute") return at;
      const before = unitAt(input, at - 1);
      return before === DOT || before === 0x2d ? at : atFieldStart(input, at);
    },
    after: choice(end, seq(ows, oneOf("'\"@-;("))),
    finds: [
      "exec xp_cmdshell 'x'",
      "execute sp_addlogin @k",
      "master..xp_dirtree '/'",
      "xp_regread",
      "--sp_password",
    ],
    ignores: [
      "What is xp_cmdshell (Transact-SQL)?",
      "exec sp_passwordless 'x'",
      "How does xp_cmdshell work?",
      "xp_cmdshell is off",
      "EXEC sp_rename 'a', 'b'",
      "exec sp_passwords 'x'",
    ],
  }),
  pattern("sql.exec", ["exec", "execute"], {
    catches: "EXEC of a variable, of a string with a statement, or of the master database",
    from: "balanced",
    precededBy: charSetExcept(LETTER, "_.\x80"),
    after: seq(
      sqlOws,
      choice(
        seq(
          lit("("),
          sqlOws,
          choice(lit("@"), seq(quote, run(LETTER, 3, 12), quote, ows, choice(oneOf("+|'\"")))),
        ),
        seq(lit("master"), oneOf(". ")),
        lit("xp_"),
        seq(lit("immediate"), sqlRws, quote),
        seq(lit("sp_"), choice(end, lit(" ("))),
      ),
    ),
    finds: [
      "exec sp_ (or more)",
      "exec(@k)",
      "execute ('sel'+'ect')",
      "exec master.x",
      "exec xp_k",
      "execute immediate 'sel'",
      "7 exec sp_",
    ],
    ignores: [
      "executed (@k)",
      'cursor.execute("SELECT a FROM b")',
      "EXEC sp_rename 'a', 'b'",
      "execute the plan",
      "re.exec (@k)",
    ],
  }),
  pattern("sql.file-write", ["into"], {
    catches: "INTO OUTFILE and INTO DUMPFILE",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(
      sqlRws,
      keyword(["outfile", "dumpfile"]),
      sqlOws,
      choice(quote, end, lit("0x"), revealingCall),
    ),
    finds: ["7 into outfile '/k'", "into dumpfile 0x2f", "into outfile", "7 into outfile substring('a',1)"],
    ignores: ["write it into outfile first", "pinto outfile '/k'"],
  }),
  pattern("sql.select-server", ["select"], {
    catches: "a query of the server itself: its version, users and settings",
    from: "balanced",
    precededBy: NOT_LETTER,
    guard: (input, at) =>
      unitAt(input, skipWhitespaceBack(input, at) - 1) === OPEN_PAREN ? at : afterInjectedValue(input, at),
    after: seq(
      opt(seq(sqlOws, keyword(["all", "distinct"]))),
      sqlOws,
      times(0, 3, oneOf("(+-~")),
      choice(
        lit("@@"),
        seq(keyword(SERVER_FUNCTIONS), choice(call, terminator, seq(sqlRws, lit("from"), wordBoundary))),
        seq(lit("current"), sqlRws, keyword(["server", "user"])),
      ),
    ),
    finds: [
      "select current user from k",
      "select (version())",
      "select @@k",
      "select version()",
      "(select distinct user from t)",
      "7 and (select all load_file('/k'))",
      "select current server from k",
      "select session_user;",
    ],
    ignores: [
      "selected version()",
      "select user fromage",
      "I tried SELECT version() in psql",
      "SELECT CURRENT_DATE, CURRENT_USER",
      "select a, version() from t",
      "select user, pin from t",
    ],
  }),
  pattern("sql.subselect", ["(select"], {
    catches: "a query of constants in parentheses",
    from: "balanced",
    after: seq(
      sqlOws,
      choice(
        seq(oneOf("@'\""), not(lit(" "))),
        seq(lit("("), except(")", 0, 40), lit(")"), sqlOws, lit("from")),
        seq(digits, sqlOws, choice(oneOf(")-+*/,("), seq(lit("from"), sqlOws, lit("(")))),
        seq(lit("*"), sqlOws, lit("from"), sqlOws, lit("(")),
        seq(lit("*"), lit("from")),
        seq(lit("top"), sqlRws, digits),
      ),
    ),
    finds: [
      "(select 0 from (t))",
      "(select 0 from(select 1))",
      "(select @k)",
      "(select 'a')",
      "(select(pin)from t)",
      "(select 1)",
      "(select 0 from (select 1)k)",
      "(select * from (t))",
      "(select*from t)",
      "(select top 1 pin)",
    ],
    ignores: [
      "(select ' a')",
      "EXISTS (SELECT 1 FROM t2 WHERE a = b)",
      "(select one)",
      "(selected 1)",
      "x IN (SELECT * FROM t)",
    ],
  }),
  pattern("sql.leading-subselect", ["(select"], {
    catches: "a query in parentheses after an injected value, or at the start of a field",
    from: "balanced",
    guard: (input, at) => {
      const before = unitAt(input, skipWhitespaceBack(input, at) - 1);
      return before === 0x7c || before === 0x2d || before === 0x2b ? at : afterInjectedValue(input, at);
    },
    after: seq(
      sqlSeparator,
      choice(seq(identifier, sqlOws, lit("("), identifier), skipTo(seq(lit("from"), wordBoundary), 60, ";")),
    ),
    finds: [
      "(select f(pin)",
      "(select pin from cards limit 1)",
      "x'||(select count(*) from cards)||'",
      "-7 (select pin from cards)",
      "x'-(select pin from cards)",
    ],
    ignores: ["(select a fromage)", "WHERE a > (SELECT AVG(a) FROM t)", "(select one of these)"],
  }),
  pattern("sql.server-variable", ["@@"], {
    catches: "a variable of the server in a call or comparison",
    from: "balanced",
    precededBy: charSet(0, "(,=<>|+-*/!"),
    after: seq(
      opt(seq(keyword(["global", "session"]), lit("."))),
      keyword(
        splitWords(`
  version datadir basedir hostname servername version_compile_os version_comment tmpdir secure_file_priv
  language microsoftversion max_allowed_packet
`),
      ),
    ),
    finds: ["k=@@session.version", "mid(@@hostname,1,1)", "k=@@global.version"],
    ignores: ["What does SELECT @@VERSION return?", "(@@rowcount", "@@version"],
  }),
];
