// The tables of the prefilter's automaton as numbers: computed from the triggers, or read from a file that `npm run build` wrote.
import { CHAR_SET_SIZE, charSetHas, type CharSet } from "./char-set.ts";
import { SYMBOL_BITS, UNIT_SYMBOLS } from "./prefilter-symbols.ts";
import { OVERLAP, type TransitionTable } from "./trigger-memory.ts";

/** State numbers fit into the bits of a Uint16Array below MARK, and so do those of copies into all bits. */
const MAX_STATES = 0x7fff;
/** Marks transitions after which triggers must be checked, until these lead to copies. */
const MARK = 0x8000;

interface Automaton extends TransitionTable {
  /** The states in which triggers end, in ascending order. */
  readonly finalStates: Uint16Array;
  /** By index in `finalStates`: where the triggers of the state start in `triggers`. The last number is the length of `triggers`. */
  readonly triggerStarts: Uint16Array;
  /** The indexes of the triggers that end in each of the final states, longest first. */
  readonly triggers: Uint16Array;
}

interface AutomatonTrigger {
  readonly text: string;
  /** Units that may follow the trigger; null for any. */
  readonly followedBy: CharSet | null;
}

/** The trie of all triggers, as linked lists: per state its first child, and its next sibling. */
interface Trie {
  readonly firstChild: Int16Array;
  readonly nextSibling: Int16Array;
  /** The symbol that leads to the state. */
  readonly symbol: Uint8Array;
}

/** By state: the indexes of the triggers that end there. */
type TriggersByState = (readonly number[])[];

const NO_TRIGGERS: readonly never[] = [];

export function buildAutomaton(triggers: readonly AutomatonTrigger[]): Automaton {
  const texts = triggers.map(({ text }) => text.toLowerCase());
  const maxStates = texts.reduce((states, { length }) => states + length, 1);
  if (maxStates > MAX_STATES)
    throw new Error(`the triggers may need ${maxStates} states; at most ${MAX_STATES} are supported`);
  const all = new Uint16Array(maxStates << SYMBOL_BITS);
  const trie: Trie = {
    firstChild: new Int16Array(maxStates),
    nextSibling: new Int16Array(maxStates),
    symbol: new Uint8Array(maxStates),
  };
  const { triggersByState, shallowStates } = buildTrie(texts, all, trie);
  // The rest of the array was never written to, so it takes no memory.
  const marked = all.subarray(0, triggersByState.length << SYMBOL_BITS);
  addSuffixTransitions(marked, triggersByState, trie);
  markTransitions(marked, triggersByState, triggers);
  const finalStates = [...triggersByState.keys()].filter((state) => triggersByState[state] !== NO_TRIGGERS);
  const lists = finalStates.map((state) => triggersByState[state] ?? NO_TRIGGERS);
  let length = 0;
  const triggerStarts = [0, ...lists.map((list) => (length += list.length))];
  return {
    ...withCopies(marked),
    shallowStates,
    finalStates: Uint16Array.from(finalStates),
    triggerStarts: Uint16Array.from(triggerStarts),
    triggers: Uint16Array.from(lists.flat()),
  };
}

/**
 * Writes the trie into `transitions` and `trie`, and returns the triggers that end in each state, and how many states are at most OVERLAP units
 * deep. Works level by level, so that the states near the root, where a scan of prose stays, are adjacent in memory.
 */
function buildTrie(
  texts: readonly string[],
  transitions: Uint16Array,
  trie: Trie,
): { triggersByState: TriggersByState; shallowStates: number } {
  const triggersByState: TriggersByState = [NO_TRIGGERS];
  let shallowStates = 1;
  let level = texts.map((text, trigger) => ({ trigger, text, state: 0 }));
  for (let depth = 0; level.length > 0; depth++) {
    for (const entry of level) {
      const symbol = UNIT_SYMBOLS[entry.text.charCodeAt(depth)] ?? 0;
      if (symbol === 0)
        throw new Error(`trigger ${JSON.stringify(entry.text)} has a character without a symbol`);
      const index = (entry.state << SYMBOL_BITS) | symbol;
      let child = transitions[index] ?? 0;
      if (child === 0) {
        child = triggersByState.push(NO_TRIGGERS) - 1;
        transitions[index] = child;
        trie.nextSibling[child] = trie.firstChild[entry.state] ?? 0;
        trie.firstChild[entry.state] = child;
        trie.symbol[child] = symbol;
      }
      entry.state = child;
      if (depth === entry.text.length - 1)
        triggersByState[child] = [...(triggersByState[child] ?? NO_TRIGGERS), entry.trigger];
    }
    if (depth < OVERLAP) shallowStates = triggersByState.length;
    level = level.filter(({ text }) => text.length > depth + 1);
  }
  return { triggersByState, shallowStates };
}

