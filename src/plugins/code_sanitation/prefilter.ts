// The prefilter: one Aho–Corasick automaton over the triggers of all patterns, so that a text is read once, one table
// look-up a unit, however many patterns there are.
import { lower } from "./char-classes.ts";
import { edgeAllows, EDGE_SIZE, type Edge } from "./edge.ts";

/** Units beyond ASCII occur in no trigger and lead back to the root. */
const ASCII = 0x80;

/**
 * What prose is made of. These get the first classes, so that of the row of a state mostly one line of the processor's
 * cache is looked at: fetching lines, not comparing, is what a scan waits for.
 */
const COMMON = " etaoinshrdlcumwfgypbvkxjqz";

/**
 * All in one class: few triggers name any, and without nine classes a row is half as long, because its length is a power
 * of two.
 */
const DIGITS = "0123456789";

/** States are numbers of this many bits at most; one bit more says that the state left has hits. */
const MOST_STATES = 0x7fff;

/** A trigger, what it is a trigger of, and what may stand behind it; null for anything. */
export interface Trigger<Subject> {
  readonly text: string;
  /** It must be compared where it is found: the automaton takes any digit for any other. */
  readonly namesDigits: boolean;
  readonly subject: Subject;
  readonly next: Edge | null;
}

/** By state. */
type Hits<Subject> = (readonly Trigger<Subject>[])[];
/** The ways on that the triggers spell, as lists: of each state the first of those behind it, and the next in that list. */
interface Branches {
  readonly first: Int16Array;
  readonly next: Int16Array;
  /** The class that leads to the state. */
  readonly symbol: Uint8Array;
}
const NO_HITS: readonly never[] = [];

export class Prefilter<Subject> {
  /**
   * A state's row starts at the state times 2^`shift`: its successor for each class of units. It is the complement of the
   * successor where the state has hits and the unit may stand behind one of them: most triggers are turned away by that.
   */
  readonly rows: Int16Array;
  readonly shift: number;
  readonly classes = new Uint8Array(0x10000);
  /** Units of the longest trigger. */
  readonly reach: number;
  /** By state: the triggers that end there, longest first. */
  readonly hits: readonly (readonly Trigger<Subject>[])[];

  constructor(triggers: readonly Trigger<Subject>[]) {
    const texts = triggers.map(({ text }) => text.toLowerCase());
    const width = this.#numberClasses(texts);
    this.reach = Math.max(0, ...texts.map(({ length }) => length));
    this.shift = Math.ceil(Math.log2(Math.max(2, width)));
    const most = texts.reduce((states, { length }) => states + length, 1);
    if (most > MOST_STATES) throw new Error("too many triggers");
    const rows = new Int16Array(most << this.shift);
    const branches: Branches = {
      first: new Int16Array(most),
      next: new Int16Array(most),
      symbol: new Uint8Array(most),
    };
    const hits = this.#buildTrie(triggers, texts, rows, branches);
    // The rest was never written to, and so takes no memory.
    this.rows = rows.subarray(0, hits.length << this.shift);
    this.hits = this.#link(hits, branches);
  }

  #numberClasses(texts: readonly string[]): number {
    let count = 1;
    for (const text of [COMMON, ...texts]) {
      for (const character of text) {
        const code = character.charCodeAt(0);
        if (code >= ASCII) throw new Error(`trigger ${text} is not ASCII`);
        if (this.classes[code] !== 0) continue;
        for (const same of DIGITS.includes(character) ? DIGITS : character)
          this.classes[same.charCodeAt(0)] = count;
        count++;
      }
    }
    for (let code = 0; code < ASCII; code++) this.classes[code] = this.classes[lower(code)] ?? 0;
    return count;
  }

  /**
   * Level by level, so that the states near the root, where prose stays, lie together in memory. Writes into `rows` and
   * `branches` the successors that the triggers spell, and answers by state which triggers end there.
   */
  #buildTrie(
    triggers: readonly Trigger<Subject>[],
    texts: readonly string[],
    rows: Int16Array,
    branches: Branches,
  ): Hits<Subject> {
    const own: Hits<Subject> = [NO_HITS];
    const reached = new Int16Array(triggers.length);
    let level = triggers.map((_, index) => index);
    for (let depth = 0; level.length > 0; depth++) {
      for (const index of level) {
        const text = texts[index] as string;
        const from = reached[index] as number;
        const symbol = this.classes[text.charCodeAt(depth)] as number;
        const place = (from << this.shift) | symbol;
        let to = rows[place] as number;
        if (to === 0) {
          to = own.push(NO_HITS) - 1;
          rows[place] = to;
          branches.next[to] = branches.first[from] as number;
          branches.first[from] = to;
          branches.symbol[to] = symbol;
        }
        reached[index] = to;
        if (depth === text.length - 1)
          own[to] = [...(own[to] ?? NO_HITS), triggers[index] as Trigger<Subject>];
      }
      level = level.filter((index) => (texts[index] as string).length > depth + 1);
    }
    return own;
  }

  /** A state's missing successors are those of its longest proper suffix, and it inherits its hits. */
  #link(own: Hits<Subject>, { first, next, symbol }: Branches): Hits<Subject> {
    const suffixes = new Int16Array(own.length);
    const hits = [...own];
    const { rows, shift } = this;
    // States are numbered level by level, so a state's suffix comes before it.
    for (let state = 0; state < own.length; state++) {
      const row = state << shift;
      const suffix = suffixes[state] as number;
      if (state > 0) {
        hits[state] = joined(hits[state] ?? NO_HITS, hits[suffix] ?? NO_HITS);
        rows.copyWithin(row, suffix << shift, (suffix + 1) << shift);
      }
      for (let to = first[state] as number; to !== 0; to = next[to] as number) {
        const place = row | (symbol[to] as number);
        // What the suffix goes on to with this symbol; a state of one symbol has the root.
        suffixes[to] = state === 0 ? 0 : (rows[place] as number);
        rows[place] = to;
      }
    }
    const known = new Map<Edge | null, Uint8Array>();
    for (let state = 0; state < hits.length; state++) this.#markNext(state, hits[state] ?? NO_HITS, known);
    return hits;
  }

  /** `known`: the classes of each edge, which many triggers share. */
  #markNext(state: number, hits: readonly Trigger<Subject>[], known: Map<Edge | null, Uint8Array>): void {
    const { rows } = this;
    const row = state << this.shift;
    for (const { next } of hits) {
      let mayFollow = known.get(next);
      if (mayFollow === undefined) known.set(next, (mayFollow = this.#classesOf(next)));
      const count = mayFollow.length;
      for (let index = 0; index < count; index++) {
        const place = row | (mayFollow[index] as number);
        const successor = rows[place] as number;
        // What another trigger has marked already stays marked.
        if (successor >= 0) rows[place] = ~successor;
      }
    }
  }

  /** The classes of which some unit is allowed. */
  #classesOf(next: Edge | null): Uint8Array {
    const allowed = new Set<number>();
    for (let code = 0; code < EDGE_SIZE; code++)
      if (next === null || edgeAllows(next, code)) allowed.add(this.classes[code] ?? 0);
    return Uint8Array.from(allowed);
  }
}

function joined<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  if (others.length === 0) return some;
  return some.length === 0 ? others : [...some, ...others];
}
