// Grammars without backtracking: a rule reads forward from a position and answers where it ended, or -1. Every
// repetition has a bound, so that a rule's work is bounded however hostile the text is.
import { BLANK, DIGIT, isOf, lower, QUOTE, WORD } from "./char-classes.ts";
import { edge, edgeOf, edgeOfLetters, EDGE_SIZE } from "./edge.ts";
import { openingOf, openingOfTexts, opens } from "./opening.ts";
import {
  isAtHand,
  like,
  neededBy,
  readingNothing,
  startingWith,
  startsOfChoice,
  startsOfSequence,
  type Rule,
} from "./rule.ts";
import { unitAt, type View } from "./view.ts";

/** Looks back from the start of a trigger: answers where the match starts, or -1. */
export type Before = (view: View, at: number) => number;

export const NO_MATCH = -1;
const LONGEST_WORD = 40;

/** Marks of the characters named, both cases of letters. Units beyond the table are none of them. */
export function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(0x80);
  for (const character of characters.toLowerCase() + characters.toUpperCase())
    table[character.charCodeAt(0)] = 1;
  return table;
}

const literals = new Map<string, Rule>();

/** Literal text, ASCII case aside; one rule for all who want the same. */
export function lit(text: string): Rule {
  let rule = literals.get(text);
  if (rule === undefined) literals.set(text, (rule = literal(text)));
  return rule;
}

function literal(text: string): Rule {
  const wanted = Array.from(text.toLowerCase(), (character) => character.charCodeAt(0));
  const first = wanted[0];
  return startingWith(openingOfTexts([text]), (view, at) => {
    view.work.steps++;
    if (lower(unitAt(view, at)) !== first) return NO_MATCH;
    for (let index = 1; index < wanted.length; index++) {
      if (lower(unitAt(view, at + index)) !== wanted[index]) return NO_MATCH;
    }
    return at + wanted.length;
  });
}

export function seq(...rules: readonly Rule[]): Rule {
  const starts = startsOfSequence(rules);
  const needed = neededBy({ starts });
  const count = rules.length;
  const read = (view: View, at: number): number => {
    if (!isAtHand(needed, view, at)) return NO_MATCH;
    let end = at;
    for (let index = 0; index < count; index++) {
      end = (rules[index] as Rule)(view, end);
      if (end < 0) return NO_MATCH;
    }
    return end;
  };
  return starts === undefined ? read : Object.assign(read, { starts });
}

/** The first rule that matches. */
export function any(...rules: readonly Rule[]): Rule {
  // By unit, filled as units come: most of the choices that could be prepared are never asked for.
  let byUnit: (Rule[] | undefined)[] | null = null;
  const read = (view: View, at: number): number => {
    const code = Math.min(unitAt(view, at), EDGE_SIZE - 1);
    byUnit ??= new Array<Rule[] | undefined>(EDGE_SIZE).fill(undefined);
    const candidates = (byUnit[code] ??= rulesFor(rules, code));
    for (let index = 0; index < candidates.length; index++) {
      const end = (candidates[index] as Rule)(view, at);
      if (end >= 0) return end;
    }
    return NO_MATCH;
  };
  const starts = startsOfChoice(rules);
  return starts === undefined ? read : Object.assign(read, { starts });
}

/** The rules to ask when this unit is at hand. */
function rulesFor(rules: readonly Rule[], code: number): Rule[] {
  return rules.filter((rule) => {
    const needed = neededBy(rule);
    return needed === null || needed.opening[code] !== 0;
  });
}

export function opt(rule: Rule): Rule {
  const needed = neededBy(rule);
  return like(rule, true, (view, at) => {
    if (!isAtHand(needed, view, at)) return at;
    const end = rule(view, at);
    return end < 0 ? at : end;
  });
}

/** As often as it matches, from `least` to `most` times. */
export function times(least: number, most: number, rule: Rule): Rule {
  const needed = neededBy(rule);
  return like(rule, least === 0, (view, at) => {
    let end = at;
    for (let count = 0; count < most; count++) {
      const next = isAtHand(needed, view, end) ? rule(view, end) : NO_MATCH;
      if (next < 0 || next === end) return count < least ? NO_MATCH : end;
      end = next;
    }
    return end;
  });
}

/** Matches nothing, where the rule does not match. */
export function not(rule: Rule): Rule {
  const needed = neededBy(rule);
  const read = (view: View, at: number) =>
    isAtHand(needed, view, at) && rule(view, at) >= 0 ? NO_MATCH : at;
  return readingNothing(read);
}

/** Matches nothing, where the rule matches. */
export function peek(rule: Rule): Rule {
  return like(rule, false, (view, at) => (rule(view, at) < 0 ? NO_MATCH : at));
}

const choices = new Map<string, Rule>();

/** One unit of the characters named; one rule for all who want the same. */
export function oneOf(characters: string): Rule {
  let rule = choices.get(characters);
  if (rule === undefined) choices.set(characters, (rule = unitOf(characters)));
  return rule;
}

function unitOf(characters: string): Rule {
  const wanted = tableOf(characters);
  return startingWith(openingOf(edgeOfLetters(characters)), (view, at) => {
    view.work.steps++;
    return at < view.length && wanted[unitAt(view, at)] === 1 ? at + 1 : NO_MATCH;
  });
}

/** A run of units of a class, `least` to `most` of them. */
export function run(classBits: number, least: number, most: number): Rule {
  const read = (view: View, at: number): number => {
    let end = at;
    while (end - at < most && end < view.length && isOf(unitAt(view, end), classBits)) end++;
    view.work.steps += end - at + 1;
    return end - at < least ? NO_MATCH : end;
  };
  const rule = startingWith(openingOf(edge(classBits)), read, least === 0);
  return classBits === BLANK && least <= 1 ? Object.assign(rule, { skips: edge(BLANK) }) : rule;
}

