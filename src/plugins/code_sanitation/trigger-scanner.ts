// Runs the prefilter over a block of code units and records where triggers end. The loops do nothing else: they wait for memory,
// each lookup for the one before it, so a long block is read from its start and from its middle at the same time.
import type { Prefilter } from "./prefilter.ts";

/** The number of units that are read before the recorded triggers are checked. */
export const BLOCK_UNITS = 4096;
/** Below this number of units, a second reading costs more than it saves, because it starts before the middle. */
const MIN_UNITS_TO_HALVE = 256;

export class TriggerScanner {
  /** Position after each trigger, in ascending order. */
  readonly ends = new Int32Array(BLOCK_UNITS);
  /** The state at that position: it identifies the triggers that end there. */
  readonly states = new Int16Array(BLOCK_UNITS);
  count = 0;
  /** State of the automaton after the last block. Set it to 0 before the first block of a text. */
  state = 0;
  readonly #secondEnds = new Int32Array(BLOCK_UNITS);
  readonly #secondStates = new Int16Array(BLOCK_UNITS);

  /** Reads the units from `from` up to `to`, at most BLOCK_UNITS, and records the triggers in them. */
  scan(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    this.count = 0;
    // The rest is read here: a call of #read in #readHalves would be inlined, and its loop would then run out of registers (2.4 times
    // slower).
    const rest = to - from < MIN_UNITS_TO_HALVE ? from : this.#readHalves(prefilter, codes, from, to);
    if (rest < to) this.#read(prefilter, codes, rest, to);
  }

  #read(
    { transitions, symbols, shift }: Prefilter<unknown>,
    codes: Uint16Array,
    from: number,
    to: number,
  ): void {
    const { ends, states } = this;
    let { state, count } = this;
    for (let index = from; index < to; index++) {
      const previous = state;
      state = transitions[(previous << shift) | (symbols[codes[index] ?? 0] ?? 0)] ?? 0;
      if (state >= 0) continue;
      state = ~state;
      states[count] = previous;
      ends[count++] = index;
    }
    this.state = state;
    this.count = count;
  }

  /** Returns the end of the units that it read: at most one unit is left. */
  #readHalves(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): number {
    const { transitions, symbols, shift, maxTriggerLength } = prefilter;
    const { ends, states } = this;
    const [secondEnds, secondStates] = [this.#secondEnds, this.#secondStates];
    // A state depends only on the last maxTriggerLength units. A second reading that starts that far before the middle is
    // therefore in the right state when it reaches the middle.
    const middle = (from + to + maxTriggerLength) >> 1;
    let { state, count } = this;
    let secondState = 0;
    let secondCount = 0;
    let second = middle - maxTriggerLength;
    for (let index = from; index < middle; index++, second++) {
      const previous = state;
      const secondPrevious = secondState;
      state = transitions[(previous << shift) | (symbols[codes[index] ?? 0] ?? 0)] ?? 0;
      secondState = transitions[(secondPrevious << shift) | (symbols[codes[second] ?? 0] ?? 0)] ?? 0;
      if (state < 0) {
        state = ~state;
        states[count] = previous;
        ends[count++] = index;
      }
      if (secondState < 0) {
        secondState = ~secondState;
        secondStates[secondCount] = secondPrevious;
        secondEnds[secondCount] = second;
        // The first reading records the triggers that end before the middle.
        if (second >= middle) secondCount++;
      }
    }
    for (let index = 0; index < secondCount; index++) {
      states[count] = secondStates[index] ?? 0;
      ends[count++] = secondEnds[index] ?? 0;
    }
    this.state = secondState;
    this.count = count;
    return second;
  }
}
