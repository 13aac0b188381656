// Regular expressions that are searched for in linear time, for patterns that an operator configures and texts that clients send: a subset
// of JavaScript's syntax, compiled to automata instead of being tried with backtracking.
import { parsePattern, type PatternNode, type UnitRange } from "./linear-pattern-syntax.ts";

/** Longer matches are cut: every character is read at most this often. */
const MAX_MATCH_LENGTH = 256;
const MAX_NFA_STATES = 4000;
/** Beyond it, the states that were built so far are dropped. */
const MAX_DFA_STATES = 512;
const ASCII = 128;

interface PatternMatch {
  readonly start: number;
  readonly end: number;
}

export class LinearPattern {
  readonly #forward: Automaton;
  readonly #backward: Automaton;
  readonly #startsAtBoundary: boolean;
  readonly #endsAtBoundary: boolean;
  readonly #requiredText: string;

  /** Throws an error that says what is wrong with the pattern. */
  constructor(source: string) {
    const { root, startsAtBoundary, endsAtBoundary, requiredText } = parsePattern(source);
    const alphabet = new Alphabet(root);
    this.#forward = new Automaton(root, alphabet, false);
    this.#backward = new Automaton(root, alphabet, true);
    if (this.#forward.isAcceptedAtStart) throw new Error("the pattern must not match an empty text");
    this.#startsAtBoundary = startsAtBoundary;
    this.#endsAtBoundary = endsAtBoundary;
    this.#requiredText = requiredText;
  }

  /** Returns the matches, leftmost and longest first, without overlaps. */
  matches(text: string): PatternMatch[] {
    const found: PatternMatch[] = [];
    // Most texts do not contain it, and a native search takes a tenth of the time of the automaton.
    if (!text.includes(this.#requiredText)) return found;
    let from = 0;
    for (const start of this.#starts(text)) {
      if (start < from || (this.#startsAtBoundary && !isBoundary(text, start))) continue;
      const end = this.#endFrom(text, start);
      if (end < 0) continue;
      found.push({ start, end });
      from = end;
    }
    return found;
  }

  /** Returns where matches start, in order: found by reading the text once, backwards. */
  #starts(text: string): number[] {
    const automaton = this.#backward;
    const starts: number[] = [];
    let state = automaton.start;
    for (let at = text.length - 1; at >= 0; at--) {
      const next = automaton.next(state, text.charCodeAt(at));
      if ((next & ACCEPTED) !== 0) starts.push(at);
      state = next >> 1;
      if (automaton.isFull) state = automaton.restart(state);
    }
    return starts.reverse();
  }

  #endFrom(text: string, start: number): number {
    const automaton = this.#forward;
    if (automaton.isFull) automaton.restart(automaton.start);
    const last = Math.min(text.length, start + MAX_MATCH_LENGTH);
    let end = -1;
    let state = automaton.start;
    for (let at = start; at < last && state !== DEAD; at++) {
      const next = automaton.next(state, text.charCodeAt(at));
      state = next >> 1;
      if ((next & ACCEPTED) !== 0 && !(this.#endsAtBoundary && !isBoundary(text, at + 1))) end = at + 1;
    }
    return end;
  }
}

function isBoundary(text: string, at: number): boolean {
  return isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
}

function isWord(unit: number): boolean {
  const lower = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x5f || (lower >= 0x61 && lower <= 0x7a && unit < ASCII);
}

/** Divides the characters into classes that the pattern does not distinguish. */
class Alphabet {
  readonly #starts: number[];
  /** By ASCII character: its class. */
  readonly ascii = new Uint16Array(ASCII);

  constructor(root: PatternNode) {
    const starts = new Set([0]);
    const visit = (node: PatternNode): void => {
      if (node.type === "class")
        for (const [first, last] of node.ranges) {
          starts.add(first);
          starts.add(last + 1);
        }
      else for (const child of node.children) visit(child);
    };
    visit(root);
    this.#starts = [...starts].sort((a, b) => a - b);
    for (let unit = 0; unit < ASCII; unit++) this.ascii[unit] = this.classOf(unit);
  }

  get size(): number {
    return this.#starts.length;
  }

  classOf(unit: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  classesIn(ranges: readonly UnitRange[]): number[] {
    const classes: number[] = [];
    for (const [index, start] of this.#starts.entries())
      if (ranges.some(([first, last]) => first <= start && start <= last)) classes.push(index);
    return classes;
  }
}

const DEAD = 0;
/** A transition that is not built yet. */
const UNKNOWN = -1;
/** In a transition: a match ends with the character that was read. The number of the next state is above this bit. */
const ACCEPTED = 1;

interface NfaState {
  /** Classes of characters that lead to `next`. */
  readonly classes: ReadonlySet<number> | null;
  readonly next: number[];
}

/** A deterministic automaton whose states are built when a text needs them. */
class Automaton {
  readonly #nfa: NfaState[] = [];
  readonly #accept: number;
  readonly #alphabet: Alphabet;
  readonly #isSearch: boolean;
  readonly #startSet: readonly number[];
  #sets: (readonly number[])[] = [];
  #ids = new Map<string, number>();
  /** By state and class of characters, in rows of 2^#rowBits. */
  #transitions = new Int32Array(0);
  readonly #rowBits: number;
  readonly #ascii: Uint16Array;
  start = 0;
  isFull = false;

  /** `isSearch`: reads the text backwards, and a match may begin anywhere. */
  constructor(root: PatternNode, alphabet: Alphabet, isSearch: boolean) {
    this.#alphabet = alphabet;
    this.#ascii = alphabet.ascii;
    this.#rowBits = Math.ceil(Math.log2(alphabet.size));
    this.#isSearch = isSearch;
    this.#accept = this.#addState(null, []);
    const first = this.#compile(root, this.#accept);
    this.#startSet = this.#closure([first]);
    this.restart(0);
  }

  get isAcceptedAtStart(): boolean {
    return this.#startSet.includes(this.#accept);
  }

  /** Returns the transition from a state with a character. */
  next(state: number, unit: number): number {
    const characters = unit < ASCII ? (this.#ascii[unit] ?? 0) : this.#alphabet.classOf(unit);
    const known = this.#transitions[(state << this.#rowBits) | characters] ?? UNKNOWN;
    return known === UNKNOWN ? this.#build(state, characters) : known;
  }

  /** Drops all states. Returns the new number of this one. */
  restart(state: number): number {
    const set = this.#sets[state] ?? [];
    this.#sets = [];
    this.#ids = new Map();
    this.#transitions.fill(UNKNOWN);
    this.isFull = false;
    this.#idOf([]);
    this.start = this.#idOf(this.#startSet);
    return this.#idOf(set);
  }

  #build(state: number, characters: number): number {
    const reached: number[] = [];
    for (const each of this.#sets[state] ?? []) {
      const { classes, next } = this.#nfa[each] ?? { classes: null, next: [] };
      if (classes?.has(characters) === true) reached.push(...next);
    }
    const set = this.#closure(reached);
    const isAccepted = set.includes(this.#accept);
    const id = this.#idOf(this.#isSearch ? merged(set, this.#startSet) : set);
    const transition = id * 2 + (isAccepted ? ACCEPTED : 0);
    this.#transitions[(state << this.#rowBits) | characters] = transition;
    return transition;
  }

  #idOf(set: readonly number[]): number {
    const key = set.join(" ");
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#sets.length;
    this.#ids.set(key, id);
    this.#sets.push(set);
    this.isFull = id >= MAX_DFA_STATES;
    this.#reserve((id + 1) << this.#rowBits);
    return id;
  }

  /** Makes room for this number of transitions. */
  #reserve(transitions: number): void {
    const before = this.#transitions;
    if (transitions <= before.length) return;
    this.#transitions = new Int32Array(Math.max(transitions, before.length * 2)).fill(UNKNOWN);
    this.#transitions.set(before);
  }

  /** Returns the states that are reached without reading a character, sorted. */
  #closure(states: readonly number[]): number[] {
    const reached = new Set<number>();
    const open = [...states];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (reached.has(state)) continue;
      reached.add(state);
      const { classes, next } = this.#nfa[state] ?? { classes: null, next: [] };
      if (classes === null) open.push(...next);
    }
    return [...reached].sort((a, b) => a - b);
  }

  #addState(classes: ReadonlySet<number> | null, next: number[]): number {
    if (this.#nfa.length >= MAX_NFA_STATES)
      throw new Error("the pattern is too large; use smaller repetitions");
    return this.#nfa.push({ classes, next }) - 1;
  }

  /** Returns the state in which the node begins. It ends in `then`. */
  #compile(node: PatternNode, then: number): number {
    switch (node.type) {
      case "class":
        return this.#addState(new Set(this.#alphabet.classesIn(node.ranges)), [then]);
      case "sequence":
        return (this.#isSearch ? node.children : node.children.toReversed()).reduce(
          (next, child) => this.#compile(child, next),
          then,
        );
      case "choice":
        return this.#addState(
          null,
          node.children.map((child) => this.#compile(child, then)),
        );
      case "repeat":
        return this.#compileRepeat(node, then);
    }
  }

  #compileRepeat({ children, min, max }: PatternNode & { type: "repeat" }, then: number): number {
    const [child] = children;
    if (child === undefined) return then;
    let next = then;
    if (max === null) {
      const loop = this.#addState(null, [then]);
      this.#nfa[loop]?.next.push(this.#compile(child, loop));
      next = loop;
    } else
      for (let count = min; count < max; count++)
        next = this.#addState(null, [then, this.#compile(child, next)]);
    for (let count = 0; count < min; count++) next = this.#compile(child, next);
    return next;
  }
}

function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}
