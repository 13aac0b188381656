// Look-behind: conditions on the text before a trigger.
import { isInClass, WHITESPACE, WORD } from "./char-classes.ts";
import { charSet, charSetHas } from "./char-set.ts";
import { lowerCaseText, MAX_WORD_LENGTH } from "./keyword-set.ts";
import { NO_MATCH } from "./matcher.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import type { RequiredBefore } from "./required-before.ts";
import { stepsToRead } from "./work-budget.ts";

type LookBehindFunction = (input: NormalizedText, at: number) => number;

/** Looks back from the start of a trigger and returns the start of the match, or NO_MATCH. */
export interface LookBehind extends LookBehindFunction {
  /** The last position where it can match. Undefined: it can match anywhere. */
  readonly maxPosition?: number;
  /** What must precede for a match; the look-behind is called only if it does. Undefined: anything. */
  readonly requiredBefore?: RequiredBefore;
}

/** Returns a look-behind that matches at most at `maxPosition`. The detector does not try its patterns in the rest of a text. */
export function nearTextStart(maxPosition: number, match: LookBehindFunction): LookBehind {
  const limited = (input: NormalizedText, at: number) => (at > maxPosition ? NO_MATCH : match(input, at));
  return Object.assign(limited, { maxPosition });
}

/** Returns a look-behind that matches only if the condition is met. */
export function requiring(requiredBefore: RequiredBefore, match: LookBehindFunction): LookBehind {
  return Object.assign(match, { requiredBefore });
}

export const atWordStart: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WORD) ? NO_MATCH : at;

/** Returns the position after the last unit before `at` that is not whitespace. */
export function skipWhitespaceBack(input: NormalizedText, at: number): number {
  let position = at;
  while (position > 0 && at - position < 4 && isInClass(unitAt(input, position - 1), WHITESPACE)) position--;
  input.work.steps++;
  return position;
}

/** Returns the word that ends at a position, in lower case; empty if there is none. */
export function wordBefore(input: NormalizedText, at: number): string {
  let from = at;
  while (from > 0 && at - from < MAX_WORD_LENGTH && isInClass(unitAt(input, from - 1), WORD)) from--;
  input.work.steps += stepsToRead(at - from);
  return lowerCaseText(input, from, at);
}

/** Returns a look-behind that matches if one of the characters precedes directly. */
export function afterOneOf(characters: string): LookBehind {
  const allowed = charSet(0, characters);
  return (input, at) => (charSetHas(allowed, unitAt(input, at - 1)) ? at : NO_MATCH);
}

/** Returns a look-behind that matches if one of the characters precedes, with optional whitespace in between. */
export function afterOneOfAndOws(characters: string): LookBehind {
  const allowed = charSet(0, characters);
  return (input, at) =>
    charSetHas(allowed, unitAt(input, skipWhitespaceBack(input, at) - 1)) ? at : NO_MATCH;
}
