// The detector: finds code of the selected languages in a text.
import type { Candidate, PatternName } from "./candidates.ts";
import { MAX_CLEAN_UNITS } from "./clean-strings.ts";
import {
  compileEntries,
  compilePatterns,
  entriesOf,
  excludedPatternsOf,
  firstUsedName,
  type CompiledPatterns,
  type ExcludedPatterns,
  type PatternSelection,
} from "./compiled-patterns.ts";
import { isTextAt } from "./keyword-set.ts";
import type { LookBehind } from "./look-behind.ts";
import { NO_MATCH } from "./matcher.ts";
import type { Pattern } from "./pattern.ts";
import { hasPrefix, secondUnitBit } from "./prefix-set.ts";
import { hasUnitsBefore, isFoundBefore, NO_SEARCH } from "./required-before.ts";
import { originalSpan, unitAt, type NormalizedText } from "./normalized-text.ts";
import { isFoundAfter, NOTHING_AFTER } from "./search-after.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";
import type { Language } from "./settings.ts";
import { sortFindings } from "./sort-findings.ts";
import { triggerEnds, TriggerScanner, triggerStates } from "./trigger-scanner.ts";
import { visitVariants, visitVariantsOf, type VariantVisitor } from "./variants.ts";
import { mayHaveWord, wordHashAt } from "./word-set.ts";
import { checkWork, stepsToScan, unlimitedWork, type WorkCounter } from "./work-budget.ts";

/** A match. Positions are UTF-16 code units of the original text. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly language: Language;
  /** The id of the pattern, such as `sql.union-select`. */
  readonly pattern: string;
}

/** The work of calling a matcher of a pattern, besides its own. */
const STEPS_PER_CALL = 2;
/** The work of looking back from what matched. Ordinary text has few matches; those of hostile text take most of its time. */
const STEPS_PER_MATCH = 6;
/** The work of recording a finding, of sorting it and of masking it. */
const STEPS_PER_FINDING = 16;

export interface Detector {
  /** Calls `scan` and limits the steps of its scans together. They throw WorkExhausted when they exceed the limit. */
  limitWork<T>(steps: number, scan: () => T): T;
  /** The steps of the last `limitWork`. */
  readonly workDone: number;
  /** Counts the steps of other work on the same text. Throws WorkExhausted. */
  countWork(steps: number): void;
  /** Returns any one finding, the first that is found; null for clean text. */
  first(text: string): Finding | null;
  /** The same for the text in `units` from `start` up to `end`. Positions of the finding are relative to `start`. */
  firstIn(units: Uint16Array, start: number, end: number): Finding | null;
  /**
   * Whether nothing is found in the content of a long JSON string. Takes half the time of the others. Counts the same steps for a clean string,
   * else none: find out with one of the others, also if the string cannot be read in this way.
   */
  isCleanJson(bytes: Buffer, start: number, end: number): boolean;
  /** Returns all findings by position. They may overlap, but a trigger inside an earlier match of the same variant is skipped. */
  findAll(text: string): Finding[];
  /** The same for the text in `units` from `start` up to `end`. Positions of the findings are relative to `start`. */
  findAllIn(units: Uint16Array, start: number, end: number): Finding[];
}

// Shared by all detectors: a scan is synchronous.
const scanner = new TriggerScanner();
const unitBuffer = new CodeUnitBuffer();

/** Returns a detector that uses the selected patterns. `work` counts the work of its scans. */
export function compileDetector(selections: readonly PatternSelection[], work = unlimitedWork()): Detector {
  return new PatternDetector(compilePatterns(selections), excludedPatternsOf(selections), work);
}

/** Returns a detector of patterns that need not be in a table, such as a single one. */
export function detectorOf(
  language: Language,
  patterns: readonly Pattern[],
  work = unlimitedWork(),
): Detector {
  return new PatternDetector(compileEntries(entriesOf(language, patterns)), null, work);
}

class PatternDetector implements Detector {
  readonly #patterns: CompiledPatterns;
  readonly #excluded: ExcludedPatterns | null;
  readonly #work: WorkCounter;
  /** Reused by every call of `first`: a body has many strings, most of them short, and each is scanned separately. */
  readonly #found: Finding[] = [];
  readonly #visitForFirst: VariantVisitor = (text, ranges) => this.#scan(text, ranges, this.#found, true);

