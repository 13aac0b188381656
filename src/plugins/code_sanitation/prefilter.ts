// The prefilter: an Aho–Corasick automaton over the triggers of all patterns. It reads a text once, with one table lookup per
// code unit, however many patterns there are.
import { CHAR_SET_SIZE, charSetHas, type CharSet } from "./char-set.ts";
import { UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { OVERLAP, TriggerMemory } from "./trigger-memory.ts";

/** The row of a state has an entry for each of 2^ROW_BITS symbols. Not more than needed: hot rows must fit into the first-level cache. */
export const ROW_BITS = 6;

/** State numbers fit into the bits of a Uint16Array below MARK. */
const MAX_STATES = 0x7fff;
/** Marks transitions after which triggers must be checked. As in wasm/read-triggers.ts. */
export const MARK = 0x8000;

/** A trigger and the pattern, or whatever else, that it belongs to. */
export interface Trigger<Owner> {
  readonly text: string;
  /** The trigger must be compared where it was found, because the automaton does not distinguish digits. */
  readonly hasDigits: boolean;
  readonly owner: Owner;
  /** Units that may follow the trigger; null for any. */
  readonly followedBy: CharSet | null;
}

/** By state: the triggers that end there. */
type TriggersByState<Owner> = (readonly Trigger<Owner>[])[];

/** The trie of all triggers, as linked lists: per state its first child, and its next sibling. */
interface Trie {
  readonly firstChild: Int16Array;
  readonly nextSibling: Int16Array;
  /** The symbol that leads to the state. */
  readonly symbol: Uint8Array;
}

const NO_TRIGGERS: readonly never[] = [];

export class Prefilter<Owner> {
  /**
   * Has the transitions. The row of a state starts at the state times 2^ROW_BITS and has the next state for each symbol. The next state has the MARK
   * if a trigger ends in the state and the symbol may follow that trigger; this rejects most triggers.
   */
  readonly memory: TriggerMemory;
  /** Length of the longest trigger. */
  readonly maxTriggerLength: number;
  /** By state: the triggers that end there, longest first. */
  readonly triggersByState: readonly (readonly Trigger<Owner>[])[];

  constructor(triggers: readonly Trigger<Owner>[]) {
    const texts = triggers.map(({ text }) => text.toLowerCase());
    this.maxTriggerLength = Math.max(0, ...texts.map(({ length }) => length));
    const maxStates = texts.reduce((states, { length }) => states + length, 1);
    if (maxStates > MAX_STATES)
      throw new Error(`the triggers may need ${maxStates} states; at most ${MAX_STATES} are supported`);
    const transitions = new Uint16Array(maxStates << ROW_BITS);
    const trie: Trie = {
      firstChild: new Int16Array(maxStates),
      nextSibling: new Int16Array(maxStates),
      symbol: new Uint8Array(maxStates),
    };
    const { ownTriggers, shallowStates } = this.#buildTrie(triggers, texts, transitions, trie);
    // The rest of the array was never written to, so it takes no memory.
    const used = transitions.subarray(0, ownTriggers.length << ROW_BITS);
    this.memory = new TriggerMemory(used, shallowStates);
    this.triggersByState = this.#addSuffixTransitions(ownTriggers, trie);
    this.#markTransitions();
  }

  /**
   * Writes the trie into `transitions` and `trie`, and returns the triggers that end in each state, and how many states are at most OVERLAP units
   * deep. Works level by level, so that the states near the root, where a scan of prose stays, are adjacent in memory.
   */
  #buildTrie(
    triggers: readonly Trigger<Owner>[],
    texts: readonly string[],
    transitions: Uint16Array,
    trie: Trie,
  ): { ownTriggers: TriggersByState<Owner>; shallowStates: number } {
    const ownTriggers: TriggersByState<Owner> = [NO_TRIGGERS];
    let shallowStates = 1;
    let level = triggers.map((trigger, index) => ({ trigger, text: texts[index] ?? "", state: 0 }));
    for (let depth = 0; level.length > 0; depth++) {
      for (const entry of level) {
        const symbol = UNIT_SYMBOLS[entry.text.charCodeAt(depth)] ?? 0;
        if (symbol === 0)
          throw new Error(`trigger ${JSON.stringify(entry.text)} has a character without a symbol`);
        const index = (entry.state << ROW_BITS) | symbol;
        let child = transitions[index] ?? 0;
        if (child === 0) {
          child = ownTriggers.push(NO_TRIGGERS) - 1;
          transitions[index] = child;
          trie.nextSibling[child] = trie.firstChild[entry.state] ?? 0;
          trie.firstChild[entry.state] = child;
          trie.symbol[child] = symbol;
        }
        entry.state = child;
        if (depth === entry.text.length - 1)
          ownTriggers[child] = [...(ownTriggers[child] ?? NO_TRIGGERS), entry.trigger];
      }
      if (depth < OVERLAP) shallowStates = ownTriggers.length;
      level = level.filter(({ text }) => text.length > depth + 1);
    }
    return { ownTriggers, shallowStates };
  }

  /** Fills a state's missing transitions with those of its longest proper suffix, and adds the suffix's triggers. */
  #addSuffixTransitions(
    ownTriggers: TriggersByState<Owner>,
    { firstChild, nextSibling, symbol }: Trie,
  ): TriggersByState<Owner> {
    const suffixes = new Int16Array(ownTriggers.length);
    const all = [...ownTriggers];
    const { transitions } = this.memory;
    // States are numbered level by level, so a state's suffix is complete before the state is processed.
    for (let state = 0; state < ownTriggers.length; state++) {
      const row = state << ROW_BITS;
      const suffix = suffixes[state] ?? 0;
      if (state > 0) {
        all[state] = concatenate(all[state] ?? NO_TRIGGERS, all[suffix] ?? NO_TRIGGERS);
        transitions.copyWithin(row, suffix << ROW_BITS, (suffix + 1) << ROW_BITS);
      }
      for (let child = firstChild[state] ?? 0; child !== 0; child = nextSibling[child] ?? 0) {
        const index = row | (symbol[child] ?? 0);
        // The child's suffix is where this state's suffix goes with the same symbol; for children of the root it is the root.
        suffixes[child] = state === 0 ? 0 : (transitions[index] ?? 0);
        transitions[index] = child;
      }
    }
    return all;
  }

  /** Marks the transitions after which triggers must be checked. */
  #markTransitions(): void {
    // Many triggers share a set, so convert each set to symbols once.
    const symbolsBySet = new Map<CharSet | null, Uint8Array>();
    // An index loop, because most states have no triggers, and this runs once, before it is compiled.
    for (let state = 0; state < this.triggersByState.length; state++) {
      for (const { followedBy } of this.triggersByState[state] ?? NO_TRIGGERS) {
        let symbols = symbolsBySet.get(followedBy);
        if (symbols === undefined) symbolsBySet.set(followedBy, (symbols = this.#symbolsOf(followedBy)));
        this.#markRow(state << ROW_BITS, symbols);
      }
    }
  }

  #markRow(row: number, symbols: Uint8Array): void {
    const { transitions } = this.memory;
    const count = symbols.length;
    for (let index = 0; index < count; index++) {
      const transition = row | (symbols[index] ?? 0);
      transitions[transition] = (transitions[transition] ?? 0) | MARK;
    }
  }

  /** Returns the symbols of all units in the set. */
  #symbolsOf(set: CharSet | null): Uint8Array {
    const symbols = new Set<number>();
    for (let code = 0; code < CHAR_SET_SIZE; code++)
      if (set === null || charSetHas(set, code)) symbols.add(UNIT_SYMBOLS[code] ?? 0);
    return Uint8Array.from(symbols);
  }
}

function concatenate<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  if (others.length === 0) return some;
  return some.length === 0 ? others : [...some, ...others];
}
