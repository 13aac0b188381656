// SQL patterns for UNION SELECT, DROP TABLE and keywords that are separated by comments.
import { choice, keyword, lit, not, oneOf, opt, peek, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, identifier, wordBoundary } from "../tokens.ts";
import { afterUnpairedQuote, afterValue } from "./sql-context.ts";
import { literal, NOT_LETTER, selectList, sqlOws, sqlRws, sqlSeparator, terminator } from "./sql-grammar.ts";

const unionModifiers = times(0, 2, seq(sqlOws, keyword(["all", "distinct", "distinctrow"])));
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
/** "DROP TABLE deletes the rows": a sentence about the statement. */
const verbAndArticle = seq(identifier, sqlRws, keyword(["the", "a", "an", "all"]));
const objectName = choice(
  terminator,
  seq(
    sqlRws,
    opt(seq(lit("if"), sqlRws, lit("exists"), sqlRws)),
    choice(seq(not(keyword(PROSE_AFTER_DROP)), not(verbAndArticle), identifier), oneOf("`\"[#@'")),
  ),
);

export const SQL_STATEMENTS: readonly Pattern[] = [
  pattern("sql.union-select", ["union"], {
    catches: "UNION SELECT",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(unionModifiers, sqlSeparator, times(0, 4, seq(sqlOws, lit("("))), sqlOws, select),
    finds: [
      "7 union select all pin k",
      "7 union select#k",
      "7 union select true,1",
      "7 union select false,1",
      "7 union select unhex(1)",
      "7 union select hex(1)",
      "7 union select null",
      "7 union select distinct pin,1",
      "7 union select distinctrow pin",
      "7 union(select pin,1)",
      "UNION SELECT",
      "7 union select pin from cards",
      "7 union all select 1,2",
      "7 union distinct select null,pin",
      "7 union distinctrow select .5",
      "7 union((select 1))",
      "7 union--k\nselect top 1 pin",
      "7 union select pin--",
      "7 union select t.pin,2",
      "7 union select pin||pan from cards",
      "7 union#k\nselect 1",
      "7 union+select+case when 1",
    ],
    ignores: [
      "union selected",
      "union select pins fromage",
      "The union select committee met",
      "a reunion select 1",
      "the union selected 3 members",
    ],
  }),
  pattern("sql.union-after-value", ["union"], {
    catches: "UNION after an injected value, with a comment or a list instead of a query",
    from: "relaxed",
    precededBy: NOT_LETTER,
    guard: afterValue,
    after: choice(seq(sqlOws, choice(lit("/*"), lit("--"), lit("#"))), seq(sqlRws, literal, lit(","))),
    finds: [
      "7 union 0x31,2",
      "7 union @k,2",
      "7 union null,2",
      "7 union true,2",
      "7 union false,2",
      "7 union 1.5,2",
      "7 union/*",
      "x' union--",
      "7) union#",
      "7 union 1,2,3",
    ],
    ignores: [
      "7 union `a`,2",
      "the credit union",
      "labor union -- yes",
      "set union, 2 sets",
      "1 union and 2 firms",
      "2reunion--",
    ],
  }),
  pattern("sql.union-after-quote", ["union"], {
    catches: "UNION SELECT after a quote that closes no string of the text",
    from: "relaxed",
    precededBy: NOT_LETTER,
    guard: afterUnpairedQuote,
    after: seq(unionModifiers, sqlSeparator, times(0, 2, oneOf("( ")), lit("select"), wordBoundary),
    finds: ["x' union select", "'union select/", "x') union all select pin", "x' union(select pin)"],
    ignores: [
      "7 unions select",
      "'x' union selected",
      "the boys' union selected",
      "The union select committee met",
    ],
  }),
  pattern("sql.set-select", ["except", "intersect", "minus"], {
    catches: "EXCEPT, INTERSECT or MINUS with a query of constants",
    from: "balanced",
    precededBy: NOT_LETTER,
    after: seq(
      sqlRws,
      opt(seq(lit("all"), sqlRws)),
      lit("select"),
      wordBoundary,
      sqlOws,
      choice(peek(oneOf("0123456789*'\"(@")), seq(lit("."), digits)),
    ),
    finds: ["7 except select 1", "7 intersect all select 'a'", "7 minus select *", "7 minus select.5"],
    ignores: [
      "all except select members",
      "7 except selected 1",
      "all fields except select1",
      "except select.error",
      "unintersect select 1",
    ],
  }),
  pattern("sql.drop", ["drop"], {
    catches: "DROP TABLE and DROP of other objects",
    from: "balanced",
    before: atWordStart,
    after: seq(sqlRws, keyword(DROPPED), objectName),
    finds: [
      "drop table#k",
      "drop table/*k",
      "DROP TABLE",
      "drop table cards",
      "drop database if exists shop",
      "drop view `v`",
      "drop table if exists [cards]",
    ],
    ignores: [
      "How do I drop a table?",
      "a drop table lamp",
      "What does DROP TABLE do?",
      "DROP TABLE deletes the rows too",
      "DROP TABLE takes a lock",
      "DROP VIEW keeps all rows",
      "DROP TABLE needs an owner",
      "teardrop table cards",
      "drop by",
    ],
  }),
  pattern("sql.drop-commented", ["drop/*"], {
    catches: "DROP with a comment instead of the kind of object",
    from: "relaxed",
    before: atWordStart,
    after: seq(skipTo(lit("*/"), 40), identifier),
    finds: ["drop/*x*/cards"],
    ignores: ["drop/* see below", "raindrop/*x*/cards", "drop/*.txt"],
  }),
  pattern("sql.spaceless", ["select/*", "from/*", "where/*"], {
    catches: "a comment instead of the space after a keyword",
    from: "relaxed",
    precededBy: NOT_LETTER,
    after: seq(skipTo(lit("*/"), 40), sqlOws, choice(identifier, oneOf("*'\"(0123456789"))),
    finds: ["select/**/pin", "1 from/*k*/cards", "where/**/'a'"],
    ignores: ["import x from/* see below", "select/*.txt", "reselect/**/pin"],
  }),
];
