// Runs the prefilter over a block of code units and records where triggers end. The loops do nothing else. Each lookup waits for the one
// before it, so a long block is read from three positions at the same time.
import { UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { ROW_BITS, type Prefilter } from "./prefilter.ts";

/** The number of units that are read before the recorded triggers are checked. */
export const BLOCK_UNITS = 4096;
/** Below this number of units, more than one reading costs more than it saves, because the others start before their part. */
const MIN_UNITS_TO_DIVIDE = 128;

// What is recorded, as constants of the module: compiled code contains their addresses, and the loop has registers left for the states. With
// fields of an object it keeps the states on the stack. A scan is synchronous, so one of each is enough.

/** Position after each trigger, in ascending order. */
export const triggerEnds = new Int32Array(BLOCK_UNITS);
/** The state at that position: it identifies the triggers that end there. */
export const triggerStates = new Int16Array(BLOCK_UNITS);

// Per reading: the state and, above STATE_BITS, the number of units read before. The loop writes a record for every unit, and the next one
// overwrites it unless a trigger ended: a branch that cannot be predicted takes longer (3.1 instead of 1.8 ns per unit of a program).
const STATE_BITS = 16;
const STATE_MASK = (1 << STATE_BITS) - 1;
const firstRecords = new Int32Array(BLOCK_UNITS);
const secondRecords = new Int32Array(BLOCK_UNITS);
const thirdRecords = new Int32Array(BLOCK_UNITS);

export class TriggerScanner {
  /** Number of recorded triggers. */
  count = 0;
  /** State of the automaton after the last block. Set it to 0 before the first block of a text. */
  state = 0;

  /** Reads the units from `from` up to `to`, at most BLOCK_UNITS, and records the triggers in them. */
  scan(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    this.count = 0;
    const rest = to - from < MIN_UNITS_TO_DIVIDE ? from : this.#readThirds(prefilter, codes, from, to);
    if (rest < to) this.#read(prefilter, codes, rest, to);
  }

  #read({ transitions }: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    let { state, count } = this;
    for (let index = from; index < to; index++) {
      const previous = state;
      state = transitions[(previous << ROW_BITS) | (UNIT_SYMBOLS[codes[index] ?? 0] ?? 0)] ?? 0;
      if (state >= 0) continue;
      state = ~state;
      triggerStates[count] = previous;
      triggerEnds[count++] = index;
    }
    this.state = state;
    this.count = count;
  }

  /** Returns the end of the units that it read: at most two units are left. */
  #readThirds(
    { transitions, maxTriggerLength }: Prefilter<unknown>,
    codes: Uint16Array,
    from: number,
    to: number,
  ): number {
    // A state depends only on the last maxTriggerLength units. A reading that starts that far before its part is therefore in
    // the right state when it reaches it.
    const length = Math.floor((to - from + 2 * maxTriggerLength) / 3);
    const distance = length - maxTriggerLength;
    let first = this.state;
    let second = 0;
    let third = 0;
    let firstCount = 0;
    let secondCount = 0;
    let thirdCount = 0;
    for (let offset = 0; offset < length; offset++) {
      const index = from + offset;
      const units = offset << STATE_BITS;
      const firstRow = first << ROW_BITS;
      const secondRow = second << ROW_BITS;
      const thirdRow = third << ROW_BITS;
      firstRecords[firstCount] = units | first;
      secondRecords[secondCount] = units | second;
      thirdRecords[thirdCount] = units | third;
      first = transitions[firstRow | (UNIT_SYMBOLS[codes[index] ?? 0] ?? 0)] ?? 0;
      second = transitions[secondRow | (UNIT_SYMBOLS[codes[index + distance] ?? 0] ?? 0)] ?? 0;
      third = transitions[thirdRow | (UNIT_SYMBOLS[codes[index + distance + distance] ?? 0] ?? 0)] ?? 0;
      // The sign bits count, and complement.
      firstCount -= first >> 31;
      secondCount -= second >> 31;
      thirdCount -= third >> 31;
      first ^= first >> 31;
      second ^= second >> 31;
      third ^= third >> 31;
    }
    this.state = third;
    // The reading before a part has recorded the triggers that end before it.
    this.#addRecords(firstRecords, firstCount, from, from);
    this.#addRecords(secondRecords, secondCount, from + distance, from + length);
    this.#addRecords(thirdRecords, thirdCount, from + 2 * distance, from + distance + length);
    return from + 2 * distance + length;
  }

  /** Adds the triggers that end at or after `partStart`. */
  #addRecords(records: Int32Array, recordCount: number, from: number, partStart: number): void {
    let { count } = this;
    for (let index = 0; index < recordCount; index++) {
      const record = records[index] ?? 0;
      const end = from + (record >> STATE_BITS);
      if (end < partStart) continue;
      triggerStates[count] = record & STATE_MASK;
      triggerEnds[count++] = end;
    }
    this.count = count;
  }
}