/** Fills a state's missing transitions with those of its longest proper suffix, and adds the suffix's triggers. */
function addSuffixTransitions(
  transitions: Uint16Array,
  triggersByState: TriggersByState,
  { firstChild, nextSibling, symbol }: Trie,
): void {
  const suffixes = new Int16Array(triggersByState.length);
  // States are numbered level by level, so a state's suffix is complete before the state is processed.
  for (let state = 0; state < triggersByState.length; state++) {
    const row = state << SYMBOL_BITS;
    const suffix = suffixes[state] ?? 0;
    if (state > 0) {
      const ofSuffix = triggersByState[suffix] ?? NO_TRIGGERS;
      triggersByState[state] = concatenate(triggersByState[state] ?? NO_TRIGGERS, ofSuffix);
      transitions.copyWithin(row, suffix << SYMBOL_BITS, (suffix + 1) << SYMBOL_BITS);
    }
    for (let child = firstChild[state] ?? 0; child !== 0; child = nextSibling[child] ?? 0) {
      const index = row | (symbol[child] ?? 0);
      // The child's suffix is where this state's suffix goes with the same symbol; for children of the root it is the root.
      suffixes[child] = state === 0 ? 0 : (transitions[index] ?? 0);
      transitions[index] = child;
    }
  }
}

/** Marks the transitions after which triggers must be checked. */
function markTransitions(
  transitions: Uint16Array,
  triggersByState: TriggersByState,
  triggers: readonly AutomatonTrigger[],
): void {
  // Many triggers share a set, so convert each set to symbols once.
  const symbolsBySet = new Map<CharSet | null, Uint8Array>();
  // An index loop, because most states have no triggers, and this runs once, before it is compiled.
  for (let state = 0; state < triggersByState.length; state++) {
    for (const trigger of triggersByState[state] ?? NO_TRIGGERS) {
      const followedBy = triggers[trigger]?.followedBy ?? null;
      let symbols = symbolsBySet.get(followedBy);
      if (symbols === undefined) symbolsBySet.set(followedBy, (symbols = symbolsOf(followedBy)));
      markRow(transitions, state << SYMBOL_BITS, symbols);
    }
  }
}

function markRow(transitions: Uint16Array, row: number, symbols: Uint8Array): void {
  const count = symbols.length;
  for (let index = 0; index < count; index++) {
    const transition = row | (symbols[index] ?? 0);
    transitions[transition] = (transitions[transition] ?? 0) | MARK;
  }
}

/** Replaces marks by transitions to copies, so that reading a text does not have to remove marks from states. */
function withCopies(marked: Uint16Array): Pick<TransitionTable, "transitions" | "copiedStates"> {
  const states = marked.length >> SYMBOL_BITS;
  const copies = new Uint16Array(states);
  const copiedStates: number[] = [];
  // Index loops, as above.
  for (let index = 0; index < marked.length; index++) {
    const next = marked[index] ?? 0;
    if (next < MARK) continue;
    const state = next & ~MARK;
    if (copies[state] === 0) copies[state] = states + copiedStates.push(state) - 1;
    marked[index] = copies[state] ?? 0;
  }
  const transitions = new Uint16Array((states + copiedStates.length) << SYMBOL_BITS);
  transitions.set(marked);
  for (const [copy, state] of copiedStates.entries())
    transitions.copyWithin((states + copy) << SYMBOL_BITS, state << SYMBOL_BITS, (state + 1) << SYMBOL_BITS);
  return { transitions, copiedStates: Uint16Array.from(copiedStates) };
}

/** Returns the symbols of all units in the set. */
function symbolsOf(set: CharSet | null): Uint8Array {
  const symbols = new Set<number>();
  for (let code = 0; code < CHAR_SET_SIZE; code++)
    if (set === null || charSetHas(set, code)) symbols.add(UNIT_SYMBOLS[code] ?? 0);
  return Uint8Array.from(symbols);
}

function concatenate<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  if (others.length === 0) return some;
  return some.length === 0 ? others : [...some, ...others];
}

/** The numbers before the tables of a written automaton. */
const HEADER_LENGTH = 5;

/** Returns the automaton as the content of a file. */
export function writeAutomaton(automaton: Automaton): Uint8Array {
  const { transitions, copiedStates, shallowStates, finalStates, triggerStarts, triggers } = automaton;
  const numbers = Uint16Array.from([
    transitions.length >> SYMBOL_BITS,
    copiedStates.length,
    shallowStates,
    finalStates.length,
    triggers.length,
    ...transitions,
    ...copiedStates,
    ...finalStates,
    ...triggerStarts,
    ...triggers,
  ]);
  return new Uint8Array(numbers.buffer);
}

/** Returns the automaton of a file. Its transitions are a part of `bytes`. */
export function readAutomaton(bytes: Uint8Array): Automaton {
  const numbers = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
  const [rows = 0, copies = 0, shallowStates = 0, finals = 0, triggers = 0] = numbers;
  let end = HEADER_LENGTH;
  const next = (length: number) => numbers.subarray(end, (end += length));
  // The others are copied, because the transitions are dropped when they have been copied to WebAssembly memory.
  return {
    shallowStates,
    transitions: next(rows << SYMBOL_BITS),
    copiedStates: next(copies).slice(),
    finalStates: next(finals).slice(),
    triggerStarts: next(finals + 1).slice(),
    triggers: next(triggers).slice(),
  };
}
