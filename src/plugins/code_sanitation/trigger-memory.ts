// The memory of a prefilter's automaton, which JavaScript and a WebAssembly module (wasm/read-triggers.ts) read. The module reads a block
// of units from six positions at the same time, because each lookup waits for the one before it.
import { UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { WASM } from "./read-triggers-wasm.ts";

// The layout of the memory, as in wasm/read-triggers.ts. The symbols of units are at 0. Those of most units are 0, which is not written.
const ASCII_SIZE = 0x80;
const CODES = 0x10000;
/** The units of a block: as many as there is space for. */
export const BLOCK_UNITS = 0x1000;
const RECORDS = 0x12000;
const TRANSITIONS = 0x2a000;
const PAGE_BYTES = 0x10000;

/** How many units before its part a reading begins, if no deeper state is reached where a part begins. Nearly all texts reach none there. */
export const OVERLAP = 8;
/** Below this number of units, more than one reading costs more than it saves, because the others start before their part. */
const MIN_UNITS = 128;
/**
 * The module is used for an automaton that has read so many units, in 0.2 ms: its memory takes a millisecond to create, and the runtime
 * has fast memory for a few modules only. Detectors of single patterns, of which tests create thousands, never need it.
 */
export const MIN_READ_UNITS = 0x10000;
/** In a record: the number of units before is above these bits, the state below. */
const UNITS_SHIFT = 16;
const STATE_MASK = 0x7fff;

/** The number of readings. */
const READINGS = 6;
/** The result of `read` if a deeper state was reached where a part begins. */
const UNCERTAIN = -1;
/** In another result: the number of records is above these bits, the state below. */
const COUNT_SHIFT = 15;

interface ReadModule {
  readonly read: (state: number, length: number, distance: number, knownStates: number) => number;
}

/** A reader of a text, block by block. */
export interface TriggerSink {
  /** State of the automaton after the last block. */
  state: number;
  /** Called in ascending order. `state`: before the unit at `end`. It identifies the triggers that end there. */
  addTrigger(state: number, end: number): void;
}

/** Compiled with its first use, because compiling takes a millisecond. */
let compiled: WebAssembly.Module | undefined;

export class TriggerMemory {
  /** Of WebAssembly memory after MIN_READ_UNITS. */
  transitions: Uint16Array;
  /** Null before MIN_READ_UNITS, and where WebAssembly is not available. */
  #reader: BlockReader | null = null;
  #unitsLeft = MIN_READ_UNITS;
  readonly #shallowStates: number;

  /** `shallowStates`: the states below this number are at most OVERLAP units deep. */
  constructor(transitions: Uint16Array, shallowStates: number) {
    this.transitions = transitions;
    this.#shallowStates = shallowStates;
  }

  /**
   * Reads the units from `from` up to `to`, at most BLOCK_UNITS, except for up to five at the end, and reports the triggers in them to `sink`.
   * Returns how many units it read: 0 if the block is too short, or if it is not worth it yet.
   */
  read(codes: Uint16Array, from: number, to: number, maxTriggerLength: number, sink: TriggerSink): number {
    const units = to - from;
    if (units < MIN_UNITS || units <= maxTriggerLength) return 0;
    if (this.#unitsLeft > 0) this.#countUnits(units);
    return this.#reader?.read(codes, from, to, maxTriggerLength, sink) ?? 0;
  }

  #countUnits(units: number): void {
    this.#unitsLeft -= units;
    if (this.#unitsLeft > 0) return;
    this.#reader = createReader(this.transitions, this.#shallowStates);
    if (this.#reader !== null) this.transitions = this.#reader.transitions;
  }
}

/** Returns null where WebAssembly is not available. */
function createReader(transitions: Uint16Array, shallowStates: number): BlockReader | null {
  const pages = Math.ceil((TRANSITIONS + transitions.byteLength) / PAGE_BYTES);
  try {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    compiled ??= new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    return new BlockReader(memory, exports as unknown as ReadModule, transitions, shallowStates);
  } catch {
    return null;
  }
}

class BlockReader {
  readonly transitions: Uint16Array;
  readonly #module: ReadModule;
  readonly #shallowStates: number;
  readonly #codes: Uint16Array;
  readonly #records: Uint32Array;

  constructor(
    { buffer }: WebAssembly.Memory,
    module: ReadModule,
    transitions: Uint16Array,
    shallowStates: number,
  ) {
    const symbols = new Uint8Array(buffer, 0, ASCII_SIZE);
    for (let code = 0; code < ASCII_SIZE; code++) symbols[code] = 2 * (UNIT_SYMBOLS[code] ?? 0);
    this.transitions = new Uint16Array(buffer, TRANSITIONS, transitions.length);
    this.transitions.set(transitions);
    this.#module = module;
    this.#shallowStates = shallowStates;
    this.#codes = new Uint16Array(buffer, CODES, BLOCK_UNITS);
    this.#records = new Uint32Array(buffer, RECORDS, BLOCK_UNITS);
  }

  read(codes: Uint16Array, from: number, to: number, maxTriggerLength: number, sink: TriggerSink): number {
    this.#codes.set(codes.subarray(from, to));
    const units = this.#read(from, to - from, OVERLAP, this.#shallowStates, sink);
    // A state is at most as deep as the longest trigger.
    return units > 0 ? units : this.#read(from, to - from, maxTriggerLength, STATE_MASK + 1, sink);
  }

  /** Returns how many units were read: 0 if a state from `knownStates` was reached where a part begins. */
  #read(from: number, units: number, overlap: number, knownStates: number, sink: TriggerSink): number {
    const length = Math.floor((units + (READINGS - 1) * overlap) / READINGS);
    const distance = length - overlap;
    const result = this.#module.read(sink.state, length, distance, knownStates);
    if (result === UNCERTAIN) return 0;
    sink.state = result & STATE_MASK;
    const count = result >>> COUNT_SHIFT;
    const records = this.#records;
    for (let index = 0; index < count; index++) {
      const record = records[index] ?? 0;
      sink.addTrigger(record & STATE_MASK, from + (record >>> UNITS_SHIFT));
    }
    return (READINGS - 1) * distance + length;
  }
}
