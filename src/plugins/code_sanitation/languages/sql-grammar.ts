// What SQL's patterns are made of: gaps, operands and comparisons as injected text has them.
import { BLANK, DIGIT, HEX, isOf, LETTER, QUOTE, WORD } from "../char-classes.ts";
import { edgeWithout } from "../edge.ts";
import {
  any,
  digits,
  end,
  except,
  gapRule,
  identifier,
  lit,
  NO_MATCH,
  not,
  oneOf,
  opt,
  peek,
  quoted,
  run,
  seq,
  tableOf,
  times,
  upTo,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import type { Rule } from "../rule.ts";
import { unitAt, type View } from "../view.ts";

const comment = any(
  seq(lit("/*"), upTo(lit("*/"), 80)),
  seq(any(lit("--"), lit("#")), except("\n", 0, 80), lit("\n")),
);
/** What SQL reads as a blank, or nothing. `+` is a blank of form encoding. */
const gapPart = any(run(BLANK, 1, 4), comment, lit("+"));
export const space: Rule = gapRule(times(0, 6, gapPart), "/-#+");
export const spaced: Rule = gapRule(times(1, 6, gapPart), "/-#+");
/** A gap between words; an opening parenthesis or quote needs none. */
export const apart: Rule = any(spaced, peek(oneOf("('\"`@[{")));
/** The rest of the statement is cut off. */
export const terminator: Rule = seq(space, any(lit("--"), lit("#"), lit("/*"), lit(";"), end));

const number = any(
  seq(lit("0x"), run(HEX, 0, 64)),
  seq(digits, opt(seq(lit("."), run(DIGIT, 0, 24))), opt(seq(oneOf("e"), digits))),
  seq(lit("."), digits),
);
export const literal: Rule = any(
  number,
  seq(not(lit("`")), quoted(64)),
  seq(lit("@"), run(WORD, 0, 40)),
  word(["null", "true", "false"]),
);
/** A literal with the signs, parentheses and casts that tools put before it. */
export const operand: Rule = seq(
  times(0, 6, any(oneOf("+-~!("), run(BLANK, 1, 4), seq(word(["not", "binary"]), space))),
  literal,
  opt(seq(lit("::"), run(WORD, 1, 20))),
  times(0, 3, seq(space, lit(")"))),
);

const COMPARING_WORDS = words(`
  like rlike regexp glob between in is sounds div mod notnull isnull similar ilike collate
`);
export const comparison: Rule = any(
  seq(oneOf("=<>!^"), times(0, 2, oneOf("=<>"))),
  seq(opt(seq(lit("not"), space)), word(COMPARING_WORDS)),
);
export const plainComparison: Rule = any(
  seq(not(lit("=>")), oneOf("=<>"), times(0, 2, oneOf("=<>"))),
  lit("!="),
  seq(
    opt(seq(lit("not"), space)),
    word(
      words(`
    like rlike regexp glob between in is sounds
  `),
    ),
  ),
);

/** Behind SELECT: the start of a list that prose would not have there. */
export const selectList: Rule = any(
  end,
  seq(
    space,
    any(
      seq(not(lit("--")), oneOf("(@*'\"`-+!~0123456789{[\\%")),
      seq(lit("."), digits),
      terminator,
      seq(
        word(
          words(`
    null all distinct distinctrow top true false unhex hex case
  `),
        ),
        any(apart, oneOf(",("), end),
      ),
      seq(
        identifier,
        times(0, 3, seq(oneOf(".:"), run(WORD, 1, 40))),
        space,
        any(oneOf(",(`"), lit("||"), seq(lit("from"), wordEnd), terminator),
      ),
    ),
  ),
);

const CLOSING = tableOf(") \n+");

/** Back over blanks and closing parentheses. */
function beforeClosing(view: View, at: number): number {
  let position = at;
  while (at - position < 8 && CLOSING[unitAt(view, position - 1)] === 1) position--;
  view.work.steps += at - position + 1;
  return position - 1;
}

/** Where a string was closed: the keyword comes behind a quote, with blanks and parentheses between. */
export const behindQuote: Before = (view, at) => {
  const mark = beforeClosing(view, at);
  return isOf(unitAt(view, mark), QUOTE) ? mark : NO_MATCH;
};

/** Behind a number, parentheses between: `1) or`. */
export const behindNumber: Before = (view, at) => {
  const mark = beforeClosing(view, at);
  return isOf(unitAt(view, mark), DIGIT) ? mark : NO_MATCH;
};

/** A keyword may touch a number or a quote (`1union`, `'or`), but not a letter. */
export const NOT_LETTER = edgeWithout(LETTER, "_\x80");
