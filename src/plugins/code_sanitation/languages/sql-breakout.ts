// Building blocks for SQL injection: conditions that are always true, strings that are closed early, comments that cut off the
// rest. They differ from conditions in ordinary programs: both sides are constants, or the quote before them closes no string.
import { isInClass, NEWLINE, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN, EQUALS, PERCENT } from "../char-codes.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { digits, end, identifier, quote, whitespaceMatcher, wordBoundary } from "../tokens.ts";
import { afterNumber, afterQuote, literal, operand, sqlOws, sqlRws, sqlSeparator } from "./sql-grammar.ts";

/** How far to look back for the opening quote of a string. */
const MAX_STRING_LENGTH = 64;

/** Functions that reveal data or delay the query, under names that other languages do not use. */
const REVEALING_FUNCTIONS = new Set(
  splitWords(`
  user version database sleep char chr nchar substring substr mid ascii ord hex unhex if iif ifnull nullif
  db_name exists concat concat_ws group_concat load_file lpad rpad benchmark pg_sleep updatexml
  extractvalue elt json_extract json_depth json_keys likely unlikely likelihood glob current_user
  system_user session_user xmltype isnull utl_inaddr connection_id last_insert_id row cast convert
  sqlite_version to_char strcmp locate instr randomblob unistr schema found_rows row_count coalesce bin
  conv length starts_with overlay
`),
);
export const revealingCall: Matcher = seq(
  times(0, 4, choice(oneOf("(-+~!"), run(WHITESPACE, 1, 2), seq(lit("not"), sqlRws))),
  keyword(REVEALING_FUNCTIONS),
  sqlOws,
  lit("("),
);
const subquery = seq(times(1, 4, seq(lit("("), sqlOws)), lit("select"), wordBoundary);
const symbolComparison = choice(
  seq(oneOf("=<>"), times(0, 2, oneOf("=<>@"))),
  lit("!="),
  lit("<@"),
  lit("@>"),
  seq(lit("^"), lit("=")),
);
/** What cuts off the rest of a statement. */
const commentStart = choice(lit("--"), lit("#"), lit("/*"), lit(";%00"), lit("\\x00"));
const stringComparison = seq(
  opt(seq(lit("not"), sqlRws)),
  keyword(
    splitWords(`
    like rlike regexp glob sounds between in is
  `),
  ),
);

/** `and 2 > 1`, `or 2 = 3?`: a comparison of numbers with spaces, and no SQL after it. Prose, not a condition. */
const plainArithmetic: Matcher = seq(
  digits,
  run(WHITESPACE, 1, 1),
  oneOf("<>="),
  run(WHITESPACE, 1, 1),
  digits,
  not(
    seq(
      sqlOws,
      choice(
        commentStart,
        quote,
        oneOf(")&|"),
        keyword(["or", "and", "union", "group", "order", "limit", "having"]),
      ),
    ),
  ),
);
/** `1 = 1`: the same number on both sides. */
const sameNumbers: Matcher = (input, at) => {
  const left = digits(input, at);
  if (left < 0) return NO_MATCH;
  for (let index = 0; index < left - at; index++) {
    if (unitAt(input, left + 3 + index) !== unitAt(input, at + index)) return NO_MATCH;
  }
  return unitAt(input, left + 1) === EQUALS ? wordBoundary(input, left + 3 + left - at) : NO_MATCH;
};

/** `1=1`, `'a'='a'`, `2 > (select …)`, `1 = version()`: a condition whose left side is a constant. */
export const tautology: Matcher = seq(
  peek(choice(oneOf("'\"0123456789.+-~!(@"), keyword(["not", "null", "binary", "true", "false", "exists"]))),
  choice(
    seq(
      not(seq(lit("@"), identifier, lit("="), quote)),
      choice(peek(sameNumbers), not(plainArithmetic)),
      operand,
      sqlOws,
      symbolComparison,
      sqlOws,
      choice(operand, revealingCall, subquery, seq(lit("("), sqlOws, choice(digits, end)), quote),
    ),
    seq(
      operand,
      sqlOws,
      opt(seq(lit("not"), sqlRws)),
      choice(
        seq(keyword(["like", "rlike", "regexp", "glob", "sounds"]), sqlSeparator, operand),
        seq(lit("between"), sqlSeparator, operand, sqlOws, lit("and"), sqlSeparator, operand),
      ),
    ),
    seq(times(0, 3, seq(oneOf("(!~-+"), sqlOws)), opt(seq(lit("not"), sqlSeparator)), subquery),
    seq(lit("exists"), sqlOws, lit("("), sqlOws, lit("select"), wordBoundary),
  ),
);

