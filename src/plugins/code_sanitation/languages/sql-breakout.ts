// SQL patterns for text that breaks out of a string or a number: a condition that is always true, an operator that continues the
// expression, a comment that cuts off the rest.
import { DIGIT, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN, OPEN_PAREN } from "../char-codes.ts";
import { charSet } from "../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq } from "../combinators.ts";
import { skipWhitespaceBack, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier } from "../tokens.ts";
import { conditionAfterNumber, joinedCondition, operatorChain, revealingCall } from "./sql-conditions.ts";
import {
  afterInjectedValue,
  afterLeadingValue,
  afterValue,
  leadingString,
  mayEndValue,
  quoteAfterValue,
  unpairedQuote,
} from "./sql-context.ts";
import { lineEnd, literal, NOT_LETTER, sqlOws, sqlRws, sqlSeparator } from "./sql-grammar.ts";
import { tautology } from "./sql-tautology.ts";

/** Matches if another closing parenthesis precedes, or the text starts with an opening one. */
const closesMore: LookBehind = (input, at) => {
  const isClosed = unitAt(input, skipWhitespaceBack(input, at) - 1) === CLOSE_PAREN;
  return isClosed || unitAt(input, 0) === OPEN_PAREN ? at : NO_MATCH;
};

const MARKS = ["'", '"', "`"];

