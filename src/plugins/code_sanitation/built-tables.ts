// The tables that `npm run build` computes and embeds in the executable, which then need not be computed when it starts. There are none if the
// sources run: scripts/build-pattern-tables.ts replaces this module in an executable.

export interface BuiltTable {
  /** The path of the file in the executable. */
  readonly file: string;
  /** The hash of the names of what it was computed from: the triggers of an automaton, or the ids of the patterns. */
  readonly hash: string;
}

/** By the sensitivities of the languages. */
export const BUILT_AUTOMATA: Readonly<Record<string, BuiltTable>> = {};

/** What must follow the triggers of all patterns. */
export const BUILT_FIRST_SETS: BuiltTable | null = null;
