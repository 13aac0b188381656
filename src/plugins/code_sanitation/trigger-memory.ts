// The memory of a prefilter's automaton, which JavaScript and WebAssembly read. One module normalizes JSON strings (wasm/normalize-json.ts), the
// other reads a block of units from eight positions at the same time (wasm/read-triggers.ts), because each lookup waits for the one before it.
// Both use the same memory, so that normalized units are not copied.
import { CODES, createNormalizer, type JsonNormalizer, type NormalizedJson } from "./normalize-json.ts";
import { COLUMN_BITS, COLUMN_SYMBOLS, SYMBOL_BITS, UNIT_COLUMNS, UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { WASM } from "./read-triggers-wasm.ts";
import type { WorkCounter } from "./work-budget.ts";

// The layout of the memory, as in wasm/read-triggers.ts; that of wasm/normalize-json.ts is before it.
/** A block of a text that is not located at CODES, with the units before it. */
const COPIED = 0x130000;
const RECORDS = 0x135000;
const REJECTED = 0x14d000;
const COPIED_STATES = 0x1e0000;
const TRANSITIONS = 0x1f0000;
/** The units of a block: as many as there is space for. */
export const BLOCK_UNITS = 0x1000;
/** The units before a trigger and after a block by which the module rejects triggers. */
const UNITS_BEFORE = 34;
const UNITS_AFTER = 52;
const PAGE_BYTES = 0x10000;

/** How many units before its part a reading begins, if no deeper state is reached where a part begins. Nearly all texts reach none there. */
export const OVERLAP = 8;
/** Shorter texts are read by JavaScript: the calls, and the units that two readings share, take as long as what the module saves. */
const MIN_UNITS = 40;
/**
 * The module is used for an automaton that has read so many units, in 0.2 ms: its memory takes a millisecond to create, and the runtime
 * has fast memory for a few modules only. Detectors of single patterns, of which tests create thousands, never need it.
 */
export const MIN_READ_UNITS = 0x10000;
/** In a record: the number of units before is above these bits, the state below. */
const UNITS_SHIFT = 16;
const STATE_MASK = 0x7fff;

/** The number of readings. */
const READINGS = 8;
/** The result of `read` if a deeper state was reached where a part begins. */
const UNCERTAIN = -1;
/** In another result: the number of records is above these bits, the state below. */
const COUNT_SHIFT = 15;

interface ReadModule {
  readonly read: (
    state: number,
    length: number,
    distance: number,
    knownStates: number,
    codes: number,
    from: number,
  ) => number;
  readonly prepare: (states: number) => void;
}

/** The transitions of an automaton. */
export interface TransitionTable {
  /**
   * The row of a state starts at the state times 2^SYMBOL_BITS and has the next state for each symbol. If a trigger ends in the state and the symbol may
   * follow that trigger, which rejects most triggers, the next state is a copy: it has the same row, and a number after those of all states.
   */
  readonly transitions: Uint16Array;
  /** The states of the copies, in the order of their numbers. */
  readonly copiedStates: Uint16Array;
  /** The states below this number are at most OVERLAP units deep. */
  readonly shallowStates: number;
}

/** Has tables with which the module rejects triggers. */
export interface TableOwner {
  readonly tableBytes: number;
  /** Moves the tables to the memory, where `tableBytes` are available from `start`. */
  moveTables(buffer: ArrayBuffer, start: number): void;
}

/** A reader of a text, block by block. */
export interface TriggerSink {
  /** State of the automaton after the last block. */
  state: number;
  /** Called in ascending order. `state`: before the unit at `end`. It identifies the triggers that end there. */
  addTrigger(state: number, end: number): void;
  /** Called with the number of triggers that the module rejected, and the steps of checking the conditions of their candidates. */
  addRejected(count: number, work: number): void;
}

/** Compiled with its first use, because compiling takes a millisecond. */
let compiled: WebAssembly.Module | undefined;

export class TriggerMemory {
  /** Of WebAssembly memory after MIN_READ_UNITS. */
  transitions: Uint16Array;
  /** A row has 2^rowBits entries, and `columns` has the one of each code unit. */
  rowBits = SYMBOL_BITS;
  columns = UNIT_SYMBOLS;
  /** The number of states, without copies. */
  readonly firstCopy: number;
  /** Null for an automaton that reports every trigger. */
  tableOwner: TableOwner | null = null;
  /** Null before MIN_READ_UNITS, and where WebAssembly with SIMD is not available. */
  #normalizer: JsonNormalizer | null = null;
  /** Null before MIN_READ_UNITS, and where WebAssembly with SIMD is not available. */
  #reader: BlockReader | null = null;
  #unitsLeft = MIN_READ_UNITS;
  readonly #shallowStates: number;
  readonly #copiedStates: Uint16Array;

  constructor({ transitions, copiedStates, shallowStates }: TransitionTable) {
    this.transitions = transitions;
    this.firstCopy = (transitions.length >> SYMBOL_BITS) - copiedStates.length;
    this.#copiedStates = copiedStates;
    this.#shallowStates = shallowStates;
  }

  /** Returns the state itself, if it is a copy. */
  withoutCopy(state: number): number {
    return state < this.firstCopy ? state : (this.#copiedStates[state - this.firstCopy] ?? 0);
  }

  /** Normalizes the content of a JSON string. Returns null if this has to be done in JavaScript. The next call overwrites the text. */
  normalizeJson(bytes: Buffer, start: number, end: number, work: WorkCounter): NormalizedJson | null {
    if (this.#unitsLeft > 0) this.#countUnits(end - start);
    return this.#normalizer === null ? null : this.#normalizer.normalize(bytes, start, end, work);
  }

  /**
   * Reads the units from `from` up to `to`, at most BLOCK_UNITS, except for up to seven at the end, and reports the triggers in them to `sink`, except
   * for those that the tables reject. Returns how many units it read: 0 if the block is too short, or if it is not worth it yet.
   */
  read(codes: Uint16Array, from: number, to: number, maxTriggerLength: number, sink: TriggerSink): number {
    const units = to - from;
    if (units < MIN_UNITS || units <= maxTriggerLength) return 0;
    if (this.#unitsLeft > 0) this.#countUnits(units);
    const reader = this.#reader;
    if (reader === null) return 0;
    const block =
      codes === this.#normalizer?.codes ? CODES + 2 * from : reader.copy(codes, from, to, maxTriggerLength);
    return reader.read(block, from, to, maxTriggerLength, sink);
  }

  #countUnits(units: number): void {
    this.#unitsLeft -= units;
    if (this.#unitsLeft > 0) return;
    const { transitions, tableOwner } = this;
    const wideLength = (transitions.length >> SYMBOL_BITS) << COLUMN_BITS;
    const tables = TRANSITIONS + wideLength * transitions.BYTES_PER_ELEMENT;
    const pages = Math.ceil((tables + (tableOwner?.tableBytes ?? 0)) / PAGE_BYTES);
    try {
      const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
      compiled ??= new WebAssembly.Module(Buffer.from(WASM, "base64"));
      const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
      // The compiler of the module checks these types; WebAssembly converts arguments and results.
      const module = exports as unknown as ReadModule;
      this.#reader = new BlockReader(memory, module, this.#shallowStates);
      new Uint16Array(memory.buffer, COPIED_STATES, this.#copiedStates.length).set(this.#copiedStates);
      module.prepare(this.firstCopy);
      this.transitions = new Uint16Array(memory.buffer, TRANSITIONS, wideLength);
      widenRows(transitions, this.transitions);
      this.rowBits = COLUMN_BITS;
      this.columns = UNIT_COLUMNS;
      tableOwner?.moveTables(memory.buffer, tables);
      this.#normalizer = createNormalizer(memory);
    } catch {
      // WebAssembly with SIMD is not available.
    }
  }
}

/** Writes rows by symbol as rows by column. */
function widenRows(rows: Uint16Array, wideRows: Uint16Array): void {
  const columns = COLUMN_SYMBOLS.length;
  for (let row = 0, to = 0; to < wideRows.length; row += 1 << SYMBOL_BITS)
    for (let column = 0; column < columns; column++)
      wideRows[to++] = rows[row | (COLUMN_SYMBOLS[column] ?? 0)] ?? 0;
}

class BlockReader {
  readonly #module: ReadModule;
  readonly #shallowStates: number;
  readonly #copied: Uint16Array;
  readonly #records: Uint32Array;
  readonly #rejected: Uint32Array;

  constructor({ buffer }: WebAssembly.Memory, module: ReadModule, shallowStates: number) {
    this.#module = module;
    this.#shallowStates = shallowStates;
    this.#copied = new Uint16Array(buffer, COPIED, UNITS_BEFORE + 2 * BLOCK_UNITS + UNITS_AFTER);
    this.#records = new Uint32Array(buffer, RECORDS, BLOCK_UNITS);
    this.#rejected = new Uint32Array(buffer, REJECTED, 2);
  }

  /** Copies a block and the units around it that reject triggers. Returns the address of the block. */
  copy(codes: Uint16Array, from: number, to: number, maxTriggerLength: number): number {
    // A trigger is shorter than the block.
    const start = Math.max(0, from - maxTriggerLength - UNITS_BEFORE);
    this.#copied.set(codes.subarray(start, to + UNITS_AFTER));
    return COPIED + 2 * (from - start);
  }

  read(block: number, from: number, to: number, maxTriggerLength: number, sink: TriggerSink): number {
    const units = this.#read(block, from, to - from, OVERLAP, this.#shallowStates, sink);
    // A state is at most as deep as the longest trigger.
    return units > 0 ? units : this.#read(block, from, to - from, maxTriggerLength, STATE_MASK + 1, sink);
  }

  /** Returns how many units were read: 0 if a state from `knownStates` was reached where a part begins. */
  #read(
    block: number,
    from: number,
    units: number,
    overlap: number,
    knownStates: number,
    sink: TriggerSink,
  ): number {
    const length = Math.floor((units + (READINGS - 1) * overlap) / READINGS);
    const distance = length - overlap;
    const result = this.#module.read(sink.state, length, distance, knownStates, block, from);
    if (result === UNCERTAIN) return 0;
    sink.state = result & STATE_MASK;
    sink.addRejected(this.#rejected[0] ?? 0, this.#rejected[1] ?? 0);
    const count = result >>> COUNT_SHIFT;
    const records = this.#records;
    for (let index = 0; index < count; index++) {
      const record = records[index] ?? 0;
      sink.addTrigger(record & STATE_MASK, from + (record >>> UNITS_SHIFT));
    }
    return (READINGS - 1) * distance + length;
  }
}
