// Compiles a selection of patterns into what a detector scans with. Detectors with the same languages and sensitivities share it.
import { CHAR_SET_SIZE, NON_ASCII, unionOfCharSets, type CharSet } from "./char-set.ts";
import { CleanStrings } from "./clean-strings.ts";
import { patternsOf } from "./languages/by-language.ts";
import type { Pattern } from "./pattern.ts";
import { Prefilter, type Trigger } from "./prefilter.ts";
import { LANGUAGES, SENSITIVITIES, type Language, type Sensitivity } from "./settings.ts";

/** The patterns of a language that a detector uses. Just the name of a language selects its balanced patterns. */
export type PatternSelection =
  | Language
  | {
      readonly language: Language;
      /** Selects the patterns of this sensitivity and of those before it. */
      readonly sensitivity?: Sensitivity;
      /** The ids of patterns that are not used. */
      readonly exclude?: readonly string[];
    };

/** The ids of the excluded patterns of each language. */
export type ExcludedPatterns = ReadonlyMap<Language, readonly string[]>;

interface PatternName {
  readonly language: Language;
  /** The id of the pattern. */
  readonly pattern: string;
}

interface PatternEntry {
  readonly pattern: Pattern;
  /** More than one if languages share the pattern. */
  readonly names: PatternName[];
}

export type PatternTrigger = Trigger<PatternEntry>;

/** Triggers that end at the same position, and a condition that rejects all of them with one lookup. */
interface TriggerList {
  readonly triggers: readonly PatternTrigger[];
  /** Units that may precede at least one of the triggers; null for any. */
  readonly precededBy: CharSet | null;
  /** Length of the triggers, if they all have the same. */
  readonly triggerLength: number;
}

export interface CompiledPatterns {
  readonly prefilter: Prefilter<PatternEntry>;
  /** By state of the prefilter. */
  readonly states: readonly (StateTriggers | undefined)[];
  /** Strings in which none of the patterns found anything. */
  readonly cleanStrings: CleanStrings;
}

/**
 * The patterns compiled last. Those of all nine languages take about 2 MB and 5 ms to compile, so gateways share them, and those of
 * settings that are no longer used must not stay in memory.
 */
const compiled = new Map<string, CompiledPatterns>();
const MAX_COMPILED = 16;

export function compilePatterns(selections: readonly PatternSelection[]): CompiledPatterns {
  const sensitivities = new Map<Language, Sensitivity>(
    selections.map((each) =>
      typeof each === "string" ? [each, "balanced"] : [each.language, each.sensitivity ?? "balanced"],
    ),
  );
  // In the order of LANGUAGES, so that the order in the settings does not matter.
  const key = LANGUAGES.map((language) => sensitivities.get(language) ?? "").join();
  const patterns =
    compiled.get(key) ??
    compileEntries(
      LANGUAGES.flatMap((language) =>
        entriesOf(language, patternsUpTo(language, sensitivities.get(language))),
      ),
    );
  // The most recently used is the last.
  compiled.delete(key);
  compiled.set(key, patterns);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return patterns;
}

/** Returns null if no pattern is excluded. */
export function excludedPatternsOf(selections: readonly PatternSelection[]): ExcludedPatterns | null {
  const excluded = selections.flatMap((each): [Language, readonly string[]][] =>
    typeof each === "string" || (each.exclude ?? []).length === 0
      ? []
      : [[each.language, each.exclude ?? []]],
  );
  return excluded.length === 0 ? null : new Map(excluded);
}

/** Returns the name of a pattern in the first language that does not exclude it; null if all exclude it. */
export function firstUsedName(
  { names }: PatternEntry,
  excluded: ExcludedPatterns | null,
): PatternName | null {
  if (excluded === null) return names[0] ?? null;
  return names.find(({ language, pattern }) => excluded.get(language)?.includes(pattern) !== true) ?? null;
}

