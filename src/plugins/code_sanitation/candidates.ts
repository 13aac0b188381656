// What is tried where triggers end: lists of candidates, by the unit that follows the triggers and by their distance from the start of
// the text. Most lists are short, and one or two lookups reject the whole list.
import { isInClass, WHITESPACE } from "./char-classes.ts";
import { CHAR_SET_SIZE, NON_ASCII } from "./char-set.ts";
import type { LookBehind } from "./look-behind.ts";
import type { Matcher } from "./matcher.ts";
import type { Pattern } from "./pattern.ts";
import type { Prefilter, Trigger } from "./prefilter.ts";
import { ANY_SECOND, prefixesStartingWith, unionOfPrefixes, type PrefixSet } from "./prefix-set.ts";
import { NEAR_START_UNITS, NO_SEARCH, type Search } from "./required-before.ts";
import { NOTHING_AFTER, type SearchAfter } from "./search-after.ts";
import type { Language } from "./settings.ts";
import { NONE, TriggerFilter, UNKNOWN, type ListConditions } from "./trigger-filter.ts";
import type { TableOwner } from "./trigger-memory.ts";
import { NO_WORDS, type WordSet } from "./word-set.ts";

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
  /** The trigger in lower case, if it has digits, which the prefilter does not distinguish; otherwise null. */
  readonly textWithDigits: string | null;
  /** The units that may precede the trigger, read backwards; null for any. */
  readonly lastUnits: PrefixSet | null;
  /** The bits of the units that may be the second one after the trigger. */
  readonly seconds: number;
  /** What may follow whitespace after the trigger; null for anything. */
  readonly afterWhitespace: PrefixSet | null;
  /** The words that may follow; null for any. */
  readonly words: WordSet | null;
  /** What is searched before and after the trigger. */
  readonly search: Search;
  readonly searchAfter: SearchAfter;
  readonly guard: LookBehind | null;
  readonly startsAtGuard: boolean;
  readonly after: Matcher | null;
  readonly before: LookBehind | null;
}

/** Candidates whose triggers end at the same position with the same unit after them, and conditions that reject all of them. */
interface CandidateList extends ListConditions {
  readonly candidates: readonly Candidate[];
}

/** The triggers that end in a state of the prefilter. */
export class StateTriggers {
  readonly triggers: readonly Trigger<PatternEntry>[];
  readonly #lists: CandidateList[] = [];

  constructor(triggers: readonly Trigger<PatternEntry>[]) {
    this.triggers = triggers;
  }

  /** Returns the candidates where a unit follows, all units with the same candidates sharing a list; null if there are none. */
  candidatesBefore(code: number, isNearStart: boolean): CandidateList | null {
    const triggers = this.triggers.filter(
      ({ text, owner: { pattern } }) =>
        mayFollow(pattern, code) && (isNearStart || !matchesOnlyNearStart(pattern, text.length)),
    );
    if (triggers.length === 0) return null;
    const list = candidateListOf(triggers, code, isNearStart);
    const known = this.#lists.find(({ candidates }) => isSameList(candidates, list.candidates));
    if (known === undefined) this.#lists.push(list);
    return known ?? list;
  }
}

/** Entries of a row: by unit, as in a CharSet, first for positions near the start of a text. */
const ROW_LENGTH = CHAR_SET_SIZE * 2;
const MAX_LISTS = 0xffff;

/** In #rows: no trigger ends in the state. */
const NO_ROW = -1;

/** The candidates by state of the prefilter, position and unit. */
export class CandidateTable implements TableOwner {
  readonly #prefilter: Prefilter<PatternEntry>;
  /** By the number of the row. Created when a trigger of the state is first found: most are never found. */
  readonly #states: (StateTriggers | undefined)[] = [];
  /** By state: the start of its row in #numbers. */
  readonly #rows: Int32Array;
  /** Indexes in #lists. */
  #numbers: Uint16Array;
  /** Null before the triggers are read by WebAssembly. */
  #filter: TriggerFilter | null = null;
  readonly #lists: (CandidateList | null)[] = [null, null];

  constructor(prefilter: Prefilter<PatternEntry>) {
    const { finalStates, memory } = prefilter;
    this.#prefilter = prefilter;
    this.#rows = new Int32Array(memory.firstCopy).fill(NO_ROW);
    for (let index = 0; index < finalStates.length; index++)
      this.#rows[finalStates[index] ?? 0] = index * ROW_LENGTH;
    this.#numbers = new Uint16Array(finalStates.length * ROW_LENGTH);
  }

  get tableBytes(): number {
    return this.#numbers.byteLength;
  }