/** A condition after a quote that closes no string: almost any condition matches. */
const quotedCondition: Matcher = choice(
  tautology,
  revealingCall,
  seq(choice(literal, identifier), sqlOws, choice(symbolComparison, lit("!"), lit("||"))),
  seq(choice(literal, identifier), sqlRws, stringComparison, wordBoundary),
  seq(choice(literal, identifier), sqlRws, keyword(["notnull", "isnull"])),
  seq(
    times(0, 6, choice(oneOf("(+-~!"), run(WHITESPACE, 1, 2), seq(lit("not"), sqlOws))),
    choice(literal, identifier, lit("?")),
    times(0, 6, choice(oneOf(")*/+-|&^%"), literal, run(WHITESPACE, 1, 2))),
    choice(commentStart, lit(";")),
  ),
  seq(oneOf("(+-~!@"), sqlOws, choice(literal, quote, seq(lit("("), sqlOws))),
);

/** A condition after a number: only forms that ordinary programs do not have. */
export const numberCondition: Matcher = choice(
  revealingCall,
  seq(keyword(["true", "false", "null"]), sqlOws, choice(end, commentStart)),
  seq(operand, sqlOws, commentStart),
  seq(lit("@@"), identifier),
  seq(lit("not"), sqlSeparator, operand, sqlOws, choice(commentStart, end, symbolComparison)),
);

/** Returns whether a quote closes a string that was opened on the same line. In programs it does, in injected text it does not. */
function closesString(input: NormalizedText, at: number): boolean {
  const mark = unitAt(input, at);
  for (let index = at - 1; index >= Math.max(0, at - MAX_STRING_LENGTH); index--) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === NEWLINE) return false;
    if (code === mark) return !isInClass(unitAt(input, index - 1), WORD);
  }
  return false;
}

const CONDITION_OPERATORS = splitWords(`
  or and xor having where like rlike regexp glob is in between not
`);
/** What follows a quote: closing parentheses, an operator that joins conditions, and a condition. */
export const joinedCondition: Matcher = seq(
  whitespaceMatcher(times(0, 8, oneOf(") \n+")), ")+"),
  choice(keyword(CONDITION_OPERATORS), lit("||"), lit("&&")),
  sqlOws,
  quotedCondition,
);

/** Matches if the trigger starts with a quote that closes no string and follows a word, a number or a closing parenthesis. */
export const unpairedQuoteAfterValue: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  const follows = at === 0 || isInClass(before, WORD | QUOTE) || before === CLOSE_PAREN || before === PERCENT;
  return follows && !closesString(input, at) ? at : NO_MATCH;
};

export const afterQuoteOrNumber: LookBehind = (input, at) => {
  const mark = afterQuote(input, at);
  return mark >= 0 ? mark : afterNumber(input, at);
};

/** Matches if the trigger is a quote that closes no string. */
export const unpairedQuote: LookBehind = (input, at) => (closesString(input, at) ? NO_MATCH : at);

/** Matches the end of the line, after at most three dashes, plus signs or spaces. */
export const lineEnd: Matcher = seq(times(0, 3, oneOf("-+ ")), choice(end, peek(lit("\n")), seq(quote, end)));

/** After a quote that closes no string: operators with simple operands, up to a comment or quote. `x'-email--`, `aa'='aa`. */
export const operatorChain: Matcher = seq(
  sqlOws,
  times(1, 3, oneOf("=<>!|&^*/%+-")),
  not(lit("''")),
  times(
    0,
    12,
    choice(
      run(WHITESPACE, 1, 2),
      oneOf("=<>!|&^*/%+-().~@"),
      digits,
      seq(
        keyword(
          splitWords(`
    is not null or and like regexp xor sounds binary in
  `),
        ),
      ),
      seq(identifier, not(seq(run(WHITESPACE, 1, 1), identifier))),
    ),
  ),
  choice(
    lit("--"),
    seq(lit("#"), choice(end, run(WORD, 1, 8))),
    seq(lit("'"), run(WORD, 0, 12), choice(end, peek(oneOf("='")))),
  ),
);
