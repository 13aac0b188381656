// What the HTML patterns share: whether a position is inside of a tag, and what may follow a tag name.
import { isInClass, LETTER, QUOTE, WHITESPACE } from "../../char-classes.ts";
import { DASH, EQUALS, GREATER, LESS, SLASH } from "../../char-codes.ts";
import { charSet, charSetHas } from "../../char-set.ts";
import { choice, keyword, lit, not, oneOf, run, seq, times } from "../../combinators.ts";
import { skipWhitespaceBack, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt, type NormalizedText } from "../../normalized-text.ts";
import { end, ows } from "../../tokens.ts";
import { stepsToRead } from "../../work-budget.ts";

/** How far to look back for the start of a tag. */
const MAX_TAG_LENGTH = 200;
/** Units that may follow the `<` of a tag. */
const TAG_START = charSet(LETTER, "/!?");

/** Returns whether a `<` with a tag name precedes, without a `>` in between. */
export function isInTag(input: NormalizedText, at: number): boolean {
  const { codes } = input;
  const first = Math.max(0, at - MAX_TAG_LENGTH);
  let index = at - 1;
  let isTag = false;
  for (; index >= first; index--) {
    const code = codes[index] ?? 0;
    if (code !== LESS && code !== GREATER) continue;
    isTag = code === LESS && charSetHas(TAG_START, codes[index + 1] ?? 0);
    if (isTag || (code === GREATER && codes[index - 1] !== EQUALS)) break;
  }
  input.work.steps += stepsToRead(at - index);
  return isTag;
}

export const inTag: LookBehind = (input, at) => (isInTag(input, at) ? at : NO_MATCH);

/** How far to look back for a tag before a break-out: a page that is pasted as a whole has one. */
const MAX_UNTAGGED_LENGTH = 120;

/** Matches if no tag starts before: the text begins inside of a value, not with markup of its own. */
export const beforeAnyTag: LookBehind = (input, at) => {
  const { codes } = input;
  const first = Math.max(0, at - MAX_UNTAGGED_LENGTH);
  let index = at - 1;
  while (index >= first && codes[index] !== LESS) index--;
  input.work.steps += stepsToRead(at - index);
  return index < first ? at : NO_MATCH;
};

/** Matches after `">`, `/>` or `-->` that closes a tag or comment which the text itself did not open. */
export const afterForeignTag: LookBehind = (input, at) => {
  const close = skipWhitespaceBack(input, at) - 1;
  if (unitAt(input, close) !== GREATER) return NO_MATCH;
  const last = skipWhitespaceBack(input, close) - 1;
  const code = unitAt(input, last);
  const closes = isInClass(code, QUOTE) || code === SLASH || code === DASH;
  return closes && beforeAnyTag(input, last) >= 0 ? last : NO_MATCH;
};

/** Matches what may follow a tag name. */
export const tagEnd: Matcher = choice(end, oneOf(" \n/>\"'`;:<\\%&("));

/** The rest of `the <script> tag`: prose about the tag. */
export const mentionInProse: Matcher = seq(
  lit(">"),
  times(0, 2, oneOf("`'\"")),
  run(WHITESPACE, 1, 1),
  keyword(["tag", "tags", "element"]),
  not(seq(ows, oneOf("=(;[{<"))),
);