  moveTables(buffer: ArrayBuffer, start: number): void {
    const filter = new TriggerFilter(buffer, start, this.#rows, this.#numbers);
    for (const [number, list] of this.#lists.entries()) if (list !== null) filter.add(number, list);
    this.#filter = filter;
    this.#numbers = filter.numbers;
  }

  /** Returns the candidates for the triggers of `state` that end at `end`, where `unit` follows; null if there are none. */
  at(state: number, end: number, unit: number): CandidateList | null {
    const code = unit < NON_ASCII ? unit : NON_ASCII;
    const index = (this.#rows[state] ?? 0) + code + (end > NEAR_START_UNITS ? CHAR_SET_SIZE : 0);
    const number = this.#numbers[index] ?? 0;
    if (number === NONE) return null;
    return number === UNKNOWN ? this.#create(state, index, code, end) : (this.#lists[number] ?? null);
  }

  #create(state: number, index: number, code: number, end: number): CandidateList | null {
    const row = Math.floor((this.#rows[state] ?? 0) / ROW_LENGTH);
    const triggers = (this.#states[row] ??= new StateTriggers(this.#prefilter.triggersAt(row)));
    const list = triggers.candidatesBefore(code, end <= NEAR_START_UNITS);
    const known = this.#lists.indexOf(list, NONE);
    if (known >= 0) this.#numbers[index] = known;
    else if (this.#lists.length < MAX_LISTS) {
      const number = this.#lists.push(list) - 1;
      if (list !== null) this.#filter?.add(number, list);
      this.#numbers[index] = number;
    }
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
    some.every((each, index) => {
      const other = others[index];
      return (
        each.owner === other?.owner &&
        each.length === other.length &&
        each.seconds === other.seconds &&
        each.afterWhitespace === other.afterWhitespace &&
        each.lastUnits === other.lastUnits &&
        each.search === other.search
      );
    })
  );
}

/** Longer triggers that end after NEAR_START_UNITS may start before, where other conditions apply. */
const MAX_FAR_TRIGGER = 32;

/** Returns the candidates of the triggers, where a unit follows. */
function candidateListOf(
  triggers: readonly Trigger<PatternEntry>[],
  code: number,
  isNearStart: boolean,
): CandidateList {
  const triggerLength = triggers[0]?.text.length ?? 0;
  // Triggers of different lengths start at different positions, so one lookup cannot reject all of them.
  const areEquallyLong = triggers.every(({ text }) => text.length === triggerLength);
  const conditions = triggers.map(({ text, owner }) => requiredBeforeOf(owner.pattern, text, isNearStart));
  const lastUnits = areEquallyLong ? unionOrAny(conditions.map((each) => each.lastUnits)) : null;
  const candidates = triggers.map(({ text, hasDigits, owner }, index): Candidate => {
    const { requiredAfter, searchAfter, guard, startsAtGuard, after, before } = owner.pattern;
    const required = conditions[index];
    return {
      owner,
      length: text.length,
      textWithDigits: hasDigits ? text.toLowerCase() : null,
      lastUnits: required?.lastUnits ?? null,
      seconds: requiredAfter?.prefixes[code] ?? ANY_SECOND,
      afterWhitespace: isInClass(code, WHITESPACE) ? (requiredAfter?.afterWhitespace ?? null) : null,
      words: wordsAfter(owner.pattern),
      search: required?.search ?? NO_SEARCH,
      searchAfter,
      guard,
      startsAtGuard,
      after,
      before,
    };
  });
  return {
    candidates,
    work: candidates.reduce((steps, each) => steps + stepsToCheck(each), 0),
    seconds: candidates.reduce((seconds, each) => seconds | each.seconds, 0),
    afterWhitespace: unionOrAny(candidates.map((each) => each.afterWhitespace)),
    lastUnits,
    triggerLength,
  };
}

/** By pattern, which has the same in all its lists. */
const knownWords = new WeakMap<Pattern, WordSet | null>();

/** Returns the words that may follow the trigger; null for any. */
function wordsAfter(pattern: Pattern): WordSet | null {
  let words = knownWords.get(pattern);
  if (words !== undefined) return words;
  words = pattern.requiredAfter?.words() ?? null;
  if (words === NO_WORDS) words = null;
  knownWords.set(pattern, words);
  return words;
}

/** The work of a search, which reads a few units. */
const STEPS_PER_SEARCH = 2;

function stepsToCheck({ search, searchAfter }: Candidate): number {
  return (
    1 + (search === NO_SEARCH ? 0 : STEPS_PER_SEARCH) + (searchAfter === NOTHING_AFTER ? 0 : STEPS_PER_SEARCH)
  );
}

/** Returns what must precede the trigger; null for any units. */
function requiredBeforeOf(
  { precededBy, requiredBefore }: Pattern,
  trigger: string,
  isNearStart: boolean,
): { readonly lastUnits: PrefixSet | null; readonly search: Search } {
  const isFar = !isNearStart && trigger.length <= MAX_FAR_TRIGGER;
  if (requiredBefore !== null && (isFar || requiredBefore.isAlsoNearStart)) return requiredBefore;
  return { lastUnits: precededBy === null ? null : prefixesStartingWith(precededBy), search: NO_SEARCH };
}

/** Returns the union of sets, where null is the set of all prefixes. */
function unionOrAny(sets: readonly (PrefixSet | null)[]): PrefixSet | null {
  const limited = sets.filter((set) => set !== null);
  return limited.length < sets.length ? null : unionOfPrefixes(...limited);
}