  constructor(patterns: CompiledPatterns, excluded: ExcludedPatterns | null, work: WorkCounter) {
    this.#patterns = patterns;
    this.#excluded = excluded;
    this.#work = work;
  }

  get workDone(): number {
    return this.#work.steps;
  }

  limitWork<T>(steps: number, scan: () => T): T {
    const work = this.#work;
    work.steps = 0;
    work.limit = steps;
    try {
      return scan();
    } finally {
      work.limit = Infinity;
    }
  }

  countWork(steps: number): void {
    this.#work.steps += steps;
    checkWork(this.#work);
  }

  first(text: string): Finding | null {
    return this.firstIn(unitBuffer.read(text), 0, text.length);
  }

  firstIn(units: Uint16Array, start: number, end: number): Finding | null {
    const isShort = end - start <= MAX_CLEAN_UNITS;
    if (isShort && this.#isKnownClean(units, start, end)) return null;
    const before = this.#work.steps;
    this.#found.length = 0;
    visitVariants(units, start, end, this.#work, this.#visitForFirst);
    const finding = this.#found[0] ?? null;
    if (isShort && finding === null) this.#addClean(units, start, end, before);
    return finding;
  }

  isCleanJson(bytes: Buffer, start: number, end: number): boolean {
    const work = this.#work;
    const text = this.#patterns.prefilter.memory.normalizeJson(bytes, start, end, work);
    // The others remember short strings.
    if (text === null || text.decodedUnits <= MAX_CLEAN_UNITS) return false;
    const before = work.steps;
    this.#found.length = 0;
    visitVariantsOf(text, text.decodedUnits, this.#visitForFirst);
    if (this.#found.length === 0) return true;
    work.steps = before;
    return false;
  }

  findAll(text: string): Finding[] {
    return this.findAllIn(unitBuffer.read(text), 0, text.length);
  }

  findAllIn(units: Uint16Array, start: number, end: number): Finding[] {
    const found: Finding[] = [];
    const isShort = end - start <= MAX_CLEAN_UNITS;
    if (isShort && this.#isKnownClean(units, start, end)) return found;
    const before = this.#work.steps;
    visitVariants(units, start, end, this.#work, (variant, ranges) =>
      this.#scan(variant, ranges, found, false),
    );
    if (isShort && found.length === 0) this.#addClean(units, start, end, before);
    return sortFindings(found);
  }

  #isKnownClean(units: Uint16Array, start: number, end: number): boolean {
    const steps = this.#patterns.cleanStrings.stepsOf(units, start, end);
    this.countWork(steps);
    return steps > 0;
  }

  /** `before`: the steps before the scan that found nothing. */
  #addClean(units: Uint16Array, start: number, end: number, before: number): void {
    // Other detectors that share the patterns may not exclude any.
    if (this.#excluded !== null) return;
    this.#patterns.cleanStrings.add(units, start, end, this.#work.steps - before);
  }

  /** Scans the ranges, or the whole text if `ranges` is null. Returns true if it stopped at the first finding. */
  #scan(
    input: NormalizedText,
    ranges: readonly number[] | null,
    found: Finding[],
    onlyFirst: boolean,
  ): boolean {
    if (ranges === null) return this.#scanRange(input, 0, input.length, found, onlyFirst);
    for (let index = 0; index + 1 < ranges.length; index += 2) {
      const end = Math.min(ranges[index + 1] ?? 0, input.length);
      if (this.#scanRange(input, ranges[index] ?? 0, end, found, onlyFirst)) return true;
    }
    return false;
  }

  /** Block by block: the automaton records the triggers of a block, then their patterns are tried. */
  #scanRange(input: NormalizedText, from: number, to: number, found: Finding[], onlyFirst: boolean): boolean {
    input.work.steps += stepsToScan(to - from);
    checkWork(input.work);
    scanner.state = 0;
    let covered = 0;
    // A trigger is recorded when the unit after it is read, so read one unit past the range.
    for (let start = from; start <= to;) {
      start = scanner.scan(this.#patterns.prefilter, input.codes, start, to + 1);
      // Every trigger takes a step, so that the work does not depend on which of them WebAssembly rejects.
      input.work.steps += scanner.count + scanner.rejected + scanner.rejectedWork;
      checkWork(input.work);
      covered = this.#matchRecorded(input, found, covered);
      if (onlyFirst && found.length > 0) return true;
    }
    return false;
  }

  /** Tries the patterns of all recorded triggers. `covered` and the result are the end of the rightmost match so far. */
  #matchRecorded(input: NormalizedText, found: Finding[], covered: number): number {
    const { count } = scanner;
    const { candidates: table } = this.#patterns;
    const { codes, work } = input;
    let rightmost = covered;
    for (let index = 0; index < count; index++) {
      const end = triggerEnds[index] ?? 0;
      // Without a comparison with the length of the text: zeros follow it.
      const list = table.at(triggerStates[index] ?? 0, end, codes[end] ?? 0);
      if (list === null) continue;
      const { candidates, seconds, afterWhitespace, lastUnits, triggerLength } = list;
      const second = codes[end + 1] ?? 0;
      if ((seconds & secondUnitBit(second)) === 0) continue;
      if (lastUnits !== null && !hasUnitsBefore(lastUnits, input, end - triggerLength)) continue;
      if (afterWhitespace !== null && !hasPrefix(afterWhitespace, second, codes[end + 2] ?? 0)) continue;
      // Also inside an earlier match, because WebAssembly, which rejects most of them, does not know it.
      work.steps += list.work;
      if (end <= rightmost) continue;
      rightmost = this.#matchCandidates(input, candidates, end, found, rightmost);
      checkWork(work);
    }
    checkWork(work);
    return rightmost;
  }

  /** Tries the candidates whose triggers end at `end`. */
  #matchCandidates(
    input: NormalizedText,
    candidates: readonly Candidate[],
    end: number,
    found: Finding[],
    covered: number,
  ): number {
    let rightmost = covered;
    let lastGuard: LookBehind | null = null;
    let guarded = 0;
    let guardedStart = 0;
    const second = unitAt(input, end + 1);
    const secondBit = secondUnitBit(second);
    const wordHash = wordHashAt(input.codes, end);
    // An index loop: for...of measured about 3 % slower on clean text.
    for (let index = 0; index < candidates.length; index++) {
      const candidate = candidates[index];
      if (candidate === undefined) continue;
      const { length, textWithDigits, lastUnits, seconds, afterWhitespace, words, search, searchAfter } =
        candidate;
      const { guard, after, before } = candidate;
      // Cheapest conditions first.
      if ((seconds & secondBit) === 0) continue;
      if (afterWhitespace !== null && !hasPrefix(afterWhitespace, second, unitAt(input, end + 2))) continue;
      if (words !== null && !mayHaveWord(words, wordHash)) continue;
      const triggerStart = end - length;
      if (lastUnits !== null && !hasUnitsBefore(lastUnits, input, triggerStart)) continue;
      if (search !== NO_SEARCH && !isFoundBefore(search, input, triggerStart)) continue;
      if (searchAfter !== NOTHING_AFTER && !isFoundAfter(searchAfter, input, end)) continue;
      if (textWithDigits !== null && !isTextAt(input, triggerStart, textWithDigits)) continue;
      // Several patterns of a trigger have the same guard.
      if (guard === null) guarded = triggerStart;
      else if (guard !== lastGuard || triggerStart !== guardedStart) {
        input.work.steps += STEPS_PER_CALL;
        guarded = guard(input, triggerStart);
        guardedStart = triggerStart;
      }
      lastGuard = guard;
      if (guarded === NO_MATCH) continue;
      input.work.steps += STEPS_PER_CALL;
      const matchEnd = after === null ? end : after(input, end);
      if (matchEnd === NO_MATCH) continue;
      input.work.steps += STEPS_PER_MATCH;
      const start = candidate.startsAtGuard ? guarded : triggerStart;
      const matchStart = before === null ? start : before(input, triggerStart);
      if (matchStart === NO_MATCH) continue;
      const name = firstUsedName(candidate.owner, this.#excluded);
      if (name === null) continue;
      input.work.steps += STEPS_PER_FINDING;
      found.push(findingOf(originalSpan(input, matchStart, matchEnd), name));
      rightmost = Math.max(rightmost, matchEnd);
    }
    return rightmost;
  }
}

/** Without spread syntax, which takes ten times as long. */
function findingOf(
  { start, end }: { readonly start: number; readonly end: number },
  { language, pattern }: PatternName,
): Finding {
  return { start, end, language, pattern };
}