export const SQL_BREAKOUT: readonly Pattern[] = [
  pattern("sql.tautology", ["or", "and", "xor", "||", "&&"], {
    catches: "a condition whose result is constant, or that compares a constant with a query",
    from: "balanced",
    precededBy: NOT_LETTER,
    followedBy: NOT_LETTER,
    after: tautology,
    finds: [
      "x or 1=1",
      "id=7 and 2>1",
      "7 xor 1=1",
      "a' || 'a'='a",
      "a && 3=3",
      "x and 5 > (select count(*) from members)",
      "x or 1 = version()",
      "x and exists(select 1)",
      "9 and (select 1)",
      "k or 'b' like 'b%'",
      "k or 1 between 0 and 2",
      "k and not 1=2",
      "or x=x",
      "k and 7 is not null",
      "7 and 3 in (3)",
      "x and current_user=3",
      "x or sysdate = sysdate",
      "k or current_user like 'r%'",
    ],
    ignores: [
      "if ready and current_time > 60:",
      "if (ready and current_user == 3) {",
      "test -n x && current_user='guest'",
      "where a and current_user in ('a', 'b')",
      "if x = 1 or 2 < limit",
      "Is 3 > 2 and 2 > 1?",
      "floor 1=first",
      "the floor 1=1 sensor",
      "or else x=1",
      "//book[@lang='en' and @year='2001']",
      "choose 1 or 2 between now and then",
      "the band 1=one",
      'if "a" is set and "b" is null',
      "android 4=old",
    ],
  }),
  pattern("sql.quote-breakout", MARKS, {
    catches: "a quote that closes no string of the text, and a condition after it",
    from: "relaxed",
    followedBy: charSet(WHITESPACE, ")+|&oaxhwOAXHW"),
    guard: mayEndValue,
    after: joinedCondition,
    before: unpairedQuote,
    finds: [
      "x' or name = 'b",
      'x" or 1 --',
      "x` or 1#",
      "x') and length(pin)>3",
      "x'||(select pin from cards)||'",
      "x' && true",
      "x'+or+1--",
      "' having sum(price) > 1",
      "x' where pin is not null;--",
      "x' or 'a",
      "x' xor rand() like '1%",
    ],
    ignores: [
      "the boys' or girls' rooms",
      "'x' or name = 'b'",
      "the teachers' and pupils; all of them",
      "Côte d'Or 1er cru",
      "print('yes' and 1)",
      "print('a string that is longer than most' and 1)",
      "a ' or b = 2",
      "the dogs' and cats in the house",
    ],
  }),
  pattern("sql.string-operator", MARKS, {
    catches:
      "a quote that closes no string of the text, and an expression up to a comment or the end of the text",
    followedBy: charSet(WHITESPACE, "=<>!|&^*/%+-iIlLrRgGbBnNsScC"),
    guard: mayEndValue,
    after: operatorChain,
    before: unpairedQuote,
    finds: ["k'-mail--", "k' = 'k", 'k"*1#', "k`=1--", "k' like pin or '1", "k'|!'k", "k'collate`utf8`--"],
    ignores: [
      "x = 'a string that is longer than most'*1# k",
      "'k' + 'k'",
      "the rooms' - see below",
      "k's = 'k",
      "a '- b'",
    ],
  }),
  pattern(
    "sql.string-equals",
    ["'='", "' = '", "'<'", "'>'", "' like '", "' regexp '", "' not regexp '", "' rlike '"],
    {
      catches: "a comparison of two strings that a field consists of",
      from: "balanced",
      guard: leadingString,
      after: seq(
        run(WORD, 0, 16),
        choice(end, seq(lit("'"), sqlOws, choice(end, lit("--"), lit("#"), keyword(["or", "and"])))),
      ),
      finds: [
        "'12'='12",
        "'12' = '12'",
        "'1'<'2",
        "'2'>'1'",
        "'b' like 'b",
        "'b' regexp 'b",
        "'b' not regexp 'c'",
        "'b' rlike 'b'",
        "'b'='b'--",
        "'b'='b' #",
        "'b'='b' or 1",
        "'b'='b' and 1",
      ],
      ignores: ["'apples' like 'pears' is no comparison", "compare 'a' = 'a'", "'a' = 'a b'"],
    },
  ),
  pattern("sql.exclusive-or", ["xor"], {
    catches: "XOR between constants",
    from: "balanced",
    precededBy: NOT_LETTER,
    followedBy: NOT_LETTER,
    after: seq(sqlOws, literal, sqlOws, oneOf("<>=-+!")),
    finds: ["xor 7<", "k xor 'b'="],
    ignores: ["luxor 7<8", "a xor b = c", "xor 7 bits"],
  }),
  pattern("sql.number-breakout", ["or", "and", "xor", "||", "&&", "having", "rlike", "like", "regexp"], {
    catches: "a value that a field starts with, and a condition that reveals data or cuts off the rest",
    from: "relaxed",
    precededBy: NOT_LETTER,
    followedBy: NOT_LETTER,
    guard: afterLeadingValue,
    after: conditionAfterNumber,
    finds: [
      "7 or 1--",
      "7) and ascii(substr(pin,1,1))>50",
      "7 xor sleep(4)",
      "7 || pin is not null",
      "7 && true",
      "7 having 1#",
      "7 rlike (select 1)",
      "7 like sleep(4)",
      "7 regexp 1#",
      "7 and current_user=3",
      "7 or not 0",
    ],
    ignores: [
      "where id = 7 and length(name) > 3",
      "1 and 2 are taken",
      "3 or 4 volunteers -- or more",
      "7 or so and",
      "2 and a half",
      "where x7or 1--",
    ],
  }),
  pattern("sql.order-by-number", ["order", "group"], {
    catches: "ORDER BY or GROUP BY after an injected value, with what counts the columns of the query",
    from: "relaxed",
    precededBy: NOT_LETTER,
    guard: afterInjectedValue,
    after: seq(
      sqlRws,
      lit("by"),
      sqlSeparator,
      choice(
        seq(digits, choice(seq(sqlOws, oneOf(",#-/;)")), end)),
        seq(oneOf("(@"), sqlOws),
        seq(identifier, sqlOws, choice(lit("--"), lit("#"), lit("/*"))),
        revealingCall,
      ),
    ),
    finds: [
      "7 order by 9--",
      "x' order by 9",
      "7 group by (pin)",
      "x') group by pin#",
      "x' order by pin--",
      "7 order by pin/*",
      "7 order by if(1<2,a,b)",
      "7 order by 1,2",
    ],
    ignores: [
      "SELECT a FROM t WHERE b = 7 ORDER BY 1",
      "order by phone",
      "Does `ORDER BY 1, 2` work?",
      "orders by 3",
      "7 order by name",
      "group by colour",
    ],
  }),
  pattern(
    "sql.comment-cut",
    MARKS.flatMap((mark) =>
      ["--", " --", ";--", "; --", ")--", ") --", ");--", "); --", "/*", "#", " #"].map((cut) => mark + cut),
    ),
    {
      catches: "a quote that closes no string of the text, and a comment that cuts off the rest of the line",
      from: "relaxed",
      before: quoteAfterValue,
      after: lineEnd,
      finds: ["root'--\nk", "root'--", "root' -- -", 'root")--', "root`#", "root' #", "root'; --", "root'/*"],
      ignores: ["'root'--", "the boys'-- and girls", "he said 'no' --", "a '#'"],
    },
  ),
  pattern("sql.closed-and-cut", [")--", ") --"], {
    catches: "a comment at the end of a line that starts with a parenthesis or closes several",
    from: "relaxed",
    before: closesMore,
    after: lineEnd,
    finds: ["7))--", "x')) --", "(7) --"],
    ignores: ["f(x) --", "f(g(x)) -- see below"],
  }),
  pattern("sql.numeric-if", ["if("], {
    catches: "IF with a comparison of constants",
    from: "balanced",
    precededBy: charSet(WHITESPACE | DIGIT | QUOTE, "\0,(=*/+-|&"),
    after: seq(
      sqlOws,
      digits,
      sqlOws,
      choice(seq(lit("="), sqlOws, run(DIGIT, 0, 24)), oneOf("<>")),
      run(WORD | WHITESPACE, 0, 24),
      choice(lit(","), end),
    ),
    finds: ["7,if(1=1", "7,if(1=1,2,3)", "7*if(2<3,1,0)"],
    ignores: ["if(1==x)", "elif(1=2,3)", "if(3>x) return"],
  }),
  pattern("sql.where-cut", ["where", "having"], {
    catches: "a condition after an injected value that a comment follows",
    from: "relaxed",
    guard: afterValue,
    precededBy: charSet(WHITESPACE | DIGIT, ")+"),
    after: seq(
      sqlRws,
      run(WORD, 1, 24),
      opt(seq(lit("."), run(WORD, 1, 24))),
      sqlOws,
      lit("="),
      sqlOws,
      literal,
      choice(seq(sqlOws, choice(lit("--"), lit("#"), lit("/*"))), seq(lit(")"), end)),
    ),
    finds: ["7 where t.pin=7/*", "7 where pin='a'--", "7) having n=1#", "7 where pin=2)"],
    ignores: [
      "7 where pin=2) and more",
      "select a from t where pin=7 /* the pin */",
      "7 where x=1",
      "where pin=7--",
    ],
  }),
  pattern("sql.having", ["having"], {
    catches: "HAVING with a constant condition",
    from: "balanced",
    precededBy: NOT_LETTER,
    followedBy: NOT_LETTER,
    after: choice(tautology, seq(sqlOws, lit("("), sqlOws, keyword(["true", "1"]))),
    finds: ["k having 1=1", "id having 'a'<'b'", "k having (true or 1)", "k having (1 or 2)"],
    ignores: ["SELECT a FROM t GROUP BY a HAVING COUNT(*) > 5", "shaving 1=1", "having 2 or 3 children"],
  }),
];
