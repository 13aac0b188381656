// What is tried where triggers end: lists of candidates, by the unit that follows the triggers and by their distance from the start of
// the text. Most lists are short, and one or two lookups reject the whole list.
import { CHAR_SET_SIZE, NON_ASCII, unionOfCharSets, type CharSet } from "./char-set.ts";
import type { LookBehind } from "./look-behind.ts";
import { unionOfFirstSets, type FirstSet, type Matcher } from "./matcher.ts";
import type { Pattern } from "./pattern.ts";
import type { Trigger } from "./prefilter.ts";
import type { Language } from "./settings.ts";

export interface PatternName {
  readonly language: Language;
  /** The id of the pattern. */
  readonly pattern: string;
}

export interface PatternEntry {
  readonly pattern: Pattern;
  /** More than one if languages share the pattern. */
  readonly names: PatternName[];
}

/** A pattern that may match at a trigger. The conditions are copied from the pattern: reading them through it costs cache misses. */
export interface Candidate {
  readonly owner: PatternEntry;
  /** Length of the trigger. */
  readonly length: number;
  /** The trigger, if it has digits, which the prefilter does not distinguish; otherwise null. */
  readonly textWithDigits: string | null;
  /** The conditions that the list does not check. */
  readonly precededBy: CharSet | null;
  readonly requiredAfter: FirstSet | null;
  readonly guard: LookBehind | null;
  readonly startsAtGuard: boolean;
  readonly after: Matcher | null;
  readonly before: LookBehind | null;
}

/** Candidates whose triggers end at the same position, and conditions that reject all of them. */
interface CandidateList {
  readonly candidates: readonly Candidate[];
  /** What must follow the trigger for at least one of the candidates; null for anything. */
  readonly requiredAfter: FirstSet | null;
  /** Units that may precede at least one of the triggers; null for any. */
  readonly precededBy: CharSet | null;
  /** Length of the triggers, if they all have the same. */
  readonly triggerLength: number;
}

/** Triggers that end after this position are too far from the start of the text for patterns that match only there. */
const NEAR_START_UNITS = 128;

/** The candidates of a state of the prefilter. */
export class StateCandidates {
  readonly triggers: readonly Trigger<PatternEntry>[];
  /** By unit, as in a CharSet, first for positions near the start of a text: 1 + index in #lists; 0 if not created yet. */
  readonly #listOfUnit = new Uint8Array(CHAR_SET_SIZE * 2);
  /** Created on first use: most are never used. */
  readonly #lists: CandidateList[] = [];

  constructor(triggers: readonly Trigger<PatternEntry>[]) {
    this.triggers = triggers;
  }

  /** Returns the candidates for triggers that end at `end`, where `unit` follows. */
  at(end: number, unit: number): CandidateList {
    const code = unit < NON_ASCII ? unit : NON_ASCII;
    const index = end > NEAR_START_UNITS ? code + CHAR_SET_SIZE : code;
    return this.#lists[(this.#listOfUnit[index] ?? 0) - 1] ?? this.#create(index, code);
  }

  #create(index: number, code: number): CandidateList {
    const isNear = index === code;
    const triggers = this.triggers.filter(
      ({ text, owner: { pattern } }) =>
        mayFollow(pattern, code) && (isNear || !matchesOnlyNearStart(pattern, text.length)),
    );
    const list = candidateListOf(triggers);
    const known = this.#lists.findIndex(({ candidates }) => isSameList(candidates, list.candidates));
    this.#listOfUnit[index] = known < 0 ? this.#lists.push(list) : known + 1;
    return list;
  }
}

function mayFollow({ followedBy, requiredAfter }: Pattern, code: number): boolean {
  return followedBy?.[code] !== 0 && requiredAfter?.prefixes[code] !== 0;
}

function matchesOnlyNearStart({ guard, before }: Pattern, triggerLength: number): boolean {
  const last = Math.min(guard?.maxPosition ?? Infinity, before?.maxPosition ?? Infinity);
  return last + triggerLength <= NEAR_START_UNITS;
}

function isSameList(some: readonly Candidate[], others: readonly Candidate[]): boolean {
  return (
    some.length === others.length &&
    some.every(
      ({ owner, length }, index) => owner === others[index]?.owner && length === others[index].length,
    )
  );
}

function candidateListOf(triggers: readonly Trigger<PatternEntry>[]): CandidateList {
  const patterns = triggers.map(({ owner }) => owner.pattern);
  const triggerLength = triggers[0]?.text.length ?? 0;
  // Triggers of different lengths start at different positions, so one lookup cannot reject all of them.
  const areEquallyLong = triggers.every(({ text }) => text.length === triggerLength);
  const precededBy = areEquallyLong ? unionOfCharSets(patterns.map((each) => each.precededBy)) : null;
  const requiredAfter = unionOfFirstSets(patterns.map((each) => each.requiredAfter));
  const candidates = triggers.map(({ text, hasDigits, owner }): Candidate => {
    const { pattern } = owner;
    const isAlone = triggers.length === 1;
    return {
      owner,
      length: text.length,
      textWithDigits: hasDigits ? text : null,
      precededBy: isAlone || pattern.precededBy === precededBy ? null : pattern.precededBy,
      requiredAfter: isAlone ? null : pattern.requiredAfter,
      guard: pattern.guard,
      startsAtGuard: pattern.startsAtGuard,
      after: pattern.after,
      before: pattern.before,
    };
  });
  return { candidates, requiredAfter, precededBy, triggerLength };
}
