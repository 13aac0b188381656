// The prefilter: one Aho–Corasick automaton over the triggers of all patterns, so that a text is read once, one table
// look-up a unit, however many patterns there are.
import { lower } from "./char-classes.ts";

/** Units beyond ASCII occur in no trigger and lead back to the root. */
const ASCII = 0x80;

/** A trigger of a pattern, by the pattern's index. */
export interface Hit {
  readonly pattern: number;
  readonly length: number;
}

export class Prefilter {
  /** Row of a state: its successor for each class of unit. States are stored as row offsets. */
  readonly rows: Int32Array;
  readonly classes: Uint8Array;
  /** By row offset divided by `width`. */
  readonly hits: readonly (readonly Hit[] | null)[];
  readonly width: number;

  constructor(triggers: readonly { readonly text: string; readonly pattern: number }[]) {
    this.classes = new Uint8Array(0x10000);
    this.width = this.#numberClasses(triggers.map(({ text }) => text));
    const { next, own } = this.#buildTrie(triggers);
    this.rows = new Int32Array(next.length * this.width);
    this.hits = this.#link(next, own);
  }

  #numberClasses(texts: readonly string[]): number {
    let count = 1;
    for (const text of texts) {
      for (const character of text.toLowerCase()) {
        const code = character.charCodeAt(0);
        if (code >= ASCII) throw new Error(`trigger ${text} is not ASCII`);
        if (this.classes[code] === 0) this.classes[code] = count++;
      }
    }
    for (let code = 0; code < ASCII; code++) this.classes[code] = this.classes[lower(code)] ?? 0;
    return count;
  }

  #buildTrie(triggers: readonly { readonly text: string; readonly pattern: number }[]) {
    const next: Map<number, number>[] = [new Map()];
    const own: Hit[][] = [[]];
    for (const { text, pattern } of triggers) {
      let state = 0;
      for (const character of text.toLowerCase()) {
        const symbol = this.classes[character.charCodeAt(0)] ?? 0;
        let following = next[state]?.get(symbol);
        if (following === undefined) {
          following = next.length;
          next.push(new Map());
          own.push([]);
          next[state]?.set(symbol, following);
        }
        state = following;
      }
      own[state]?.push({ pattern, length: text.length });
    }
    return { next, own };
  }

  /** Breadth first: a state's missing successors are those of its longest proper suffix, and it inherits its hits. */
  #link(next: readonly Map<number, number>[], own: readonly Hit[][]): (readonly Hit[] | null)[] {
    const suffixes = new Int32Array(next.length);
    const hits: (readonly Hit[] | null)[] = own.map((list) => (list.length > 0 ? list : null));
    const queue = [0];
    for (let head = 0; head < queue.length; head++) {
      const state = queue[head] ?? 0;
      const suffix = suffixes[state] ?? 0;
      const inherited = state === 0 ? null : (hits[suffix] ?? null);
      if (inherited !== null) hits[state] = [...(hits[state] ?? []), ...inherited];
      for (let symbol = 0; symbol < this.width; symbol++) {
        const child = next[state]?.get(symbol);
        const fallback = state === 0 ? 0 : (this.rows[suffix * this.width + symbol] ?? 0);
        this.rows[state * this.width + symbol] = child === undefined ? fallback : child * this.width;
        if (child === undefined) continue;
        suffixes[child] = fallback / this.width;
        queue.push(child);
      }
    }
    return hits;
  }
}
