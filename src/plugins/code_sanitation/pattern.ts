// A pattern: trigger texts that the prefilter finds, and conditions on the text around a trigger.
import { NOT_WORD, type CharSet } from "./char-set.ts";
import { atWordStart, type LookBehind } from "./look-behind.ts";
import { requiredFirstSet, type FirstSet, type Matcher } from "./matcher.ts";
import { firstUnitsOf } from "./prefix-set.ts";

export interface Pattern {
  /** Stable and short, such as `sql.union-select`. */
  readonly id: string;
  /** ASCII texts, case ignored. Every match contains one of them. */
  readonly triggers: readonly string[];
  /** Units that may precede the trigger directly; null for any. */
  readonly precededBy: CharSet | null;
  /** Units that may follow the trigger directly; null for any. */
  readonly followedBy: CharSet | null;
  /** What must follow the trigger for `after` to match; `after` is called only if it does. */
  readonly requiredAfter: FirstSet | null;
  /** Checked before `after`. Use it for a look-behind that is cheaper than `after` and rejects most candidates. */
  readonly guard: LookBehind | null;
  /** Matches the text after the trigger. */
  readonly after: Matcher | null;
  /** Checks the text before the trigger, and may extend the match to the left. */
  readonly before: LookBehind | null;
}

export type PatternConditions = Partial<{
  [Condition in "precededBy" | "followedBy" | "guard" | "after" | "before"]: NonNullable<Pattern[Condition]>;
}>;

export function pattern(
  id: string,
  triggers: readonly string[],
  conditions: PatternConditions = {},
): Pattern {
  const { before = null, after = null, guard = null, precededBy = null } = conditions;
  const requiredAfter = after === null ? null : requiredFirstSet(after);
  const followedBy =
    conditions.followedBy ?? (requiredAfter === null ? null : firstUnitsOf(requiredAfter.prefixes));
  // The most frequent look-behind is a test of one unit, so it becomes a table lookup.
  const isAtWordStart = before === atWordStart;
  return {
    id,
    triggers,
    precededBy: isAtWordStart ? NOT_WORD : precededBy,
    followedBy,
    requiredAfter,
    guard,
    after,
    before: isAtWordStart ? null : before,
  };
}
