// The memory of a prefilter's automaton, which JavaScript and a WebAssembly module (wasm/read-triggers.ts) read. The module reads a block
// of units from four positions at the same time, because each lookup waits for the one before it.
import { UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { WASM } from "./read-triggers-wasm.ts";

// The layout of the memory, as in wasm/read-triggers.ts. The symbols of units are at 0. Those of most units are 0, which is not written.
const ASCII_SIZE = 0x80;
const CODES = 0x10000;
/** The units of a block: as many as there is space for. */
export const BLOCK_UNITS = 0x1000;
const RECORDS = 0x12000;
const RECORDS_PER_READING = 0x1000;
const TRANSITIONS = 0x22000;
const PAGE_BYTES = 0x10000;

/** The number of readings. */
const READINGS = 4;
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

interface ReadModule {
  /** Returns the state of the last reading. */
  readonly read: (state: number, length: number, distance: number) => number;
  readonly firstCount: { readonly value: number };
  readonly secondCount: { readonly value: number };
  readonly thirdCount: { readonly value: number };
  readonly fourthCount: { readonly value: number };
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

  constructor(transitions: Uint16Array) {
    this.transitions = transitions;
  }

  /**
   * Reads the units from `from` up to `to`, at most BLOCK_UNITS, except for up to three at the end, and reports the triggers in them to `sink`.
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
    this.#reader = createReader(this.transitions);
    if (this.#reader !== null) this.transitions = this.#reader.transitions;
  }
}

/** Returns null where WebAssembly is not available. */
function createReader(transitions: Uint16Array): BlockReader | null {
  const pages = Math.ceil((TRANSITIONS + transitions.byteLength) / PAGE_BYTES);
  try {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    compiled ??= new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    return new BlockReader(memory, exports as unknown as ReadModule, transitions);
  } catch {
    return null;
  }
}

class BlockReader {
  readonly transitions: Uint16Array;
  readonly #module: ReadModule;
  readonly #codes: Uint16Array;
  readonly #records: Uint32Array;

  constructor({ buffer }: WebAssembly.Memory, module: ReadModule, transitions: Uint16Array) {
    const symbols = new Uint8Array(buffer, 0, ASCII_SIZE);
    for (let code = 0; code < ASCII_SIZE; code++) symbols[code] = 2 * (UNIT_SYMBOLS[code] ?? 0);
    this.transitions = new Uint16Array(buffer, TRANSITIONS, transitions.length);
    this.transitions.set(transitions);
    this.#module = module;
    this.#codes = new Uint16Array(buffer, CODES, BLOCK_UNITS);
    this.#records = new Uint32Array(buffer, RECORDS, READINGS * RECORDS_PER_READING);
  }

  read(codes: Uint16Array, from: number, to: number, maxTriggerLength: number, sink: TriggerSink): number {
    const module = this.#module;
    this.#codes.set(codes.subarray(from, to));
    // A state depends only on the last maxTriggerLength units. A reading that starts that far before its part is therefore in
    // the right state when it reaches it, and what it recorded before that belongs to the reading of the part before.
    const length = Math.floor((to - from + (READINGS - 1) * maxTriggerLength) / READINGS);
    const distance = length - maxTriggerLength;
    sink.state = module.read(sink.state, length, distance);
    this.#report(0, module.firstCount.value, from, from, sink);
    this.#report(1, module.secondCount.value, from + distance, from + length, sink);
    this.#report(2, module.thirdCount.value, from + 2 * distance, from + distance + length, sink);
    this.#report(3, module.fourthCount.value, from + 3 * distance, from + 2 * distance + length, sink);
    return 3 * distance + length;
  }

  /** Reports the triggers of a reading that started at `from` and that end at or after `partStart`. */
  #report(reading: number, count: number, from: number, partStart: number, sink: TriggerSink): void {
    const records = this.#records;
    const start = reading * RECORDS_PER_READING;
    for (let index = start; index < start + count; index++) {
      const record = records[index] ?? 0;
      const end = from + (record >>> UNITS_SHIFT);
      if (end >= partStart) sink.addTrigger(record & STATE_MASK, end);
    }
  }
}
