// A deterministic automaton that reads a text backwards: for each place, it knows the states of a pattern from which a match can be
// completed there. Its states are built when a text needs them.
import { EDGE, KINDS, placeBetween } from "./pattern-assertions.ts";
import { ACCEPT, type PatternProgram } from "./pattern-program.ts";

/** Beyond either, the sets that were built so far are dropped. */
const MAX_SETS = 512;
const MAX_KEPT_STATES = 200_000;
/** A transition that is not built yet. */
export const UNKNOWN = -1;
/** In a transition: a match begins at the place. The number of the set is above this bit. */
export const IS_START = 1;

/** The states of the pattern from which a match can be completed at a place. */
export class StateSet {
  readonly states: readonly number[];
  /** A match begins at this place. */
  readonly isStart: boolean;
  #bits: Uint32Array | null = null;

  constructor(states: readonly number[], start: number) {
    this.states = states;
    this.isStart = states.includes(start);
  }

  has(state: number): boolean {
    this.#bits ??= this.#toBits();
    return (((this.#bits[state >> 5] ?? 0) >>> (state & 31)) & 1) === 1;
  }

  #toBits(): Uint32Array {
    const bits = new Uint32Array(((this.states.at(-1) ?? 0) >> 5) + 1);
    for (const state of this.states) bits[state >> 5] = (bits[state >> 5] ?? 0) | (1 << (state & 31));
    return bits;
  }
}

export class PatternAutomaton {
  readonly #program: PatternProgram;
  /** By state: those that read a character and then lead to it. */
  readonly #readers: readonly (readonly number[])[];
  /** By state: those that lead to it without reading a character. */
  readonly #others: readonly (readonly number[])[];
  /** The number of columns of a class of characters. */
  readonly kindColumns: number;
  readonly columns: number;
  #sets: StateSet[] = [];
  #ids = new Map<string, number>();
  #keptStates = 0;
  /** By set, class of characters, and kind of the character before it, in rows of `columns`. */
  transitions = new Int32Array(0);
  #isFull = false;

  constructor(program: PatternProgram) {
    this.#program = program;
    const count = program.states.length;
    const readers = Array.from({ length: count }, (): number[] => []);
    const others = Array.from({ length: count }, (): number[] => []);
    for (const [state, { characters, next }] of program.states.entries())
      for (const each of next) (characters === null ? others : readers)[each]?.push(state);
    this.#readers = readers;
    this.#others = others;
    this.kindColumns = program.hasAssertions ? KINDS : 1;
    this.columns = program.alphabet.size * this.kindColumns;
  }

  /** Returns the set at the end of a text whose last character is of this kind. */
  atEnd(before: number): StateSet {
    return this.set(this.#idOf(this.#closure([ACCEPT], placeBetween(before, EDGE))));
  }

  set(id: number): StateSet {
    return this.#sets[id] ?? new StateSet([], this.#program.start);
  }

  /** Returns the number of a set, which may have been dropped meanwhile. */
  idOf(set: StateSet): number {
    return this.#idOf(set.states, set);
  }

  /**
   * Builds the transition from a set over the character before it, which is not known yet. `before`: the kind of the character before
   * that one.
   */
  build(id: number, characters: number, before: number): number {
    const { states, alphabet } = this.#program;
    const reached: number[] = [ACCEPT];
    for (const state of this.set(id).states)
      for (const reader of this.#readers[state] ?? [])
        if (states[reader]?.characters?.[characters] === 1) reached.push(reader);
    const place = placeBetween(before, alphabet.kinds[characters] ?? EDGE);
    const closure = this.#closure(reached, place);
    if (this.#isFull) {
      this.#drop();
      return this.#transitionTo(closure);
    }
    const transition = this.#transitionTo(closure);
    this.transitions[id * this.columns + characters * this.kindColumns + before] = transition;
    return transition;
  }

  #transitionTo(states: readonly number[]): number {
    const id = this.#idOf(states);
    return id * 2 + (this.set(id).isStart ? IS_START : 0);
  }

  /** Returns all states that lead to one of these without reading a character, sorted. */
  #closure(states: readonly number[], place: number): number[] {
    const reached = new Set<number>(states);
    for (const state of reached)
      for (const other of this.#others[state] ?? []) {
        const assertion = this.#program.states[other]?.assertion ?? null;
        if (assertion === null || ((assertion >>> place) & 1) === 1) reached.add(other);
      }
    return [...reached].sort((a, b) => a - b);
  }

  #idOf(states: readonly number[], set?: StateSet): number {
    const key = states.join(" ");
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#sets.length;
    this.#ids.set(key, id);
    this.#sets.push(set ?? new StateSet(states, this.#program.start));
    this.#keptStates += states.length;
    this.#isFull = id >= MAX_SETS || this.#keptStates > MAX_KEPT_STATES;
    this.#reserve((id + 1) * this.columns);
    return id;
  }

  #drop(): void {
    this.#sets = [];
    this.#ids = new Map();
    this.#keptStates = 0;
    this.transitions.fill(UNKNOWN);
    this.#isFull = false;
  }

  /** Makes room for this number of transitions. */
  #reserve(transitions: number): void {
    const before = this.transitions;
    if (transitions <= before.length) return;
    this.transitions = new Int32Array(Math.max(transitions, before.length * 2)).fill(UNKNOWN);
    this.transitions.set(before);
  }
}