function patternsUpTo(language: Language, sensitivity: Sensitivity | undefined): Pattern[] {
  if (sensitivity === undefined) return [];
  const last = SENSITIVITIES.indexOf(sensitivity);
  return patternsOf(language).filter(({ from }) => SENSITIVITIES.indexOf(from) <= last);
}

export function entriesOf(language: Language, patterns: readonly Pattern[]): PatternEntry[] {
  return patterns.map((pattern) => ({ pattern, names: [{ language, pattern: pattern.id }] }));
}

export function compileEntries(entries: readonly PatternEntry[]): CompiledPatterns {
  const prefilter = new Prefilter(withoutDuplicates(entries).flatMap(triggersOf));
  const states = prefilter.triggersByState.map((triggers) =>
    triggers.length === 0 ? undefined : new StateTriggers(triggers),
  );
  return { prefilter, states, cleanStrings: new CleanStrings() };
}

function triggersOf(owner: PatternEntry): PatternTrigger[] {
  const { triggers, followedBy } = owner.pattern;
  return triggers.map((text) => ({ text, hasDigits: /\d/.test(text), owner, followedBy }));
}

/** The triggers that end in a state of the prefilter, by the unit that follows: most patterns allow only few. */
class StateTriggers {
  readonly triggers: readonly PatternTrigger[];
  /** By unit, as in a CharSet: 1 + index in #lists; 0 if not created yet, because most are never used. */
  readonly #listOfUnit = new Uint8Array(CHAR_SET_SIZE);
  readonly #lists: TriggerList[] = [];

  constructor(triggers: readonly PatternTrigger[]) {
    this.triggers = triggers;
  }

  /** Returns the triggers that this unit may follow. */
  before(unit: number): TriggerList {
    const code = unit < NON_ASCII ? unit : NON_ASCII;
    return this.#lists[(this.#listOfUnit[code] ?? 0) - 1] ?? this.#create(code);
  }

  #create(code: number): TriggerList {
    const triggers = this.triggers.filter(({ owner: { pattern } }) => mayFollow(pattern, code));
    let index = this.#lists.findIndex((list) => isSameList(list.triggers, triggers));
    if (index < 0) index = this.#lists.push(triggerListOf(triggers)) - 1;
    this.#listOfUnit[code] = index + 1;
    return this.#lists[index] ?? triggerListOf(triggers);
  }
}

function mayFollow({ followedBy, requiredAfter }: Pattern, code: number): boolean {
  return followedBy?.[code] !== 0 && requiredAfter?.prefixes[code] !== 0;
}

function isSameList<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

function triggerListOf(triggers: readonly PatternTrigger[]): TriggerList {
  const triggerLength = triggers[0]?.text.length ?? 0;
  // Triggers of different lengths start at different positions, so one lookup cannot reject all of them.
  const areEquallyLong = triggers.every(({ text }) => text.length === triggerLength);
  const precededBy = areEquallyLong
    ? unionOfCharSets(triggers.map(({ owner }) => owner.pattern.precededBy))
    : null;
  return { triggers, precededBy, triggerLength };
}

/** JavaScript and HTML share patterns. If both are selected, keeps one of each equivalent pair, with both names. */
function withoutDuplicates(entries: readonly PatternEntry[]): PatternEntry[] {
  const kept: PatternEntry[] = [];
  const entriesByTriggers = new Map<string, PatternEntry[]>();
  for (const entry of entries) {
    const triggers = entry.pattern.triggers.join("\0");
    const known = entriesByTriggers.get(triggers) ?? [];
    const same = known.find((other) => haveSameConditions(entry.pattern, other.pattern));
    if (same !== undefined) {
      same.names.push(...entry.names);
      continue;
    }
    entriesByTriggers.set(triggers, [...known, entry]);
    kept.push(entry);
  }
  return kept;
}

function haveSameConditions(one: Pattern, other: Pattern): boolean {
  return (
    one.after === other.after &&
    one.before === other.before &&
    one.guard === other.guard &&
    one.startsAtGuard === other.startsAtGuard &&
    one.precededBy === other.precededBy &&
    String(one.followedBy) === String(other.followedBy)
  );
}
