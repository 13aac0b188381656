// The prefilter: one Aho–Corasick automaton over the triggers of all patterns, so that a text is read once, one table
// look-up a unit, however many patterns there are.
import { lower } from "./char-classes.ts";
import { edgeAllows, EDGE_SIZE, type Edge } from "./edge.ts";

/** Units beyond ASCII occur in no trigger and lead back to the root. */
const ASCII = 0x80;

/** States are numbers of this many bits at most; one bit more says that the state left has hits. */
const MOST_STATES = 0x7fff;

/** A trigger, what it is a trigger of, and what may stand behind it; null for anything. */
export interface Trigger<Subject> {
  readonly text: string;
  readonly subject: Subject;
  readonly next: Edge | null;
}

export class Prefilter<Subject> {
  /**
   * A state's row starts at the state times 2^`shift`: its successor for each class of units. It is the complement of the
   * successor where the state has hits and the unit may stand behind one of them: most triggers are turned away by that.
   */
  readonly rows: Int16Array;
  readonly shift: number;
  readonly classes = new Uint8Array(0x10000);
  /** By state: the triggers that end there, longest first. */
  readonly hits: readonly (readonly Trigger<Subject>[])[];

  constructor(triggers: readonly Trigger<Subject>[]) {
    const width = this.#numberClasses(triggers.map(({ text }) => text));
    this.shift = Math.ceil(Math.log2(Math.max(2, width)));
    const { next, own } = this.#buildTrie(triggers);
    if (next.length > MOST_STATES) throw new Error("too many triggers");
    this.rows = new Int16Array(next.length << this.shift);
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

  /** Level by level, so that the states near the root, where prose stays, lie together in memory. */
  #buildTrie(triggers: readonly Trigger<Subject>[]) {
    const next = [new Map<number, number>()];
    const own: Trigger<Subject>[][] = [[]];
    let level = triggers.map((trigger) => ({ trigger, text: trigger.text.toLowerCase(), state: 0 }));
    for (let depth = 0; level.length > 0; depth++) {
      for (const one of level) {
        const symbol = this.classes[one.text.charCodeAt(depth)] ?? 0;
        let following = next[one.state]?.get(symbol);
        if (following === undefined) {
          following = next.length;
          next.push(new Map<number, number>());
          own.push([]);
          next[one.state]?.set(symbol, following);
        }
        one.state = following;
        if (depth === one.text.length - 1) own[following]?.push(one.trigger);
      }
      level = level.filter(({ text }) => text.length > depth + 1);
    }
    return { next, own };
  }

  /** A state's missing successors are those of its longest proper suffix, and it inherits its hits. */
  #link(next: readonly Map<number, number>[], own: readonly Trigger<Subject>[][]): Trigger<Subject>[][] {
    const suffixes = new Int16Array(next.length);
    const hits = own.map((list) => [...list]);
    const { rows, shift } = this;
    // States are numbered level by level, so a state's suffix comes before it.
    for (let state = 0; state < next.length; state++) {
      const row = state << shift;
      const suffix = suffixes[state] ?? 0;
      if (state !== 0) {
        hits[state]?.push(...(hits[suffix] ?? []));
        rows.copyWithin(row, suffix << shift, (suffix + 1) << shift);
      }
      for (const [symbol, child] of next[state] ?? []) {
        suffixes[child] = state === 0 ? 0 : (rows[row | symbol] ?? 0);
        rows[row | symbol] = child;
      }
    }
    for (let state = 0; state < hits.length; state++) this.#markNext(state, hits[state] ?? []);
    return hits;
  }

  #markNext(state: number, hits: readonly Trigger<Subject>[]): void {
    if (hits.length === 0) return;
    const mayFollow = new Set<number>();
    for (let code = 0; code < EDGE_SIZE; code++) {
      if (hits.some(({ next }) => next === null || edgeAllows(next, code)))
        mayFollow.add(this.classes[code] ?? 0);
    }
    for (const symbol of mayFollow) {
      const index = (state << this.shift) | symbol;
      this.rows[index] = ~(this.rows[index] ?? 0);
    }
  }
}
