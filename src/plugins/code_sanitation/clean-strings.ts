// Short strings that a scan found clean. The keys and roles of JSON bodies are the same in every request, and comparing a string
// takes a quarter of the time of scanning it.

/** A power of two. */
const SLOTS = 1024;
/** Longer strings rarely repeat. */
export const MAX_CLEAN_UNITS = 16;
/** Scans that took more steps are not recorded, so that their number fits into a byte. */
const MAX_STEPS = 0xff;

/**
 * Of at most MAX_CLEAN_UNITS units each. A string has two possible slots, so that any two strings are kept at the same time: with one slot each,
 * two keys that are in every body replaced each other with every request.
 */
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
    const slot = slotOf(units, start, end);
    if (this.#isAt(slot, units, start, end)) return this.#steps[slot] ?? 0;
    return this.#isAt(slot + 1, units, start, end) ? (this.#steps[slot + 1] ?? 0) : 0;
  }

  /** Records that a scan of this string took `steps` and found nothing. */
  add(units: Uint16Array, start: number, end: number, steps: number): void {
    if (steps > MAX_STEPS) return;
    const slot = slotOf(units, start, end);
    if (!this.#isAt(slot, units, start, end)) this.#moveToSecond(slot);
    const kept = this.#units;
    for (let index = start, at = slot * MAX_CLEAN_UNITS; index < end; index++, at++)
      kept[at] = units[index] ?? 0;
    this.#lengths[slot] = end - start;
    this.#steps[slot] = steps;
  }

  /** Whether the string is in the slot, if there is one in it. */
  #isAt(slot: number, units: Uint16Array, start: number, end: number): boolean {
    if (this.#lengths[slot] !== end - start) return false;
    const kept = this.#units;
    for (let index = start, at = slot * MAX_CLEAN_UNITS; index < end; index++, at++)
      if (kept[at] !== units[index]) return false;
    return true;
  }

  /** Moves the string in a first slot to the second one, and replaces the string there. */
  #moveToSecond(slot: number): void {
    const start = slot * MAX_CLEAN_UNITS;
    const end = start + MAX_CLEAN_UNITS;
    this.#units.copyWithin(end, start, end);
    this.#lengths[slot + 1] = this.#lengths[slot] ?? 0;
    this.#steps[slot + 1] = this.#steps[slot] ?? 0;
  }
}

/** Returns the first one of the two slots of a string. */
function slotOf(units: Uint16Array, start: number, end: number): number {
  let hash = end - start;
  for (let index = start; index < end; index++) hash = (Math.imul(hash, 31) + (units[index] ?? 0)) | 0;
  return (hash ^ (hash >>> 10)) & (SLOTS - 2);
}
