// Notes where triggers end in a stretch of text, in loops that do nothing else. What such a loop waits for is memory, each
// look-up for the one before it; so a stretch that is long enough is read from its start and from its middle at once.
import type { Prefilter } from "./prefilter.ts";

/** So many units are read before grammars look at what was noted in them. */
export const BLOCK = 4096;
/** In units: below it the second reading, which begins a little before the middle, is not worth it. */
const SHORTEST_TO_HALVE = 256;

export class TriggerNotes {
  /** The unit behind each trigger, in their order, and the state that stands for those that end there. */
  readonly ends = new Int32Array(BLOCK);
  readonly states = new Int16Array(BLOCK);
  count = 0;
  /** Where the automaton stands behind the block. */
  state = 0;
  readonly #laterEnds = new Int32Array(BLOCK);
  readonly #laterStates = new Int16Array(BLOCK);

  /** Reads the units from `from` to before `to`, a block at most, going on from `state`. */
  take(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    this.count = 0;
    if (to - from < SHORTEST_TO_HALVE) this.#read(prefilter, codes, from, to);
    else this.#readHalves(prefilter, codes, from, to);
  }

  #read({ rows, classes, shift }: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    const { ends, states } = this;
    let { state, count } = this;
    for (let index = from; index < to; index++) {
      const left = state;
      state = rows[(left << shift) | (classes[codes[index] as number] as number)] as number;
      if (state >= 0) continue;
      state = ~state;
      states[count] = left;
      ends[count++] = index;
    }
    this.state = state;
    this.count = count;
  }

  #readHalves(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    const { rows, classes, shift, reach } = prefilter;
    const { ends, states } = this;
    const [laterEnds, laterStates] = [this.#laterEnds, this.#laterStates];
    // As far back as a trigger reaches, the later reading has come to the state that one from the start would have.
    const middle = (from + to + reach) >> 1;
    let { state, count } = this;
    let laterState = 0;
    let laterCount = 0;
    let later = middle - reach;
    for (let index = from; index < middle; index++, later++) {
      const left = state;
      const laterLeft = laterState;
      state = rows[(left << shift) | (classes[codes[index] as number] as number)] as number;
      laterState = rows[(laterLeft << shift) | (classes[codes[later] as number] as number)] as number;
      if (state < 0) {
        state = ~state;
        states[count] = left;
        ends[count++] = index;
      }
      if (laterState < 0) {
        laterState = ~laterState;
        laterStates[laterCount] = laterLeft;
        laterEnds[laterCount] = later;
        // What ends before the middle is noted by the first reading.
        if (later >= middle) laterCount++;
      }
    }
    for (let noted = 0; noted < laterCount; noted++) {
      states[count] = laterStates[noted] as number;
      ends[count++] = laterEnds[noted] as number;
    }
    this.state = laterState;
    this.count = count;
    if (later < to) this.#read(prefilter, codes, later, to);
  }
}
