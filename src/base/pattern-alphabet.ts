// Divides the code points into classes that a pattern does not distinguish.
import { FOLDED_WORD, hasCodePoint, LINE_TERMINATORS, WORD, type CodePointSet } from "./code-point-sets.ts";
import {
  FOLDED_WORD_CHARACTER,
  LINE_TERMINATOR,
  OTHER_CHARACTER,
  WORD_CHARACTER,
} from "./pattern-assertions.ts";

export const ASCII = 128;
const KIND_SETS: readonly (readonly [set: CodePointSet, kind: number])[] = [
  [LINE_TERMINATORS, LINE_TERMINATOR],
  [WORD, WORD_CHARACTER],
  [FOLDED_WORD, FOLDED_WORD_CHARACTER],
];

export class PatternAlphabet {
  /** The first code points of intervals that no set divides, in order. */
  readonly #starts: Uint32Array;
  /** By interval: its class. */
  readonly #classes: Uint16Array;
  /** By ASCII character: its class. */
  readonly ascii = new Uint16Array(ASCII);
  readonly #members = new Map<CodePointSet, Uint8Array>();
  /** By class: the kind of its characters, for assertions; 0 if there are none. */
  readonly kinds: Uint8Array;
  readonly size: number;

  /** `hasAssertions`: the characters of a class are all of one kind. */
  constructor(sets: Iterable<CodePointSet>, hasAssertions: boolean) {
    const distinct = [...new Set(sets)];
    const dividing = hasAssertions ? [...distinct, ...KIND_SETS.map(([set]) => set)] : distinct;
    const ends = dividing.flatMap((set) => set.flatMap(([first, last]) => [first, last + 1]));
    this.#starts = Uint32Array.from(new Set([0, ...ends])).sort();
    const representatives: number[] = [];
    this.#classes = this.#divide(dividing, representatives);
    this.size = representatives.length;
    for (let unit = 0; unit < ASCII; unit++) this.ascii[unit] = this.#classes[this.#intervalOf(unit)] ?? 0;
    for (const set of distinct)
      this.#members.set(
        set,
        Uint8Array.from(representatives, (start) => (hasCodePoint(set, start) ? 1 : 0)),
      );
    this.kinds = Uint8Array.from(representatives, hasAssertions ? kindOf : () => 0);
  }

  classOf(codePoint: number): number {
    return codePoint < ASCII
      ? (this.ascii[codePoint] ?? 0)
      : (this.#classes[this.#intervalOf(codePoint)] ?? 0);
  }

  /** Returns 1 for each class whose characters are in the set, which must be one of the pattern. */
  membersOf(set: CodePointSet): Uint8Array {
    return this.#members.get(set) ?? new Uint8Array(this.size);
  }

  /** Returns the class of each interval: intervals that are in the same sets have the same one. */
  #divide(sets: readonly CodePointSet[], representatives: number[]): Uint16Array {
    const starts = this.#starts;
    let classes = new Uint16Array(starts.length);
    for (const set of sets) {
      const numbers = new Map<number, number>();
      classes = classes.map((number, index) => {
        const key = number * 2 + (hasCodePoint(set, starts[index] ?? 0) ? 1 : 0);
        const known = numbers.get(key) ?? numbers.size;
        numbers.set(key, known);
        return known;
      });
    }
    for (const [index, number] of classes.entries())
      if (number === representatives.length) representatives.push(starts[index] ?? 0);
    return classes;
  }

  #intervalOf(codePoint: number): number {
    const starts = this.#starts;
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= codePoint) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function kindOf(codePoint: number): number {
  return KIND_SETS.find(([set]) => hasCodePoint(set, codePoint))?.[1] ?? OTHER_CHARACTER;
}
