// What must follow the triggers of all patterns, as a table: computed at build time, because deriving it from the matchers of the
// patterns that the first request needs takes milliseconds.
import { CHAR_SET_SIZE } from "./char-set.ts";
import type { RequiredAfter } from "./pattern.ts";
import type { PrefixSet } from "./prefix-set.ts";
import { NO_WORDS, type WordSet } from "./word-set.ts";

const HEADER_LENGTH = 2;
/** The numbers of a pattern: those of two sets of prefixes and of a set of words, from 1; 0 for none. */
const PATTERN_LENGTH = 3;

/** Sets of the same length, each once. */
class DistinctSets {
  readonly sets: Int32Array[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(set: Int32Array | Uint32Array | null): number {
    if (set === null) return 0;
    const text = set.join();
    let number = this.#numbers.get(text);
    if (number === undefined) this.#numbers.set(text, (number = this.sets.push(Int32Array.from(set))));
    return number;
  }
}

/** Returns the table of these conditions as the content of a file. */
export function writeFirstSets(conditions: readonly (RequiredAfter | null)[]): Uint8Array {
  const prefixes = new DistinctSets();
  const words = new DistinctSets();
  const numbers = conditions.flatMap((required) => {
    const following = required?.words() ?? null;
    return [
      prefixes.numberOf(required?.prefixes ?? null),
      prefixes.numberOf(required?.afterWhitespace ?? null),
      words.numberOf(following === NO_WORDS ? null : following),
    ];
  });
  const header = [prefixes.sets.length, words.sets.length];
  const table = [header, ...prefixes.sets, ...words.sets, numbers].flatMap((part) => [...part]);
  return new Uint8Array(Int32Array.from(table).buffer);
}

export class FirstSetTable {
  readonly #prefixes: SetReader<PrefixSet>;
  readonly #words: SetReader<WordSet>;
  readonly #numbers: Int32Array;

  /** `bytes`: the content of a file. */
  constructor({ buffer, byteOffset, length }: Uint8Array) {
    const table = new Int32Array(buffer, byteOffset, length >> 2);
    const [prefixes = 0, words = 0] = table;
    const wordsStart = HEADER_LENGTH + prefixes * CHAR_SET_SIZE;
    this.#prefixes = new SetReader((number) => {
      const start = HEADER_LENGTH + (number - 1) * CHAR_SET_SIZE;
      return table.slice(start, start + CHAR_SET_SIZE);
    });
    this.#words = new SetReader((number) => {
      const start = wordsStart + (number - 1) * NO_WORDS.length;
      return new Uint32Array(table.subarray(start, start + NO_WORDS.length));
    });
    this.#numbers = table.subarray(wordsStart + words * NO_WORDS.length);
  }

  /** Returns the condition at an index; null if anything may follow. */
  at(index: number): RequiredAfter | null {
    const first = index * PATTERN_LENGTH;
    const prefixes = this.#prefixes.read(this.#numbers[first] ?? 0);
    if (prefixes === null) return null;
    const afterWhitespace = this.#prefixes.read(this.#numbers[first + 1] ?? 0);
    const words = this.#words.read(this.#numbers[first + 2] ?? 0);
    return { prefixes, afterWhitespace, words: () => words };
  }
}

/** Reads each set once, when it is first needed. It is an array of its own, like those that are derived from matchers. */
class SetReader<Set> {
  readonly #read: (number: number) => Set;
  readonly #sets: (Set | undefined)[] = [];

  constructor(read: (number: number) => Set) {
    this.#read = read;
  }

  /** Returns null for the number 0. */
  read(number: number): Set | null {
    return number === 0 ? null : (this.#sets[number] ??= this.#read(number));
  }
}
