// What precedes a backtick: conditions that distinguish the substitution of a command from Markdown and from templates of programs.
import { isInClass, LETTER, NEWLINE, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { BACKTICK, DOLLAR, EQUALS, OPEN_BRACE, OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas } from "../char-set.ts";
import { requiring, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { precededByPairs } from "../required-before.ts";
import { stepsOfLoop } from "./shell-grammar.ts";

const CODE_BEFORE_BACKTICK = charSet(WORD, "=;&\"'$@-");
const AFTER_CODE = precededByPairs([
  [CODE_BEFORE_BACKTICK, null],
  [charSet(0, "({"), charSet(0, "$")],
]);
/** Matches if code precedes the backtick directly. In Markdown, a space or an opening bracket precedes it. */
export const backtickAfterCode: LookBehind = requiring(AFTER_CODE, (input, at) => {
  const before = unitAt(input, at - 1);
  if (charSetHas(CODE_BEFORE_BACKTICK, before)) return isScriptAssignment(input, at) ? NO_MATCH : at;
  const isNested = before === OPEN_PAREN || before === OPEN_BRACE;
  return isNested && unitAt(input, at - 2) === DOLLAR ? at : NO_MATCH;
});

const MENTION_LENGTH = 40;
/** Matches unless a string starts with a name in backticks and continues with a word: "`id` is required". */
export const notMentionedInString: LookBehind = (input, at) => {
  if (!isInClass(unitAt(input, at - 1), QUOTE)) return at;
  let close = at + 1;
  while (close - at < MENTION_LENGTH && close < input.length && unitAt(input, close) !== BACKTICK) close++;
  input.work.steps += stepsOfLoop(close - at);
  return isInClass(unitAt(input, close + 1), WHITESPACE) && isInClass(unitAt(input, close + 2), LETTER)
    ? NO_MATCH
    : at;
};

/** Matches if the backtick is the start of a call's argument: `print(`id`)`. */
export const backtickInCall: LookBehind = requiring(
  precededByPairs([[charSet(0, "("), charSet(WORD)]]),
  (input, at) =>
    unitAt(input, at - 1) === OPEN_PAREN && isInClass(unitAt(input, at - 2), WORD) ? at : NO_MATCH,
);

/** Returns whether the backtick is the value of an assignment on a line of its own, which is a line of a script. */
function isScriptAssignment(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at - 1) !== EQUALS) return false;
  const start = at - 1 - wordBefore(input, at - 1).length;
  return start > 1 && unitAt(input, start - 1) === NEWLINE;
}

/** Matches unless a word and a space precede, as in "the `ls` command". */
export const backtickOutsideProse: LookBehind = requiring(
  precededByPairs([
    [charSet(WHITESPACE | WORD), charSetExcept(LETTER)],
    [charSetExcept(WHITESPACE | WORD), null],
  ]),
  (input, at) =>
    isInClass(unitAt(input, at - 1), WHITESPACE | WORD) && isInClass(unitAt(input, at - 2), LETTER)
      ? NO_MATCH
      : at,
);
