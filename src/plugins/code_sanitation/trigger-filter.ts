// The tables with which a WebAssembly module (wasm/read-triggers.ts) rejects triggers by the units around them: those of the lists of
// candidates, which are added when they are first used. Most recorded triggers are rejected, and the module does it in a third of the time.
import { isInClass, LETTER, QUOTE, WHITESPACE, WORD } from "./char-classes.ts";
import { CHAR_SET_SIZE } from "./char-set.ts";
import { ANY_SECOND, SECOND_UNIT_KIND, type PrefixSet } from "./prefix-set.ts";
import { NO_SEARCH, type Search } from "./required-before.ts";
import { NOTHING_AFTER, type SearchAfter } from "./search-after.ts";
import { NO_WORDS, WORD_SYMBOLS, type WordSet } from "./word-set.ts";

// The layout of the memory, as in wasm/read-triggers.ts.
const SECOND_KINDS = 0x14d100;
const SYMBOLS = 0x14d200;
const CLASSES = 0x14d300;
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
/**
 * The numbers of a check: bits of second units, addresses of two sets, and in bytes the length of the triggers, how many
 * candidates are checked one by one, and where they are.
 */
const CHECK_LENGTH = 4;
/**
 * The numbers of a candidate: bits of second units, addresses of three sets, and in bytes the length of the trigger, what is searched before and after it, and
 * the work of the list.
 */
/** The work of a list is a byte, and not less than the number of candidates. */
const MAX_WORK = 0xff;

/** Sets of all units, for conditions that any unit meets: the module looks up all conditions. */
const ANY_PREFIX: PrefixSet = new Int32Array(CHAR_SET_SIZE).fill(ANY_SECOND);
const ANY_WORD: WordSet = NO_WORDS.map(() => -1);
const ANYTHING: ListConditions = {
  work: 0,
  candidates: [],
  seconds: ANY_SECOND,
  afterWhitespace: null,
  lastUnits: null,
  triggerLength: 0,
};

/** Conditions that reject one candidate of a list. */
interface CandidateConditions {
  readonly length: number;
  readonly seconds: number;
  readonly afterWhitespace: PrefixSet | null;
  readonly lastUnits: PrefixSet | null;
  readonly words: WordSet | null;
  readonly search: Search;
  readonly searchAfter: SearchAfter;
}

/** Conditions that reject all candidates of a list. */
export interface ListConditions {
  /** The steps of checking the conditions of each candidate. */
  readonly work: number;
  readonly candidates: readonly CandidateConditions[];
  /** The bits of the units that may be the second one after the trigger, for at least one of the candidates. */
  readonly seconds: number;
  /** What may follow whitespace after the trigger, for at least one of the candidates; null for anything. */
  readonly afterWhitespace: PrefixSet | null;
  /** The units that may precede at least one of the triggers, read backwards; null for any. */
  readonly lastUnits: PrefixSet | null;
  /** Length of the triggers, if they all have the same. */
  readonly triggerLength: number;
}

// The bits of the classes of units that the module needs.
const UNIT_CLASSES = Uint8Array.from(
  { length: CHAR_SET_SIZE },
  (_, code) =>
    (isInClass(code, WHITESPACE) ? 1 : 0) |
    (isInClass(code, LETTER) ? 2 : 0) |
    (isInClass(code, WORD) ? 4 : 0) |
    (isInClass(code, QUOTE) ? 8 : 0),
);

/** Returns whether a candidate has no conditions but those of its list, so that checking the candidates one by one would never reject all of them. */
function addsNothing(candidate: CandidateConditions, list: ListConditions): boolean {
  return (
    candidate.seconds === list.seconds &&
    candidate.afterWhitespace === list.afterWhitespace &&
    candidate.lastUnits === list.lastUnits &&
    candidate.words === null &&
    candidate.search === NO_SEARCH &&
    candidate.searchAfter === NOTHING_AFTER
  );
}

export class TriggerFilter {
  /** The numbers of lists: a row by state, position and unit. */
  readonly numbers: Uint16Array;
  readonly #buffer: ArrayBuffer;
  readonly #checks: Int32Array;
  readonly #addresses = new Map<PrefixSet | WordSet, number>();
  readonly #addressesByContent = new Map<string, number>();
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
    new Uint8Array(buffer, SYMBOLS, CHAR_SET_SIZE).set(WORD_SYMBOLS);
    new Uint8Array(buffer, CLASSES, CHAR_SET_SIZE).set(UNIT_CLASSES);
    const addresses = new Uint32Array(buffer, ROWS, rows.length);
    for (const [state, row] of rows.entries()) if (row >= 0) addresses[state] = start + row * 2;
    // Before there may be no space left for it.
    this.#addressOf(ANY_WORD, ANY_WORD);
    this.add(UNKNOWN, ANYTHING);
    this.add(NONE, { ...ANYTHING, seconds: 0 });
  }

  /** Adds the conditions of a list. Call it before the number is written. */
  add(number: number, conditions: ListConditions): void {
    if (number >= MAX_CHECKS) return;
    const { seconds, lastUnits, afterWhitespace, triggerLength } = conditions;
    const check = [
      seconds,
      this.#addressOf(lastUnits ?? ANY_PREFIX, ANY_PREFIX),
      this.#addressOf(afterWhitespace ?? ANY_PREFIX, ANY_PREFIX),
      triggerLength | this.#addCandidates(conditions),
    ];
    this.#checks.set(check, number * CHECK_LENGTH);
  }

  /** Adds the conditions of candidates that are checked one by one. Returns their number and address as in a check; 0 for none. */
  #addCandidates(list: ListConditions): number {
    const { candidates, work } = list;
    if (work > MAX_WORK || candidates.some((each) => addsNothing(each, list))) return 0;
    const numbers = candidates.flatMap((each) => [
      each.seconds,
      this.#addressOf(each.lastUnits ?? ANY_PREFIX, ANY_PREFIX),
      this.#addressOf(each.afterWhitespace ?? ANY_PREFIX, ANY_PREFIX),
      this.#addressOf(each.words ?? ANY_WORD, ANY_WORD),
      each.length | (each.search << 8) | (each.searchAfter << 16) | (work << 24),
    ]);
    const address = this.#setsEnd;
    if (address + 4 * numbers.length > SETS_END) return 0;
    new Int32Array(this.#buffer, address, numbers.length).set(numbers);
    this.#setsEnd += 4 * numbers.length;
    return (candidates.length << 8) | (((address - SETS) >> 2) << 16);
  }

  /** Returns the address of a set, or that of `any` if there is no space left. */
  #addressOf<Set extends PrefixSet | WordSet>(set: Set, any: Set): number {
    const known = this.#addresses.get(set);
    if (known !== undefined) return known;
    const bytes = Buffer.from(set.buffer, set.byteOffset, set.byteLength);
    // Most unions are equal to another one.
    const content = bytes.toString("latin1");
    let address = this.#addressesByContent.get(content);
    if (address === undefined) {
      address = this.#setsEnd;
      if (address + bytes.length > SETS_END) return this.#addresses.get(any) ?? 0;
      new Uint8Array(this.#buffer, address, bytes.length).set(bytes);
      this.#setsEnd += bytes.length;
      this.#addressesByContent.set(content, address);
    }
    this.#addresses.set(set, address);
    return address;
  }
}
