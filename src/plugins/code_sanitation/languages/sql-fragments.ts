// SQL patterns for fields that are a part of a query: they start with a clause or a closing parenthesis, or end in the middle.
import { isInClass, WHITESPACE, WORD } from "../char-classes.ts";
import { OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetWhere } from "../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, quote, wordBoundary } from "../tokens.ts";
import { wholeCondition } from "./sql-conditions.ts";
import { afterWholeValue, atFieldStart, FIELD_STARTS, startsField } from "./sql-context.ts";
import { literal, NOT_LETTER, sqlOws, sqlRws } from "./sql-grammar.ts";

const TEXT_END = charSetWhere((code) => code === 0);
const CONDITION_WORDS = new Set(["or", "and", "where", "xor"]);

/** Matches if a condition precedes the operator: `and name =`, `or x like`. */
const inCondition: LookBehind = (input, at) => {
  const position = skipWhitespaceBack(input, at);
  let start = position;
  while (position - start < 24 && isInClass(unitAt(input, start - 1), WORD)) start--;
  if (position - start < 2) return NO_MATCH;
  let before = skipWhitespaceBack(input, start);
  if (unitAt(input, before - 1) === OPEN_PAREN) before = skipWhitespaceBack(input, before - 1);
  return CONDITION_WORDS.has(wordBefore(input, before)) || atFieldStart(input, start) >= 0 ? start : NO_MATCH;
};

const constant = choice(literal, seq(identifier, lit("("), run(WORD, 0, 20), lit(")")));
const name = choice(identifier, seq(quote, run(WORD, 1, 40), quote));
const values = seq(literal, times(1, 8, seq(sqlOws, lit(","), sqlOws, literal)));

export const SQL_FRAGMENTS: readonly Pattern[] = [
  pattern("sql.leading-condition", ["or", "and", "xor", "||", "&&"], {
    catches: "a field that starts with OR or AND and a condition",
    from: "balanced",
    precededBy: FIELD_STARTS,
    followedBy: NOT_LETTER,
    guard: atFieldStart,
    after: wholeCondition,
    finds: [
      "or pin=pan",
      "and true--",
      "x=xor pin=1",
      "k=|| pin !=",
      "&& (pin=0)",
      "or isnull(1/0)",
      "and pin = '",
    ],
    ignores: ["or pin=pan is the rule", "And then x = 1.", "oral x=1", "x or pin=pan", "or not"],
  }),
  pattern("sql.leading-list", ["in(", "in (", "values(", "values (", "div(", "div ("], {
    catches: "a field that is a list of constants for IN, VALUES or DIV",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: seq(
      sqlOws,
      choice(
        seq(values, sqlOws, lit(")"), end),
        seq(digits, times(1, 3, oneOf(",- ")), digits, lit(")"), end),
        seq(lit("select"), sqlRws, choice(oneOf("*(@'"), identifier)),
      ),
    ),
    finds: [
      "in (7,8)",
      "in(7,8)",
      "values ('k', 1)",
      "values(1,2)",
      "div(7,-2)",
      "div (7,-2)",
      "in ( select * from cards",
      "in (select pin",
    ],
    ignores: ["In (1), the author says", "x in (7,8)", "in (select", "values (7, 8) and more"],
  }),
  pattern("sql.leading-clause", ["having", "from"], {
    catches: "a field that starts with HAVING or FROM",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: choice(
      seq(
        sqlRws,
        keyword(["count", "sum", "min", "max", "avg"]),
        sqlOws,
        lit("("),
        skipTo(lit(")"), 30),
        sqlOws,
        oneOf("<>="),
      ),
      seq(
        sqlRws,
        name,
        opt(seq(lit("."), name)),
        sqlRws,
        choice(lit("limit"), seq(lit("group"), sqlRws, lit("by"))),
        wordBoundary,
      ),
    ),
    finds: [
      "having sum(a) > 1",
      "having min(a) > 1",
      "having max(a) > 1",
      "having avg(a) > 1",
      "having count(pin) > 7",
      "from `a`.`b` limit",
      "from cards group by pin",
    ],
    ignores: [
      "from cards limited",
      "SELECT a FROM b GROUP BY a HAVING COUNT(a) > 7",
      "having counted (7)",
      "from cards",
    ],
  }),
  pattern("sql.leading-case", ["case"], {
    catches: "a field that starts with CASE and a constant condition",
    from: "balanced",
    precededBy: FIELD_STARTS,
    guard: atFieldStart,
    after: seq(
      sqlRws,
      opt(seq(constant, sqlRws)),
      lit("when"),
      sqlRws,
      constant,
      sqlRws,
      lit("then"),
      wordBoundary,
    ),
    finds: ["case when 7 then 8 end", "case f(1) when 'a' then 1"],
    ignores: [
      "case when 7 thens",
      "case when x then y",
      "the case when 7 then 8",
      "case 1 when it rains then",
    ],
  }),
  pattern("sql.leading-quote", ["'", '"'], {
    catches: "a field that starts with a quote and OR",
    from: "relaxed",
    followedBy: charSet(WHITESPACE),
    guard: startsField,
    after: seq(sqlRws, keyword(["or", "and", "xor"]), sqlRws, choice(identifier, literal)),
    finds: ["' or pin", '" and pin!', "'  xor 7", "' or 'a' b"],
    ignores: ["'or' is a word", "He said ' or pin", "' orders pin"],
  }),
  pattern("sql.closing-alias", [") as ", "` as "], {
    catches: "a field that starts with a closing parenthesis or quote, and continues with an alias and FROM",
    from: "balanced",
    guard: startsField,
    after: seq(name, sqlRws, lit("from"), wordBoundary),
    finds: [") as pins from", "` AS `pin` from"],
    ignores: [") as pins fromage", "(a) as b from", ") as seen by"],
  }),
  pattern("sql.closing-like", [")like(", ") like ("], {
    catches: "a field that is LIKE between parentheses that are open",
    from: "balanced",
    guard: startsField,
    after: end,
    finds: [")like(", ") like ("],
    ignores: ["WHERE (a) like (", "(a) like (b)", ") like (b"],
  }),
  pattern("sql.open-string", ["= '", '= "', "='", '="', "like '", 'like "'], {
    catches: "a condition whose string is open at the end of the text",
    from: "balanced",
    followedBy: TEXT_END,
    precededBy: charSet(WHITESPACE | WORD),
    guard: inCondition,
    finds: ["and pin = '", 'or (pin = "', "where pin='", 'or pin="', "pin like '", 'and pin like "'],
    ignores: ["let pin = '", "where pin = 'open'", "I like '", "Is it like 'this'?", "<a pin='"],
  }),
  pattern("sql.open-end", ['";', "';", "`;"], {
    catches: "a value that a field starts with, and a quote and a semicolon at the end",
    from: "relaxed",
    guard: afterWholeValue,
    after: end,
    finds: ['k@example.com";', "k';", "k`;"],
    ignores: ['x = "k";', "k'; more"],
  }),
];
