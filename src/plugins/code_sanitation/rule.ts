// A rule of a grammar, and what it can start with: most rules that are asked cannot match, and this tells without asking.
import { BLANK, isOf, NEWLINE, SPACE } from "./char-classes.ts";
import type { Edge } from "./edge.ts";
import { joinOpenings, opens, OPENS_NOTHING, openingOf, type Opening } from "./opening.ts";
import { unitAt, type View } from "./view.ts";

export type Read = (view: View, at: number) => number;

/** Reads forward from a position and answers where it ended, or -1. */
export interface Rule extends Read {
  /** Absent, it can start with anything. */
  readonly starts?: Starts;
  /** It reads a blank wherever one stands, and behind that goes on with nothing but these. */
  readonly skips?: Edge;
}

export interface Starts {
  readonly opening: Opening;
  /** It may match without reading anything. */
  readonly mayBeEmpty: boolean;
  /** What may stand behind a blank that it starts with; null for anything. */
  readonly behindBlank: Opening | null;
}

export function startingWith(opening: Opening, read: Read, mayBeEmpty = false): Rule {
  const withBlank = opening[SPACE] !== 0 || opening[NEWLINE] !== 0;
  return Object.assign(read, {
    starts: { opening, mayBeEmpty, behindBlank: withBlank ? null : OPENS_NOTHING },
  });
}

/** A rule that looks at what is at hand and reads none of it. */
export function readingNothing(read: Read): Rule {
  return startingWith(OPENS_NOTHING, read, true);
}

/** A rule that starts as another does. */
export function like({ starts }: Rule, mayBeEmpty: boolean, read: Read): Rule {
  if (starts === undefined) return read;
  return Object.assign(read, { starts: { ...starts, mayBeEmpty: mayBeEmpty || starts.mayBeEmpty } });
}

/** What must be at hand for a rule to match; null where that may be anything. */
export function neededBy({ starts }: { readonly starts?: Starts | undefined }): Starts | null {
  return starts === undefined || starts.mayBeEmpty ? null : starts;
}

export function isAtHand(needed: Starts | null, view: View, at: number): boolean {
  if (needed === null) return true;
  const { opening, behindBlank } = needed;
  const { codes, length } = view;
  const first = at < length ? (codes[at] as number) : 0;
  const second = at + 1 < length ? (codes[at + 1] as number) : 0;
  if (!opens(opening, first, second)) return false;
  return behindBlank === null || !isOf(first, BLANK) || opens(behindBlank, second, unitAt(view, at + 2));
}

/** A sequence starts with its first rule, and with those behind it as long as the ones before may be empty. */
export function startsOfSequence(rules: readonly Rule[]): Starts | undefined {
  const first = firstOfSequence(rules, 0);
  return first === null ? undefined : { ...first, behindBlank: behindBlankOf(rules) };
}

/** The same of the rules from `from` on, but for what stands behind a blank; null where they can start with anything. */
function firstOfSequence(rules: readonly Rule[], from: number): Omit<Starts, "behindBlank"> | null {
  let opening = OPENS_NOTHING;
  for (let index = from; index < rules.length; index++) {
    const starts = rules[index]?.starts;
    if (starts === undefined) return null;
    opening = joinOpenings(opening, starts.opening);
    if (!starts.mayBeEmpty) return { opening, mayBeEmpty: false };
  }
  return { opening, mayBeEmpty: true };
}

/** Where a sequence starts with a blank: what may stand behind that. */
function behindBlankOf(rules: readonly Rule[]): Opening | null {
  let opening = OPENS_NOTHING;
  for (const [index, { starts, skips }] of rules.entries()) {
    if (skips !== undefined) {
      const rest = firstOfSequence(rules, index + 1);
      return rest === null || rest.mayBeEmpty ? null : joinOpenings(opening, openingOf(skips), rest.opening);
    }
    if (starts === undefined || starts.behindBlank === null) return null;
    opening = joinOpenings(opening, starts.behindBlank);
    if (!starts.mayBeEmpty) return opening;
  }
  return opening;
}

/** A choice starts with any of its rules. */
export function startsOfChoice(rules: readonly Rule[]): Starts | undefined {
  const all = rules.map(({ starts }) => starts).filter((starts) => starts !== undefined);
  if (all.length < rules.length) return undefined;
  const behindBlank = all.map((starts) => starts.behindBlank).filter((opening) => opening !== null);
  return {
    opening: joinOpenings(...all.map((starts) => starts.opening)),
    mayBeEmpty: all.some((starts) => starts.mayBeEmpty),
    behindBlank: behindBlank.length < all.length ? null : joinOpenings(...behindBlank),
  };
}