/** Any units but the characters named, `least` to `most` of them. */
export function except(characters: string, least: number, most: number): Rule {
  const stops = tableOf(characters);
  return (view, at) => {
    let end = at;
    while (end - at < most && end < view.length && stops[unitAt(view, end)] !== 1) end++;
    view.work.steps += end - at + 1;
    return end - at < least ? NO_MATCH : end;
  };
}

/** Goes forward at most `most` units to where the rule matches, not past any of the characters named. */
export function upTo(rule: Rule, most: number, stops = ""): Rule {
  const stopping = tableOf(stops);
  const needed = neededBy(rule);
  return (view, at) => {
    for (let from = at; from <= at + most && from <= view.length; from++) {
      view.work.steps++;
      const end = isAtHand(needed, view, from) ? rule(view, from) : NO_MATCH;
      if (end >= 0) return end;
      if (stopping[unitAt(view, from)] === 1) return NO_MATCH;
    }
    return NO_MATCH;
  };
}

/** A whole word, ASCII case aside, that is one of those listed. */
export function word(words: readonly string[] | ReadonlySet<string>): Rule {
  const known = new WordSet(words);
  const opening = openingOfTexts(words);
  return startingWith(opening, (view, at) => {
    if (!opens(opening, unitAt(view, at), unitAt(view, at + 1))) return NO_MATCH;
    const end = wordRun(view, at);
    return end > at && end - at < LONGEST_WORD && known.has(view, at, end) ? end : NO_MATCH;
  });
}

/** A set of words that is asked about stretches of a view; most answers need only the first letter and the length. */
export class WordSet {
  readonly #words: ReadonlySet<string>;
  /** Made when it is first needed: most sets never are. */
  #hashes: ReadonlySet<number> | null = null;
  /** By first letter: a bit for each length that its words have. */
  readonly #lengths = new Int32Array(0x80);

  constructor(words: Iterable<string>) {
    this.#words = new Set(words);
    for (const name of this.#words) {
      const first = name.charCodeAt(0);
      this.#lengths[first] = (this.#lengths[first] ?? 0) | (1 << name.length);
    }
  }

  has(view: View, from: number, to: number): boolean {
    const lengths = this.#lengths[lower(unitAt(view, from))] ?? 0;
    if ((lengths & (1 << (to - from))) === 0) return false;
    let hash = 0;
    for (let index = from; index < to; index++) hash = (Math.imul(hash, 31) + lower(unitAt(view, index))) | 0;
    this.#hashes ??= new Set(Array.from(this.#words, hashOf));
    return this.#hashes.has(hash) && this.#words.has(lowerText(view, from, to));
  }
}

function hashOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return hash;
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
  return startingWith(openingOfTexts([text]), (view, at) => {
    view.work.steps++;
    for (let index = 0; index < text.length; index++) {
      if (unitAt(view, at + index) !== text.charCodeAt(index)) return NO_MATCH;
    }
    return at + text.length;
  });
}

const BLANK_OR_END = openingOf(edgeOf((code) => code === 0 || isOf(code, BLANK)));
/** The end of the text, blanks aside. */
export const end: Rule = Object.assign(
  (view: View, at: number) => (blanks(view, at) >= view.length ? at : NO_MATCH),
  { starts: { opening: BLANK_OR_END, mayBeEmpty: false, behindBlank: BLANK_OR_END } },
);
export const wordEnd: Rule = readingNothing((view, at) => (isOf(unitAt(view, at), WORD) ? NO_MATCH : at));
/** Blanks, or none. A view holds one for a run of them, a removed comment may leave another. */
export const blanks: Rule = run(BLANK, 0, 4);
export const gap: Rule = run(BLANK, 1, 4);
export const digits: Rule = run(DIGIT, 1, 24);
export const identifier: Rule = seq(not(run(DIGIT, 1, 1)), run(WORD, 1, LONGEST_WORD));
export const quote: Rule = run(QUOTE, 1, 1);

/** A string in quotes, the closing one of the same kind, at most `most` units inside. */
export function quoted(most: number): Rule {
  return startingWith(openingOf(edge(QUOTE)), (view, at) => {
    const opening = unitAt(view, at);
    if (!isOf(opening, QUOTE)) return NO_MATCH;
    for (let index = at + 1; index <= at + most + 1 && index < view.length; index++) {
      view.work.steps++;
      if (unitAt(view, index) === opening) return index + 1;
    }
    return NO_MATCH;
  });
}

/** A rule for gaps, with the way out that nearly every gap takes: one blank, and then none of the characters named. */
export function gapRule(rule: Rule, goesOn: string): Rule {
  const slow = tableOf(` \n${goesOn}`);
  const read = like(rule, false, (view, at) => {
    const isOneBlank = isOf(unitAt(view, at), BLANK) && slow[unitAt(view, at + 1)] !== 1;
    return isOneBlank ? at + 1 : rule(view, at);
  });
  return Object.assign(read, { skips: edge(BLANK, goesOn) });
}

/** Blanks and comments, as they may stand between a function's name and its parenthesis. */
const lineComment = seq(any(lit("//"), lit("#")), except("\n", 0, 80), lit("\n"));
const blockComment = seq(lit("/*"), upTo(lit("*/"), 80));
export const blanksAndComments: Rule = gapRule(
  times(0, 6, any(run(BLANK, 1, 4), lineComment, blockComment)),
  "/#",
);

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

/** The words of a text: lists of names read better as lines than as one quoted string each. */
export function words(text: string): string[] {
  return text.split(/\s+/).filter((name) => name !== "");
}
