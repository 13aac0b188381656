// The prefilter: an Aho–Corasick automaton over the triggers of all patterns. It reads a text once, with one table lookup per
// code unit, however many patterns there are.
import { buildAutomaton } from "./automaton.ts";
import type { CharSet } from "./char-set.ts";
import { TriggerMemory } from "./trigger-memory.ts";

/** A trigger and the pattern, or whatever else, that it belongs to. */
export interface Trigger<Owner> {
  readonly text: string;
  /** The trigger must be compared where it was found, because the automaton does not distinguish digits. */
  readonly hasDigits: boolean;
  readonly owner: Owner;
  /** Units that may follow the trigger; null for any. */
  readonly followedBy: CharSet | null;
}

export class Prefilter<Owner> {
  /** Has the transitions of the automaton. */
  readonly memory: TriggerMemory;
  /** Length of the longest trigger. */
  readonly maxTriggerLength: number;
  readonly triggers: readonly Trigger<Owner>[];
  /** The states in which triggers end, in ascending order. */
  readonly finalStates: Uint16Array;
  /** As in the automaton. Its transitions are not kept, because WebAssembly memory replaces them. */
  readonly #triggerStarts: Uint16Array;
  readonly #triggerIndexes: Uint16Array;

  /** `automaton`: that of the triggers. */
  constructor(triggers: readonly Trigger<Owner>[], automaton = buildAutomaton(triggers)) {
    this.triggers = triggers;
    this.maxTriggerLength = triggers.reduce((longest, { text }) => Math.max(longest, text.length), 0);
    this.memory = new TriggerMemory(automaton);
    this.finalStates = automaton.finalStates;
    this.#triggerStarts = automaton.triggerStarts;
    this.#triggerIndexes = automaton.triggers;
  }

  /** Returns the triggers that end in the state at an index of `finalStates`, longest first. */
  triggersAt(index: number): Trigger<Owner>[] {
    const indexes = this.#triggerIndexes.subarray(this.#triggerStarts[index], this.#triggerStarts[index + 1]);
    return Array.from(indexes).flatMap((trigger) => this.triggers[trigger] ?? []);
  }
}
