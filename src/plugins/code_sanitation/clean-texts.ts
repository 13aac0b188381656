// The texts of one body that earlier inspections found clean, and those that this one does: only what is new is scanned.
import type { TextMemory } from "../../sdk/index.ts";
import type { Detector } from "./detector.ts";

/** Scanning a shorter text takes about as long as hashing it and looking it up. */
export const MIN_REMEMBERED_BYTES = 128;
/** Hashing this many bytes takes about as long as a step of a scan. */
const HASHED_BYTES_PER_STEP = 16;

/** A section is remembered with its steps and the number of its texts: in one number, so within these limits. */
const SECTION_STEPS = 2 ** 22;
const MAX_SECTION_TEXTS = 510;

export interface TextScan<T> {
  /** Returns null if nothing is found in the bytes from `start` up to `end`. */
  scan(start: number, end: number): T | null;
}

export class CleanTexts {
  readonly #memory: TextMemory;
  /** Texts that were not scanned, because they are known to be clean. */
  remembered = 0;
  /** Texts that were scanned, and are long enough to be remembered. */
  inspected = 0;
  /** Steps that were counted, but took no time. */
  savedSteps = 0;

  constructor(memory: TextMemory) {
    this.#memory = memory;
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
      this.remembered += Math.floor(known / SECTION_STEPS);
      const steps = known % SECTION_STEPS;
      this.savedSteps += Math.max(0, steps - (end - start) / HASHED_BYTES_PER_STEP);
      detector.countWork(steps);
      return undefined;
    }
    const stepsBefore = detector.workDone;
    const textsBefore = this.remembered + this.inspected;
    return {
      remember: () => {
        const steps = detector.workDone - stepsBefore;
        const texts = this.remembered + this.inspected - textsBefore;
        if (steps < SECTION_STEPS && texts <= MAX_SECTION_TEXTS)
          known.remember(texts * SECTION_STEPS + steps);
      },
    };
  }
}
