// The tables with which a WebAssembly module (wasm/read-triggers.ts) rejects triggers by the units around them: those of the lists of
// candidates, which are added when they are first used. Most recorded triggers are rejected, and the module does it in a third of the time.
import { CHAR_SET_SIZE, type CharSet } from "./char-set.ts";
import { SECOND_UNIT_KIND, type PrefixSet } from "./prefix-set.ts";

// The layout of the memory, as in wasm/read-triggers.ts.
const SECOND_KINDS = 0x14d100;
const CHECKS = 0x14e000;
const SETS = 0x15e000;
const SETS_END = 0x19e000;
const ROWS = 0x19e000;

/** The lists from this number are not checked by the module. */
const MAX_CHECKS = 0x1000;
/** The numbers of a check: bits of second units, addresses of two sets, 0 for none, and the length of the triggers. */
const CHECK_LENGTH = 4;

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
    this.numbers.set(numbers);
    new Uint8Array(buffer, SECOND_KINDS, CHAR_SET_SIZE).set(SECOND_UNIT_KIND);
    const addresses = new Uint32Array(buffer, ROWS, rows.length);
    for (const [state, row] of rows.entries()) if (row >= 0) addresses[state] = start + row * 2;
  }

  /** Adds the conditions of a list. Call it before the number is written. */
  add(number: number, { seconds, precededBy, afterWhitespace, triggerLength }: ListConditions): void {
    if (number >= MAX_CHECKS) return;
    const check = [seconds, this.#addressOf(precededBy), this.#addressOf(afterWhitespace), triggerLength];
    this.#checks.set(check, number * CHECK_LENGTH);
  }

  /** Returns the address of a set; 0 if any unit is in it, or if there is no space left. */
  #addressOf(set: CharSet | PrefixSet | null): number {
    if (set === null) return 0;
    const known = this.#addresses.get(set);
    if (known !== undefined) return known;
    const address = this.#setsEnd;
    if (address + set.byteLength > SETS_END) return 0;
    if (set instanceof Int32Array) new Int32Array(this.#buffer, address, set.length).set(set);
    else new Uint8Array(this.#buffer, address, set.length).set(set);
    // Sets of numbers need an address that is a multiple of four.
    this.#setsEnd = (address + set.byteLength + 3) & ~3;
    this.#addresses.set(set, address);
    return address;
  }
}
