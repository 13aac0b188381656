// A pattern: literal triggers that the prefilter finds, and the grammar that must stand around one of them.
import { NOT_WORD, type Edge } from "./edge.ts";
import { atWordStart, type Before } from "./grammar.ts";
import { firstUnits } from "./opening.ts";
import { neededBy, type Rule, type Starts } from "./rule.ts";

export interface Pattern {
  /** Stable and short, such as `sql.union-select`. */
  readonly id: string;
  /** ASCII text, case aside; one of them is in every match. */
  readonly triggers: readonly string[];
  /** What may stand directly before and behind the trigger. */
  readonly prev: Edge | null;
  readonly next: Edge | null;
  /** What `after` needs at hand, so that it is asked only where it can match. */
  readonly needed: Starts | null;
  /** Asked before the rest, where it is cheaper than `after` and turns most away. */
  readonly guard: Before | null;
  /** Reads on behind the trigger. */
  readonly after: Rule | null;
  /** Looks back from the trigger and may take in what stands before it. */
  readonly before: Before | null;
}

export type Grammar = Partial<{
  [Part in "prev" | "next" | "guard" | "after" | "before"]: NonNullable<Pattern[Part]>;
}>;

export function pattern(id: string, triggers: readonly string[], grammar: Grammar = {}): Pattern {
  const { before = null, after = null, guard = null, prev = null } = grammar;
  const needed = after === null ? null : neededBy(after);
  const next = grammar.next ?? (needed === null ? null : firstUnits(needed.opening));
  const isWordStart = before === atWordStart;
  return {
    id,
    triggers,
    prev: isWordStart ? NOT_WORD : prev,
    next,
    needed,
    guard,
    after,
    before: isWordStart ? null : before,
  };
}
