// A pattern: literal triggers that the prefilter finds, and the grammar that must stand around one of them.
import type { Before, Rule } from "./grammar.ts";

export interface Pattern {
  /** Stable and short, such as `sql.union-select`. */
  readonly id: string;
  /** ASCII text, case aside; one of them is in every match. */
  readonly triggers: readonly string[];
  /** Looks back from the trigger and may take in what stands before it. */
  readonly before?: Before;
  /** Reads on behind the trigger. */
  readonly after?: Rule;
}

export function pattern(
  id: string,
  triggers: readonly string[],
  grammar: Omit<Pattern, "id" | "triggers"> = {},
): Pattern {
  return { id, triggers, ...grammar };
}
