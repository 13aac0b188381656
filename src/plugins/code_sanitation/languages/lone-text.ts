// Texts that consist of one piece of code. A name such as `strrev` is ordinary inside a program, but a form field or a message
// that has nothing but a call of it is a probe.
import { isInClass, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { DOT } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { choice, lit, oneOf, seq, skipTo, times } from "../combinators.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { end, identifier, ows } from "../tokens.ts";

/** How much punctuation may precede the code. */
const MAX_PUNCTUATION = 12;
/** Punctuation that ends a string, a statement or a tag before injected code. */
const BREAKOUT_PUNCTUATION = charSet(WHITESPACE, "'\"`;|&)}]>=,-+*/\\#%@{(<$.");

/** Matches at the start of a text or after a sentence, with at most punctuation in between. */
export const startsText: LookBehind = (input, at) => {
  let start = at;
  while (at - start < MAX_PUNCTUATION && charSetHas(BREAKOUT_PUNCTUATION, unitAt(input, start - 1))) start--;
  input.work.steps++;
  if (start <= 0) return 0;
  // Sentences before the code must not hide it.
  return unitAt(input, start) === DOT && unitAt(input, start + 1) === SPACE ? start + 1 : NO_MATCH;
};

const CLOSING = charSet(0, "'\"`;)}]");

/** Matches at the end of a text, with at most punctuation before it. */
export const endsText: Matcher = seq(times(0, 8, oneOf(";'\"`)}]>/*-#\\. ")), end);

const closesText = seq(lit(")"), endsText);
/** The arguments of a call that ends the text, without variables, as probes have them. The closing parenthesis may be missing. */
export const loneLiterals: Matcher = seq(lit("("), choice(seq(ows, end), skipTo(closesText, 120, "$;")));
/** The same, or one variable. */
export const loneArguments: Matcher = choice(
  seq(lit("("), ows, lit("$"), identifier, closesText),
  loneLiterals,
);

/** The same, also after one word: a value that a break-out ends (`x";`), or a name that the text is appended to. */
export const startsTextOrWord: LookBehind = (input, at) => {
  const { codes } = input;
  const closing = Math.max(0, at - MAX_PUNCTUATION);
  const first = Math.max(0, at - 2 * MAX_PUNCTUATION);
  let start = at;
  while (start > closing && charSetHas(CLOSING, codes[start - 1] ?? 0)) start--;
  while (start > first && isInClass(codes[start - 1] ?? 0, WORD)) start--;
  input.work.steps += (at - start) >> 2;
  return startsText(input, start);
};
