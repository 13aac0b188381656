// The tables with which a WebAssembly module (wasm/read-triggers.ts) rejects triggers by the units around them: those of the lists of
// candidates, which are added when they are first used. Most recorded triggers are rejected, and the module does it in a third of the time.
import { CHAR_SET_SIZE, type CharSet } from "./char-set.ts";
import { ANY_SECOND, SECOND_UNIT_KIND, type PrefixSet } from "./prefix-set.ts";

// The layout of the memory, as in wasm/read-triggers.ts.
const SECOND_KINDS = 0x14d100;
const CHECKS = 0x14e000;
const SETS = 0x15e000;
const SETS_END = 0x19e000;
const ROWS = 0x19e000;

/** The number of a list that is not created yet, because most are never used. */
export const UNKNOWN = 0;
/** The number of an empty list. Most recorded triggers have it, and this is found without loading an object. */
export const NONE = 1;
/** The lists from this number are not checked by the module. */
const MAX_CHECKS = 0x1000;
/** The numbers of a check: bits of second units, addresses of two sets, and how far before the end of a trigger the unit before it is. */
const CHECK_LENGTH = 4;

/** Sets of all units, for conditions that any unit meets: the module looks up all conditions. */
const ANY_UNIT: CharSet = new Uint8Array(CHAR_SET_SIZE).fill(1);
const ANY_PREFIX: PrefixSet = new Int32Array(CHAR_SET_SIZE).fill(ANY_SECOND);
const ANYTHING: ListConditions = {
  seconds: ANY_SECOND,
  afterWhitespace: null,
  precededBy: null,
  triggerLength: 0,
};

/** Conditions that reject all candidates of a list. */
export interface ListConditions {
  /** The bits of the units that may be the second one after the trigger, for at least one of the candidates. */
  readonly seconds: number;
  /** What may follow whitespace after the trigger, for at least one of the candidates; null for anything. */
  readonly afterWhitespace: PrefixSet | null;
  /** Units that may precede at least one of the triggers; null for any. */
  readonly precededBy: CharSet | null;
  /** Length of the triggers, if they all have the same. */
  readonly triggerLength: number;
}

export class TriggerFilter {
  /** The numbers of lists: a row by state, position and unit. */
  readonly numbers: Uint16Array;
  readonly #buffer: ArrayBuffer;
  readonly #checks: Int32Array;
  readonly #addresses = new Map<CharSet | PrefixSet, number>();
  #setsEnd = SETS;

  /** `start`: where the numbers are written. `rows`: by state, where its row begins in the numbers; -1 for none. */
  constructor(buffer: ArrayBuffer, start: number, rows: Int32Array, numbers: Uint16Array) {
    this.#buffer = buffer;
    this.#checks = new Int32Array(buffer, CHECKS, MAX_CHECKS * CHECK_LENGTH);
    this.numbers = new Uint16Array(buffer, start, numbers.length);
    // Nearly all are UNKNOWN: what is not written takes no memory.
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index] ?? UNKNOWN;
      if (number !== UNKNOWN) this.numbers[index] = number;
    }
    new Uint8Array(buffer, SECOND_KINDS, CHAR_SET_SIZE).set(SECOND_UNIT_KIND);
    const addresses = new Uint32Array(buffer, ROWS, rows.length);
    for (const [state, row] of rows.entries()) if (row >= 0) addresses[state] = start + row * 2;
    this.add(UNKNOWN, ANYTHING);
    this.add(NONE, { ...ANYTHING, seconds: 0 });
  }

  /** Adds the conditions of a list. Call it before the number is written. */
  add(number: number, { seconds, precededBy, afterWhitespace, triggerLength }: ListConditions): void {
    if (number >= MAX_CHECKS) return;
    const check = [
      seconds,
      this.#addressOf(precededBy ?? ANY_UNIT, ANY_UNIT),
      this.#addressOf(afterWhitespace ?? ANY_PREFIX, ANY_PREFIX),
      triggerLength + 1,
    ];
    this.#checks.set(check, number * CHECK_LENGTH);
  }

  /** Returns the address of a set, or that of `any` if there is no space left. */
  #addressOf(set: CharSet | PrefixSet, any: CharSet | PrefixSet): number {
    const known = this.#addresses.get(set);
    if (known !== undefined) return known;
    const address = this.#setsEnd;
    if (address + set.byteLength > SETS_END) return this.#addresses.get(any) ?? 0;
    if (set instanceof Int32Array) new Int32Array(this.#buffer, address, set.length).set(set);
    else new Uint8Array(this.#buffer, address, set.length).set(set);
    // Sets of numbers need an address that is a multiple of four.
    this.#setsEnd = (address + set.byteLength + 3) & ~3;
    this.#addresses.set(set, address);
    return address;
  }
}
