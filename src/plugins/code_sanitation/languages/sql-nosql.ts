// Patterns for injection into document databases: operators where a value is expected, and JavaScript that a query evaluates.
// Ordinary queries use the same operators, so a pattern needs a place or a value that ordinary queries do not have.
import { isInClass, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { DOLLAR } from "../char-codes.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { stepsToRead } from "../work-budget.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { afterInjectedValue, quoteAfterValue } from "./sql-context.ts";

const OPERATORS = splitWords(
  "ne eq gt gte lt lte in nin regex exists where or nor not expr mod size type all",
);
/** Fields that a login compares: an operator there makes the comparison true. */
const LOGIN_FIELDS = new Set(
  splitWords(`
  user username login account password passwd pass pwd pin otp token secret apikey api_key key code hash
`),
);

/** Matches unless a variable precedes: `$map[$in]` is PHP. */
const afterParameter: LookBehind = (input, at) => {
  let start = at;
  while (at - start < 40 && isInClass(unitAt(input, start - 1), WORD)) start--;
  input.work.steps += stepsToRead(at - start);
  return start === at || unitAt(input, start - 1) === DOLLAR ? NO_MATCH : start;
};

/** Matches if the operator is the value of a field that a login compares: `"password": {"$ne`. */
const inLoginField: LookBehind = (input, at) => {
  let position = skipQuoteBack(input, at);
  if (unitAt(input, position - 1) !== 0x7b) return NO_MATCH;
  position = skipWhitespaceBack(input, position - 1);
  if (unitAt(input, position - 1) !== 0x3a) return NO_MATCH;
  position = skipQuoteBack(input, skipWhitespaceBack(input, position - 1));
  return LOGIN_FIELDS.has(wordBefore(input, position)) ? at : NO_MATCH;
};

function skipQuoteBack(input: Parameters<LookBehind>[0], at: number): number {
  const isQuoted = isInClass(unitAt(input, at - 1), QUOTE);
  return skipWhitespaceBack(input, isQuoted ? at - 1 : at);
}

/** The quote after a key, and the colon. */
const colon = seq(opt(quote), ows, lit(":"), ows);
/** A value that nearly every document is different from or greater than. */
const emptyValue = choice(
  seq(keyword(["null", "undefined", "true", "false", "0", "1"])),
  seq(lit("-1"), wordBoundary),
);

export const SQL_NOSQL: readonly Pattern[] = [
  pattern("sql.nosql-parameter", ["[$"], {
    catches: "an operator as the key of a form or query parameter",
    from: "relaxed",
    guard: afterParameter,
    after: seq(keyword(OPERATORS), lit("]"), choice(lit("="), seq(lit("["), skipTo(lit("="), 24, " \n")))),
    finds: ["user[$ne]=1", "user=k&pin[$gt]=", "pin[$regex]=^a", "filter[$or][0][a]=1"],
    ignores: ["user[$ne] style parameters", "$map[$in]=1", "a[$i]=1", "price[gte]=1", "[$ne]=1"],
  }),
  pattern("sql.nosql-login", ["$ne", "$gt", "$gte", "$lt", "$nin", "$exists", "$regex", "$in", "$not"], {
    catches: "an operator instead of the user name or password",
    from: "relaxed",
    guard: inLoginField,
    after: seq(colon, choice(emptyValue, oneOf("\"'/[{"))),
    finds: [
      "{pin: {$ne: undefined}}",
      "{pin: {$ne: false}}",
      "{pin: {$gt: 0}}",
      "{pin: {$ne: 1}}",
      '{"username": "k", "password": {"$ne": null}}',
      '{"pin": {"$gt": ""}}',
      "{user: {$gte: ''}}",
      '{"token": {"$lt": "z"}}',
      '{"user": {"$nin": ["k"]}}',
      '{"pwd": {"$exists": true}}',
      '{"pass":{"$regex":"^a"}}',
      '{"user": {"$in": ["root", "admin"]}}',
      '{"otp": {"$not": {"$eq": 1}}}',
      '{"otp": {"$ne": -1}}',
    ],
    ignores: [
      "{pin: {$ne: -12}}",
      "db.items.find({ qty: { $ne: 20 } })",
      "User.find({ deletedAt: { $ne: null } })",
      "What does $ne: null do?",
      '{"pin": "$ne"}',
      "{ token: { $gt: minToken } }",
    ],
  }),
  pattern("sql.nosql-match-all", ["$gt", "$gte", "$regex"], {
    catches: "an operator with a value that every document matches",
    from: "balanced",
    after: seq(
      colon,
      choice(
        seq(quote, opt(lit("^")), times(0, 2, oneOf(".*+")), opt(lit("$")), quote),
        seq(lit("/"), times(1, 2, oneOf(".*+")), lit("/")),
        lit("undefined"),
      ),
    ),
    finds: [
      '{"name": {"$gt": ""}}',
      "{name: {$gte: ''}}",
      '{"name": {"$regex": ".*"}}',
      '{name: {$regex: "^.*$"}}',
      "{name: {$regex: /.*/}}",
      "{$gt: undefined}",
    ],
    ignores: [
      "{ age: { $gt: 21 } }",
      '{ name: { $regex: "^An" } }',
      "{ mail: { $regex: /.*@example/ } }",
      "$gt is an operator",
    ],
  }),
  pattern("sql.nosql-where", ["$where"], {
    catches: "JavaScript in a query that is always true, delays it or ends it",
    from: "balanced",
    after: seq(
      colon,
      choice(
        keyword(["1", "true"]),
        skipTo(
          choice(
            lit("return true"),
            lit("return 1"),
            lit("sleep("),
            lit("while("),
            lit("1==1"),
            lit("'=='"),
            lit("||"),
            lit(".match("),
            lit("object.keys"),
            lit("new date"),
            lit("db."),
            lit("this.constructor"),
          ),
          60,
          "\n",
        ),
        seq(quote, keyword(["1", "true"]), quote),
      ),
    ),
    finds: [
      "{$where: true}",
      '{"$where": "true"}',
      "{$where: f() || 1}",
      '{"$where": "return true"}',
      "{$where: 'sleep(900)'}",
      "{$where: 1}",
      '{"$where": "1"}',
      "$where: '1==1'",
      '{"$where": "this.pin.match(/^a/)"}',
    ],
    ignores: [
      "Explain the $where operator",
      'db.t.find({ $where: "this.credits == this.debits" })',
      "$where: function() { return this.a > this.b; }",
    ],
  }),
  pattern("sql.nosql-or", ["$or", "$nor"], {
    catches: "an alternative that is always true, or one that follows a quote which closes no string",
    from: "balanced",
    after: seq(
      colon,
      lit("["),
      ows,
      lit("{"),
      ows,
      choice(lit("}"), seq(quote, digits, quote, ows, lit(":"))),
    ),
    finds: ["x', $or: [ {}, { 'a':'a", '{"$or": [{"1": "1"}]}', "$nor: [{}]"],
    ignores: ["{ $or: [{ price: 1 }, { stock: 2 }] }", "$or: [", "Use $or for alternatives"],
  }),
  pattern("sql.nosql-operator-after-quote", ["$or", "$and", "$ne", "$gt", "$where", "$regex"], {
    catches: "an operator after a quote that closes no string of the text",
    from: "relaxed",
    guard: (input, at) => {
      const position = skipWhitespaceBack(input, skipQuoteBack(input, at));
      if (unitAt(input, position - 1) !== 0x2c) return NO_MATCH;
      return quoteAfterValue(input, skipWhitespaceBack(input, position - 1) - 1) >= 0 &&
        isInClass(unitAt(input, skipWhitespaceBack(input, position - 1) - 1), QUOTE)
        ? at
        : NO_MATCH;
    },
    after: seq(colon, oneOf("[{'\"/0123456789")),
    finds: ["x', $or: [", "x', $and: [", 'x", "$ne": "1', "x', $gt: '", "x', $where: '1", "x', $regex: /a/"],
    ignores: ["x', $ne is an operator", "{ name: 'x', $or: [{ a: 1 }] }", "'x', $or", "x, $or: ["],
  }),
  pattern("sql.nosql-script", [";"], {
    catches: "JavaScript after a quote or value that ends the one of the query",
    guard: afterInjectedValue,
    after: seq(
      not(lit("\n")),
      ows,
      choice(
        seq(
          lit("return"),
          choice(
            seq(ows, oneOf("('\"!")),
            seq(run(WHITESPACE, 1, 1), keyword(["true", "false", "this", "1", "db"])),
          ),
        ),
        seq(lit("while"), ows, lit("(")),
        seq(lit("sleep"), ows, lit("(")),
        seq(lit("throw"), wordBoundary),
        seq(lit("db."), identifier, oneOf(".(")),
        seq(
          lit("var"),
          run(WHITESPACE, 1, 1),
          identifier,
          ows,
          lit("="),
          ows,
          choice(lit("new"), end, quote),
        ),
        seq(lit("it="), lit("new")),
      ),
    ),
    finds: [
      "7; return false",
      "7; return this.a",
      "7; return 1",
      "7; return db.a",
      "x'; var k =",
      "x'; var k = '",
      "x'; return true; var k='",
      "x';return(true);",
      "7; while(1){}",
      "x'; sleep(900); '",
      "x'; throw 1;",
      "x'});db.cards.drop();",
      "x'; var k = new Date();",
      "x';it=new%20Date()",
    ],
    ignores: [
      "x'; throws 1",
      "x';\n  return true;",
      "const a = 'x'; return true;",
      "let k = f(); var m = new Map();",
      "x'; returns true",
      "print('a'); while(1) {}",
    ],
  }),
  pattern("sql.nosql-this", ["this."], {
    catches: "a condition on a field of the document after a quote that closes no string",
    from: "relaxed",
    guard: (input, at) => {
      const position = skipWhitespaceBack(input, at);
      const code = unitAt(input, position - 1);
      if ((code !== 0x7c && code !== 0x26) || unitAt(input, position - 2) !== code) return NO_MATCH;
      const mark = skipWhitespaceBack(input, position - 2) - 1;
      return isInClass(unitAt(input, mark), QUOTE) ? quoteAfterValue(input, mark) : NO_MATCH;
    },
    after: seq(identifier, peek(oneOf(".=!<>[ ("))),
    finds: ["x' || this.pin.match(/a/)//", "x'&&this.pin[0]=='a"],
    ignores: ["x' || this.pin;", "a === 'x' || this.open()", "x || this.pin.length", "the boys' this.way "],
  }),
];
