// The texts of one body that earlier inspections found clean, and those that this one does: only what is new is scanned.
import type { TextMemory } from "../../sdk/index.ts";
import type { Detector } from "./detector.ts";

/** Scanning a shorter text takes about as long as hashing it and looking it up. */
export const MIN_REMEMBERED_BYTES = 128;
/** Hashing this many bytes takes about as long as a step of a scan. */
const HASHED_BYTES_PER_STEP = 16;

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
   * Returns null if the text is clean: `scan` found nothing now or earlier. Both count the same steps, so that the result of a request does
   * not depend on the requests before it. Throws WorkExhausted.
   */
  inspect<T>(
    bytes: Uint8Array,
    start: number,
    end: number,
    detector: Detector,
    scan: (start: number, end: number) => T | null,
  ): T | null {
    const known = this.#memory.recall(bytes, start, end);
    if (typeof known === "number") {
      this.remembered++;
      this.savedSteps += Math.max(0, known - (end - start) / HASHED_BYTES_PER_STEP);
      detector.countWork(known);
      return null;
    }
    this.inspected++;
    const before = detector.workDone;
    const found = scan(start, end);
    if (found !== null) return found;
    // The last steps of a scan are not checked, but those of a remembered text are.
    detector.countWork(0);
    known.remember(detector.workDone - before);
    return null;
  }
}
