// Grammars without backtracking: a rule reads forward from a position and answers where it ended, or -1. Every
// repetition has a bound, so that a rule's work is bounded however hostile the text is.
import { BLANK, DIGIT, isOf, lower, QUOTE, WORD } from "./char-classes.ts";
import { unitAt, type View } from "./view.ts";

export type Rule = (view: View, at: number) => number;
/** Looks back from the start of a trigger: answers where the match starts, or -1. */
export type Before = (view: View, at: number) => number;

export const NO_MATCH = -1;
const LONGEST_WORD = 40;

/** Literal text, ASCII case aside. */
export function lit(text: string): Rule {
  const wanted = [...text.toLowerCase()].map((character) => character.charCodeAt(0));
  return (view, at) => {
    view.work.steps++;
    for (let index = 0; index < wanted.length; index++) {
      if (lower(unitAt(view, at + index)) !== wanted[index]) return NO_MATCH;
    }
    return at + wanted.length;
  };
}

export function seq(...rules: readonly Rule[]): Rule {
  return (view, at) => {
    let end = at;
    for (const rule of rules) {
      end = rule(view, end);
      if (end < 0) return NO_MATCH;
    }
    return end;
  };
}

/** The first rule that matches. */
export function any(...rules: readonly Rule[]): Rule {
  return (view, at) => {
    for (const rule of rules) {
      const end = rule(view, at);
      if (end >= 0) return end;
    }
    return NO_MATCH;
  };
}

export function opt(rule: Rule): Rule {
  return (view, at) => {
    const end = rule(view, at);
    return end < 0 ? at : end;
  };
}

/** As often as it matches, from `least` to `most` times. */
export function times(least: number, most: number, rule: Rule): Rule {
  return (view, at) => {
    let end = at;
    for (let count = 0; count < most; count++) {
      const next = rule(view, end);
      if (next < 0 || next === end) return count < least ? NO_MATCH : end;
      end = next;
    }
    return end;
  };
}

/** Matches nothing, where the rule does not match. */
export function not(rule: Rule): Rule {
  return (view, at) => (rule(view, at) < 0 ? at : NO_MATCH);
}

/** Matches nothing, where the rule matches. */
export function peek(rule: Rule): Rule {
  return (view, at) => (rule(view, at) < 0 ? NO_MATCH : at);
}

/** One unit of the characters named. */
export function oneOf(characters: string): Rule {
  const wanted = new Set([...characters].map((character) => lower(character.charCodeAt(0))));
  return (view, at) => {
    view.work.steps++;
    return at < view.length && wanted.has(lower(unitAt(view, at))) ? at + 1 : NO_MATCH;
  };
}

/** A run of units of a class, `least` to `most` of them. */
export function run(classBits: number, least: number, most: number): Rule {
  return (view, at) => {
    let end = at;
    while (end - at < most && end < view.length && isOf(unitAt(view, end), classBits)) end++;
    view.work.steps += end - at + 1;
    return end - at < least ? NO_MATCH : end;
  };
}

/** Any units but the characters named, `least` to `most` of them. */
export function except(characters: string, least: number, most: number): Rule {
  const stops = new Set([...characters].map((character) => character.charCodeAt(0)));
  return (view, at) => {
    let end = at;
    while (end - at < most && end < view.length && !stops.has(unitAt(view, end))) end++;
    view.work.steps += end - at + 1;
    return end - at < least ? NO_MATCH : end;
  };
}

/** Goes forward at most `most` units to where the rule matches, not past any of the characters named. */
export function upTo(rule: Rule, most: number, stops = ""): Rule {
  const stopping = new Set([...stops].map((character) => character.charCodeAt(0)));
  return (view, at) => {
    for (let from = at; from <= at + most && from <= view.length; from++) {
      view.work.steps++;
      const end = rule(view, from);
      if (end >= 0) return end;
      if (stopping.has(unitAt(view, from))) return NO_MATCH;
    }
    return NO_MATCH;
  };
}

