// Short strings that a scan found clean. The keys and roles of JSON bodies are the same in every request, and comparing a string
// takes a quarter of the time of scanning it.

/** A power of two. Each string has one possible slot, and replaces the string in it. */
const SLOTS = 1024;
/** Longer strings rarely repeat. */
export const MAX_CLEAN_UNITS = 16;
/** Scans that took more steps are not recorded, so that their number fits into a byte. */
const MAX_STEPS = 0xff;

/** Of at most MAX_CLEAN_UNITS units each. */
export class CleanStrings {
  readonly #units = new Uint16Array(SLOTS * MAX_CLEAN_UNITS);
  readonly #lengths = new Uint8Array(SLOTS);
  /** The steps of the scan; 0 if the slot is empty. */
  readonly #steps = new Uint8Array(SLOTS);

  /**
   * Returns the steps that the scan of this string took, so that the work of a text does not depend on what was scanned before it; 0 if
   * the string is not known to be clean.
   */
  stepsOf(units: Uint16Array, start: number, end: number): number {
    const length = end - start;
    const slot = slotOf(units, start, end);
    if (this.#lengths[slot] !== length) return 0;
    const kept = this.#units;
    for (let index = start, at = slot * MAX_CLEAN_UNITS; index < end; index++, at++)
      if (kept[at] !== units[index]) return 0;
    return this.#steps[slot] ?? 0;
  }

  /** Records that a scan of this string took `steps` and found nothing. */
  add(units: Uint16Array, start: number, end: number, steps: number): void {
    const length = end - start;
    if (steps > MAX_STEPS) return;
    const slot = slotOf(units, start, end);
    this.#units.set(units.subarray(start, end), slot * MAX_CLEAN_UNITS);
    this.#lengths[slot] = length;
    this.#steps[slot] = steps;
  }
}

function slotOf(units: Uint16Array, start: number, end: number): number {
  let hash = end - start;
  for (let index = start; index < end; index++) hash = (Math.imul(hash, 31) + (units[index] ?? 0)) | 0;
  return (hash ^ (hash >>> 10)) & (SLOTS - 1);
}
