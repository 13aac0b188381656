// A pattern: literal triggers that the prefilter finds, and the grammar that must stand around one of them.
import { NOT_WORD, type Edge } from "./edge.ts";
import { atWordStart, type Before, type Rule } from "./grammar.ts";

export interface Pattern {
  /** Stable and short, such as `sql.union-select`. */
  readonly id: string;
  /** ASCII text, case aside; one of them is in every match. */
  readonly triggers: readonly string[];
  /** What may stand directly before and behind the trigger. */
  readonly prev: Edge | null;
  readonly next: Edge | null;
  /** What may stand behind a blank that is directly behind the trigger. */
  readonly behindBlank: Edge | null;
  /** Asked before the rest, where looking back is the cheaper of the two. */
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
  const starts = after?.starts?.mayBeEmpty === false ? after.starts : null;
  const next = grammar.next ?? starts?.units ?? null;
  const behindBlank = starts?.behindBlank ?? null;
  const isWordStart = before === atWordStart;
  return {
    id,
    triggers,
    prev: isWordStart ? NOT_WORD : prev,
    next,
    behindBlank,
    guard,
    after,
    before: isWordStart ? null : before,
  };
}