/** A whole word, ASCII case aside, that is one of those listed. */
export function word(words: readonly string[] | ReadonlySet<string>): Rule {
  const known = words instanceof Set ? words : new Set(words);
  return (view, at) => {
    const end = wordRun(view, at);
    return end > at && end - at < LONGEST_WORD && known.has(lowerText(view, at, end)) ? end : NO_MATCH;
  };
}

export function wordRun(view: View, at: number): number {
  let end = at;
  while (end - at < LONGEST_WORD && end < view.length && isOf(unitAt(view, end), WORD)) end++;
  view.work.steps += end - at + 1;
  return end;
}

export function lowerText(view: View, from: number, to: number): string {
  let text = "";
  for (let index = from; index < to; index++) text += String.fromCharCode(lower(unitAt(view, index)));
  return text;
}

/** Text as it stands, case included; the view keeps it. */
export function exact(text: string): Rule {
  return (view, at) => {
    view.work.steps++;
    for (let index = 0; index < text.length; index++) {
      if (unitAt(view, at + index) !== text.charCodeAt(index)) return NO_MATCH;
    }
    return at + text.length;
  };
}

/** The end of the text, blanks aside. */
export const end: Rule = (view, at) => (blanks(view, at) >= view.length ? at : NO_MATCH);
export const wordEnd: Rule = (view, at) => (isOf(unitAt(view, at), WORD) ? NO_MATCH : at);
/** Blanks, or none. A view holds one for a run of them, a removed comment may leave another. */
export const blanks: Rule = run(BLANK, 0, 4);
export const gap: Rule = run(BLANK, 1, 4);
export const digits: Rule = run(DIGIT, 1, 24);
export const identifier: Rule = seq(not(run(DIGIT, 1, 1)), run(WORD, 1, LONGEST_WORD));
export const quote: Rule = run(QUOTE, 1, 1);

/** A string in quotes, the closing one of the same kind, at most `most` units inside. */
export function quoted(most: number): Rule {
  return (view, at) => {
    const opening = unitAt(view, at);
    if (!isOf(opening, QUOTE)) return NO_MATCH;
    for (let index = at + 1; index <= at + most + 1 && index < view.length; index++) {
      view.work.steps++;
      if (unitAt(view, index) === opening) return index + 1;
    }
    return NO_MATCH;
  };
}

/** Blanks and comments, as they may stand between a function's name and its parenthesis. */
const lineComment = seq(any(lit("//"), lit("#")), except("\n", 0, 80), lit("\n"));
const blockComment = seq(lit("/*"), upTo(lit("*/"), 80));
export const blanksAndComments: Rule = times(0, 6, any(run(BLANK, 1, 4), lineComment, blockComment));

export const atWordStart: Before = (view, at) => (isOf(unitAt(view, at - 1), WORD) ? NO_MATCH : at);

/** Skips blanks backwards; answers the position behind the last unit that is none. */
export function blanksBack(view: View, at: number): number {
  let position = at;
  while (position > 0 && at - position < 4 && isOf(unitAt(view, position - 1), BLANK)) position--;
  view.work.steps++;
  return position;
}

/** The word that ends at a position, in lower case; empty where there is none. */
export function wordBack(view: View, at: number): string {
  let from = at;
  while (from > 0 && at - from < LONGEST_WORD && isOf(unitAt(view, from - 1), WORD)) from--;
  view.work.steps += at - from + 1;
  return lowerText(view, from, at);
}

/** The trigger stands as a word of its own, behind one of the characters named (blanks aside). */
export function after(characters: string): Before {
  const wanted = new Set([...characters].map((character) => character.charCodeAt(0)));
  return (view, at) => {
    if (isOf(unitAt(view, at - 1), WORD)) return NO_MATCH;
    const position = blanksBack(view, at);
    return wanted.has(unitAt(view, position - 1)) ? position - 1 : NO_MATCH;
  };
}
