// Runs the prefilter over a block of code units and records where triggers end. The loop does nothing else. Most of a long block is read
// by a WebAssembly module (trigger-memory.ts).
import type { Prefilter } from "./prefilter.ts";
import { BLOCK_UNITS, type TriggerSink } from "./trigger-memory.ts";

// What is recorded, as constants of the module: compiled code contains their addresses. A scan is synchronous, so one of each is enough.

/** Position after each trigger, in ascending order. */
export const triggerEnds = new Int32Array(BLOCK_UNITS);
/** The state at that position: it identifies the triggers that end there. */
export const triggerStates = new Int16Array(BLOCK_UNITS);

export class TriggerScanner implements TriggerSink {
  /** Number of recorded triggers. */
  count = 0;
  /** Number of triggers that are not recorded, because no pattern can match there. */
  rejected = 0;
  /** The steps of checking the conditions of their candidates. */
  rejectedWork = 0;
  /** State of the automaton after the last block. Set it to 0 before the first block of a text. */
  state = 0;

  /** Reads a block of the units from `from` up to `to`, records the triggers in it, and returns the end of the block. */
  scan(prefilter: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): number {
    this.count = 0;
    this.rejected = 0;
    this.rejectedWork = 0;
    const end = Math.min(from + BLOCK_UNITS, to);
    const rest = from + prefilter.memory.read(codes, from, end, prefilter.maxTriggerLength, this);
    if (rest < end) this.#read(prefilter, codes, rest, end);
    return end;
  }

  addTrigger(state: number, end: number): void {
    triggerStates[this.count] = state;
    triggerEnds[this.count++] = end;
  }

  addRejected(count: number, work: number): void {
    this.rejected = count;
    this.rejectedWork = work;
  }

  #read({ memory }: Prefilter<unknown>, codes: Uint16Array, from: number, to: number): void {
    const { transitions, rowBits, columns, firstCopy } = memory;
    let { state } = this;
    for (let index = from; index < to; index++) {
      const next = transitions[(state << rowBits) | (columns[codes[index] ?? 0] ?? 0)] ?? 0;
      if (next >= firstCopy) this.addTrigger(memory.withoutCopy(state), index);
      state = next;
    }
    this.state = state;
  }
}
