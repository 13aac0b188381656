// The automata that `npm run build` computes and embeds in the executable, which then need not be computed when it starts.

export interface BuiltAutomaton {
  /** The path of the file in the executable. */
  readonly file: string;
  /** The hash of the triggers that it was computed from. */
  readonly triggersHash: string;
}

/** By the sensitivities of the languages. Empty if the sources run: scripts/build-automata.ts replaces this module in an executable. */
export const BUILT_AUTOMATA: Readonly<Record<string, BuiltAutomaton>> = {};
