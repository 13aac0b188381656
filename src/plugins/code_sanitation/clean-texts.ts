// The texts of one body that earlier inspections found clean, and those that this one does: only what is new is scanned.
import type { TextMemory } from "../../sdk/index.ts";
import type { Detector } from "./detector.ts";
import type { RunEnds } from "./run-ends.ts";

/** Scanning a shorter text takes about as long as hashing it and looking it up. */
export const MIN_REMEMBERED_BYTES = 128;
/** Hashing this many bytes takes about as long as a step of a scan. */
const HASHED_BYTES_PER_STEP = 16;

/** A section or run is remembered with its steps and the number of its texts: in one number, so within these limits. */
const SECTION_STEPS = 2 ** 20;
const MAX_SECTION_TEXTS = 2046;

export interface TextScan<T> {
  /** Returns null if nothing is found in the bytes from `start` up to `end`. */
  scan(start: number, end: number): T | null;
}

/** The work so far, and the number of texts that were long enough to be remembered. */
export interface TextCounts {
  readonly steps: number;
  readonly texts: number;
}

export class CleanTexts {
  readonly #memory: TextMemory;
  readonly #runEnds: RunEnds;
  /** Texts that were not scanned, because they are known to be clean. */
  remembered = 0;
  /** Texts that were scanned, and are long enough to be remembered. */
  inspected = 0;
  /** Steps that were counted, but took no time. */
  savedSteps = 0;

  /** `runEnds`: of what is in the memory. */
  constructor(memory: TextMemory, runEnds: RunEnds) {
    this.#memory = memory;
    this.#runEnds = runEnds;
  }

  /**
   * Returns null if the text is clean: the scan found nothing now or earlier. Both count the same steps, so that the result of a request does
   * not depend on the requests before it. Throws WorkExhausted.
   */
  inspect<T>(bytes: Uint8Array, start: number, end: number, detector: Detector, text: TextScan<T>): T | null {
    const known = this.#memory.recall(bytes, start, end);
    if (typeof known === "number") {
      this.remembered++;
      this.savedSteps += Math.max(0, known - (end - start) / HASHED_BYTES_PER_STEP);
      detector.countWork(known);
      return null;
    }
    this.inspected++;
    const before = detector.workDone;
    const found = text.scan(start, end);
    if (found !== null) return found;
    // The last steps of a scan are not checked, but those of a remembered text are.
    detector.countWork(0);
    known.remember(detector.workDone - before);
    return null;
  }

  /**
   * The same for a section of a body: a part that begins outside of strings and ends with a string and a brace. Counts it and returns undefined if
   * all its strings are known to be clean. Otherwise call `remember` after all of them were inspected and found clean. No string has the same bytes
   * as a section, because a quote in a string is escaped.
   */
  recallSection(
    bytes: Uint8Array,
    start: number,
    end: number,
    detector: Detector,
  ): { remember(): void } | undefined {
    const known = this.#memory.recall(bytes, start, end);
    if (typeof known === "number") {
      this.countSection(known, end - start, detector);
      return undefined;
    }
    const before = this.counts(detector);
    return {
      remember: () => {
        const value = this.#valueSince(before, detector);
        if (value >= 0) known.remember(value);
      },
    };
  }

  /** Whether the beginning of the body up to `end` may be a known run. */
  mayBeRun(bytes: Uint8Array, end: number): boolean {
    return this.#runEnds.has(bytes, end);
  }

  /** A run is all sections of a body up to one of them. Returns what to count for it, or -1 if it is not known to be clean. */
  recallRun(bytes: Uint8Array, end: number): number {
    const known = this.#memory.recall(bytes, 0, end);
    return typeof known === "number" ? known : -1;
  }

  /** Remembers a run of which all strings were found clean. `before`: what was counted before it. */
  rememberRun(bytes: Uint8Array, end: number, before: TextCounts, detector: Detector): void {
    const value = this.#valueSince(before, detector);
    const known = value < 0 ? value : this.#memory.recall(bytes, 0, end);
    if (typeof known !== "number") known.remember(value);
    if (value >= 0) this.#runEnds.add(bytes, end);
  }

  /** Counts a known section or run. `known`: what is remembered of it. Throws WorkExhausted. */
  countSection(known: number, bytes: number, detector: Detector): void {
    this.remembered += Math.floor(known / SECTION_STEPS);
    const steps = known % SECTION_STEPS;
    this.savedSteps += Math.max(0, steps - bytes / HASHED_BYTES_PER_STEP);
    detector.countWork(steps);
  }

  counts(detector: Detector): TextCounts {
    return { steps: detector.workDone, texts: this.remembered + this.inspected };
  }

  /** Returns what to remember of what was inspected since `before`; -1 if that is too much. */
  #valueSince(before: TextCounts, detector: Detector): number {
    const now = this.counts(detector);
    const steps = now.steps - before.steps;
    const texts = now.texts - before.texts;
    return steps < SECTION_STEPS && texts <= MAX_SECTION_TEXTS ? texts * SECTION_STEPS + steps : -1;
  }
}
