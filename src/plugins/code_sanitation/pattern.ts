// A pattern: trigger texts that the prefilter finds, and conditions on the text around a trigger.
import { NOT_WORD, type CharSet } from "./char-set.ts";
import { atWordStart, type LookBehind } from "./look-behind.ts";
import { requiredFirstSet, type FirstSet, type Matcher } from "./matcher.ts";
import { firstUnitsOf } from "./prefix-set.ts";
import { allRequiredBefore, type RequiredBefore } from "./required-before.ts";
import { NOTHING_AFTER, type SearchAfter } from "./search-after.ts";
import type { Sensitivity } from "./settings.ts";

/** Describes a pattern to its readers, and to the test that checks every pattern with its texts. */
interface PatternTexts {
  /** What the pattern finds, as a phrase: `a second statement after a quote that ends a string`. */
  readonly catches: string;
  /** Texts that the pattern finds. Each trigger and each alternative of the pattern needs one. */
  readonly finds: readonly string[];
  /** Harmless texts that are similar to what the pattern finds; each condition of the pattern needs one. */
  readonly ignores: readonly string[];
  /**
   * The first sensitivity that uses the pattern. `relaxed`: never part of ordinary code (break-outs and obfuscation).
   * `balanced`: code that could act, in a context that looks injected. `strict`: the constructs of the specification anywhere.
   */
  readonly from: Sensitivity;
}

export interface Pattern extends PatternTexts {
  /** Stable and short, such as `sql.union-select`. */
  readonly id: string;
  /** ASCII texts, case ignored. Every match contains one of them. */
  readonly triggers: readonly string[];
  /** What the table of the language says, before anything is derived from it. */
  readonly conditions: PatternConditions;
  /** Units that may precede the trigger directly; null for any. */
  readonly precededBy: CharSet | null;
  /** Units that may follow the trigger directly; null for any. */
  readonly followedBy: CharSet | null;
  /** What must follow the trigger for `after` to match; `after` is called only if it does. */
  readonly requiredAfter: RequiredAfter | null;
  /** What is searched after the trigger before `after` is called. */
  readonly searchAfter: SearchAfter;
  /** What must precede the trigger for `guard` and `before` to match, including `precededBy`. */
  readonly requiredBefore: RequiredBefore | null;
  /** Checked before `after`. Use it for a look-behind that is cheaper than `after` and rejects most candidates. */
  readonly guard: LookBehind | null;
  /** The match starts where `guard` returned. */
  readonly startsAtGuard: boolean;
  /** Matches the text after the trigger. */
  readonly after: Matcher | null;
  /** Checks the text before the trigger, and may extend the match to the left. */
  readonly before: LookBehind | null;
  /** Makes `requiredAfter` what is at an index of the table, instead of deriving it. */
  useTable(table: FirstSetTable, index: number): void;
}

/** What must follow the triggers of patterns, computed before. */
interface FirstSetTable {
  at(index: number): RequiredAfter | null;
}

/** What a match of `after` starts with. */
export type RequiredAfter = Pick<FirstSet, "prefixes" | "afterWhitespace" | "words">;

type Conditions = {
  [Condition in "precededBy" | "followedBy" | "guard" | "after" | "before"]: NonNullable<Pattern[Condition]>;
} & {
  /** As `before`, but checked before `after`, instead of a guard. */
  readonly start: LookBehind;
};

/** `from` is balanced if it is not given. */
export type PatternConditions = Partial<Conditions & Pick<PatternTexts, "from">> & Omit<PatternTexts, "from">;

export function pattern(id: string, triggers: readonly string[], conditions: PatternConditions): Pattern {
  return new TablePattern(id, triggers, conditions);
}

/** Derives conditions that take long to compute when they are first needed, because most patterns are never tried. */
class TablePattern implements Pattern {
  readonly id: string;
  readonly triggers: readonly string[];
  readonly conditions: PatternConditions;
  readonly guard: LookBehind | null;
  readonly after: Matcher | null;
  readonly before: LookBehind | null;
  readonly precededBy: CharSet | null;
  #requiredAfter: RequiredAfter | null | undefined;
  #requiredBefore: RequiredBefore | null | undefined;
  #table: FirstSetTable | null = null;
  #tableIndex = 0;

  constructor(id: string, triggers: readonly string[], conditions: PatternConditions) {
    const { before = null, after = null, start = null, guard = start, precededBy = null } = conditions;
    // The most frequent look-behind is a test of one unit, so it becomes a table lookup.
    const isAtWordStart = before === atWordStart;
    this.id = id;
    this.triggers = triggers;
    this.conditions = conditions;
    this.guard = guard;
    this.after = after;
    this.before = isAtWordStart ? null : before;
    this.precededBy = isAtWordStart ? NOT_WORD : precededBy;
  }

  get catches(): string {
    return this.conditions.catches;
  }

  get finds(): readonly string[] {
    return this.conditions.finds;
  }

  get ignores(): readonly string[] {
    return this.conditions.ignores;
  }

  get from(): Sensitivity {
    return this.conditions.from ?? "balanced";
  }

  get startsAtGuard(): boolean {
    return this.conditions.start !== undefined;
  }

  get searchAfter(): SearchAfter {
    return this.after?.searchAfter ?? NOTHING_AFTER;
  }

  get requiredAfter(): RequiredAfter | null {
    if (this.#requiredAfter === undefined) this.#requiredAfter = this.#readRequiredAfter();
    return this.#requiredAfter;
  }

  useTable(table: FirstSetTable, index: number): void {
    this.#table = table;
    this.#tableIndex = index;
  }

  #readRequiredAfter(): RequiredAfter | null {
    if (this.#table !== null) return this.#table.at(this.#tableIndex);
    return this.after === null ? null : requiredFirstSet(this.after);
  }

  get followedBy(): CharSet | null {
    const { followedBy } = this.conditions;
    if (followedBy !== undefined) return followedBy;
    const { requiredAfter } = this;
    return requiredAfter === null ? null : firstUnitsOf(requiredAfter.prefixes);
  }

  get requiredBefore(): RequiredBefore | null {
    if (this.#requiredBefore === undefined)
      this.#requiredBefore = allRequiredBefore(this.conditions.precededBy ?? null, [
        this.guard?.requiredBefore,
        this.before?.requiredBefore,
      ]);
    return this.#requiredBefore;
  }
}
