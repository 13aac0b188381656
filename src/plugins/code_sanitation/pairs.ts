// Splits forms and queries into pairs as servers do: at `&`, and some at `;` as well, with which `&amp;` ends, too.

/** A pair of a name and a value. */
interface Pair {
  readonly start: number;
  readonly end: number;
  /** The position of the first `=`; -1 if there is none. */
  readonly equals: number;
}

/** Returns the pairs between `&` from `start` on, and after one that contains `;` also the pairs in it. */
export function* pairsIn(text: string, start: number): Generator<Pair> {
  const pairs = new PairReader(text, "&");
  const inner = new PairReader(text, ";");
  for (let at = start; at <= text.length;) {
    const pair = pairs.read(at, text.length);
    yield pair;
    for (let from = at; from <= pair.end;) {
      const part = inner.read(from, pair.end);
      from = part.end + 1;
      if (part.end - part.start < pair.end - pair.start) yield part;
    }
    at = pair.end + 1;
  }
}

class PairReader {
  readonly #separators: Occurrences;
  readonly #equals: Occurrences;

  constructor(text: string, separator: string) {
    this.#separators = new Occurrences(text, separator);
    this.#equals = new Occurrences(text, "=");
  }

  /** Returns the pair from `start` to the next separator before `limit`. */
  read(start: number, limit: number): Pair {
    const end = Math.min(this.#separators.from(start), limit);
    const equals = this.#equals.from(start);
    return { start, end, equals: equals < end ? equals : -1 };
  }
}

/** Searches again only when an occurrence was passed: a text may have many of one character and none of another. */
class Occurrences {
  readonly #text: string;
  readonly #character: string;
  #next = -1;

  constructor(text: string, character: string) {
    this.#text = text;
    this.#character = character;
  }

  /** Returns the first position from `start` on; Infinity if there is none. `start` never decreases. */
  from(start: number): number {
    if (this.#next < start) {
      const found = this.#text.indexOf(this.#character, start);
      this.#next = found < 0 ? Infinity : found;
    }
    return this.#next;
  }
}
