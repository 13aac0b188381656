// How injected SQL leaves the place it was put into: conditions that are always true, strings closed too early, comments that
// cut off the rest. What tells them from a program's own conditions is that both sides are constants, or that the
// quote before them closes nothing that was opened.
import { BLANK, isOf, NEWLINE, QUOTE, WORD } from "../char-classes.ts";
import {
  any,
  digits,
  end,
  gapRule,
  identifier,
  lit,
  NO_MATCH,
  not,
  oneOf,
  opt,
  peek,
  quote,
  run,
  seq,
  times,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import type { Rule } from "../rule.ts";
import { unitAt, type View } from "../view.ts";
import { apart, behindNumber, behindQuote, literal, operand, space, spaced } from "./sql-grammar.ts";

const QUOTED_STRING = 64;

/** Functions that reveal, measure or delay, and that no other language has under these names. */
const DISTINCTIVE = new Set(
  words(`
  user version database sleep char chr nchar substring substr mid ascii ord hex unhex if iif ifnull nullif
  db_name exists concat concat_ws group_concat load_file lpad rpad benchmark pg_sleep updatexml
  extractvalue elt json_extract json_depth json_keys likely unlikely likelihood glob current_user
  system_user session_user xmltype isnull utl_inaddr connection_id last_insert_id row cast convert
  sqlite_version to_char strcmp locate instr randomblob unistr schema found_rows row_count coalesce bin
  conv length starts_with overlay
`),
);
export const revealingCall: Rule = seq(
  times(0, 4, any(oneOf("(-+~!"), run(BLANK, 1, 2), seq(lit("not"), spaced))),
  word(DISTINCTIVE),
  space,
  lit("("),
);
const subquery = seq(times(1, 4, seq(lit("("), space)), lit("select"), wordEnd);
const symbolComparison = any(
  seq(oneOf("=<>"), times(0, 2, oneOf("=<>@"))),
  lit("!="),
  lit("<@"),
  lit("@>"),
  seq(lit("^"), lit("=")),
);
const cut = any(lit("--"), lit("#"), lit("/*"), lit(";%00"), lit("\\x00"));
const stringComparison = seq(
  opt(seq(lit("not"), spaced)),
  word(
    words(`
    like rlike regexp glob sounds between in is
  `),
  ),
);

/** `and 2 > 1`, `or 2 = 3?`: numbers compared with blanks around, and nothing of SQL behind; a sum, not a condition. */
const arithmetic: Rule = seq(
  digits,
  run(BLANK, 1, 1),
  oneOf("<>="),
  run(BLANK, 1, 1),
  digits,
  not(
    seq(
      space,
      any(cut, quote, oneOf(")&|"), word(["or", "and", "union", "group", "order", "limit", "having"])),
    ),
  ),
);
const sameNumbers: Rule = (view, at) => {
  const left = digits(view, at);
  if (left < 0) return NO_MATCH;
  for (let index = 0; index < left - at; index++) {
    if (unitAt(view, left + 3 + index) !== unitAt(view, at + index)) return NO_MATCH;
  }
  return unitAt(view, left + 1) === 0x3d ? wordEnd(view, left + 3 + left - at) : NO_MATCH;
};

/** `1=1`, `'a'='a'`, `2 > (select …)`, `1 = version()`: a condition whose left side is a constant. */
export const tautology: Rule = seq(
  peek(any(oneOf("'\"0123456789.+-~!(@"), word(["not", "null", "binary", "true", "false", "exists"]))),
  any(
    seq(
      not(seq(lit("@"), identifier, lit("="), quote)),
      any(peek(sameNumbers), not(arithmetic)),
      operand,
      space,
      symbolComparison,
      space,
      any(operand, revealingCall, subquery, seq(lit("("), space, any(digits, end)), quote),
    ),
    seq(
      operand,
      space,
      opt(seq(lit("not"), spaced)),
      any(
        seq(word(["like", "rlike", "regexp", "glob", "sounds"]), apart, operand),
        seq(lit("between"), apart, operand, space, lit("and"), apart, operand),
      ),
    ),
    seq(times(0, 3, seq(oneOf("(!~-+"), space)), opt(seq(lit("not"), apart)), subquery),
    seq(lit("exists"), space, lit("("), space, lit("select"), wordEnd),
  ),
);

/** Behind a quote that closes nothing: almost any condition. */
export const quotedCondition: Rule = any(
  tautology,
  revealingCall,
  seq(any(literal, identifier), space, any(symbolComparison, lit("!"), lit("||"))),
  seq(any(literal, identifier), spaced, stringComparison, wordEnd),
  seq(any(literal, identifier), spaced, word(["notnull", "isnull"])),
  seq(
    times(0, 6, any(oneOf("(+-~!"), run(BLANK, 1, 2), seq(lit("not"), space))),
    any(literal, identifier, lit("?")),
    times(0, 6, any(oneOf(")*/+-|&^%"), literal, run(BLANK, 1, 2))),
    any(cut, lit(";")),
  ),
  seq(oneOf("(+-~!@"), space, any(literal, quote, seq(lit("("), space))),
);

/** Behind a number: only what a program's own condition does not have there. */
export const numberCondition: Rule = any(
  revealingCall,
  seq(word(["true", "false", "null"]), space, any(end, cut)),
  seq(operand, space, cut),
  seq(lit("@@"), identifier),
  seq(lit("not"), apart, operand, space, any(cut, end, symbolComparison)),
);

/** Is this quote the end of a string that was opened on the same line? A program's are, an injected one's is not. */
function closesString(view: View, at: number): boolean {
  const mark = unitAt(view, at);
  for (let index = at - 1; index >= Math.max(0, at - QUOTED_STRING); index--) {
    view.work.steps++;
    const code = unitAt(view, index);
    if (code === NEWLINE) return false;
    if (code === mark) return !isOf(unitAt(view, index - 1), WORD);
  }
  return false;
}

const JOINING = words(`
  or and xor having where like rlike regexp glob is in between not
`);
/** Behind a quote: closing parentheses, a word or sign that joins conditions, and a condition. */
export const joinedCondition: Rule = seq(
  gapRule(times(0, 8, oneOf(") \n+")), ")+"),
  any(word(JOINING), lit("||"), lit("&&")),
  space,
  quotedCondition,
);

/** The trigger opens with a quote that closes nothing, behind a word, a number or a closing parenthesis. */
export const strayQuote: Before = (view, at) => {
  const before = unitAt(view, at - 1);
  const follows = at === 0 || isOf(before, WORD | QUOTE) || before === 0x29 || before === 0x25;
  return follows && !closesString(view, at) ? at : NO_MATCH;
};

export const behindQuoteOrNumber: Before = (view, at) => {
  const mark = behindQuote(view, at);
  return mark >= 0 ? mark : behindNumber(view, at);
};

/** The trigger is a quote that closes nothing. */
export const unpairedQuote: Before = (view, at) => (closesString(view, at) ? NO_MATCH : at);

/** The statement ends here: nothing but dashes, a plus and blanks before the line's end. */
export const lineEnd: Rule = seq(times(0, 3, oneOf("-+ ")), any(end, peek(lit("\n")), seq(quote, end)));

/** Behind a quote that closes nothing: an operator, something simple, and the next quote or a cut. `x'-email--`, `aa'='aa`. */
export const operatorChain: Rule = seq(
  space,
  times(1, 3, oneOf("=<>!|&^*/%+-")),
  not(lit("''")),
  times(
    0,
    12,
    any(
      run(BLANK, 1, 2),
      oneOf("=<>!|&^*/%+-().~@"),
      digits,
      seq(
        word(
          words(`
    is not null or and like regexp xor sounds binary in
  `),
        ),
      ),
      seq(identifier, not(seq(run(BLANK, 1, 1), identifier))),
    ),
  ),
  any(
    lit("--"),
    seq(lit("#"), any(end, run(WORD, 1, 8))),
    seq(lit("'"), run(WORD, 0, 12), any(end, peek(oneOf("='")))),
  ),
);
