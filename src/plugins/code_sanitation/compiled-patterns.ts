// Compiles a selection of patterns into what a detector scans with. Detectors with the same languages and sensitivities share it.
import { readAutomaton } from "./automaton.ts";
import { BUILT_AUTOMATA, BUILT_FIRST_SETS, type BuiltTable } from "./built-tables.ts";
import { CandidateTable, type PatternEntry, type PatternName } from "./candidates.ts";
import type { CharSet } from "./char-set.ts";
import { CleanStrings } from "./clean-strings.ts";
import { patternsOf } from "./languages/by-language.ts";
import { FirstSetTable } from "./first-set-table.ts";
import type { Pattern } from "./pattern.ts";
import { Prefilter, type Trigger } from "./prefilter.ts";
import { readBuiltTable } from "./read-built-tables.ts";
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

export interface CompiledPatterns {
  readonly prefilter: Prefilter<PatternEntry>;
  readonly candidates: CandidateTable;
  /** Strings in which none of the patterns found anything. */
  readonly cleanStrings: CleanStrings;
}

/** The patterns of all languages, in the order of the built table. */
export const ALL_PATTERNS: readonly Pattern[] = LANGUAGES.flatMap(patternsOf);
useBuiltFirstSets(readBuiltTable(BUILT_FIRST_SETS, idsOf(ALL_PATTERNS)));

function useBuiltFirstSets(bytes: Uint8Array | null): void {
  if (bytes === null) return;
  const table = new FirstSetTable(bytes);
  for (let index = 0; index < ALL_PATTERNS.length; index++) ALL_PATTERNS[index]?.useTable(table, index);
}

/** Returns what the table of FIRST sets was computed from. */
export function idsOf(patterns: readonly Pattern[]): string[] {
  return patterns.map(({ id }) => id);
}

/**
 * The patterns compiled last. Those of all nine languages take about 3 MB and up to 20 ms to compile, so gateways share them, and those of
 * settings that are no longer used must not stay in memory.
 */
const compiled = new Map<string, CompiledPatterns>();
const MAX_COMPILED = 16;

export function compilePatterns(selections: readonly PatternSelection[]): CompiledPatterns {
  const sensitivities = sensitivitiesOf(selections);
  const key = keyOf(sensitivities);
  const patterns = compiled.get(key) ?? compileTriggers(triggersOfAll(sensitivities), BUILT_AUTOMATA[key]);
  // The most recently used is the last.
  compiled.delete(key);
  compiled.set(key, patterns);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return patterns;
}

/** Returns the triggers of the selected patterns, and the key of their automaton in BUILT_AUTOMATA. */
export function selectTriggers(selections: readonly PatternSelection[]): {
  readonly key: string;
  readonly triggers: readonly Trigger<PatternEntry>[];
} {
  const sensitivities = sensitivitiesOf(selections);
  return { key: keyOf(sensitivities), triggers: triggersOfAll(sensitivities) };
}

function sensitivitiesOf(selections: readonly PatternSelection[]): Map<Language, Sensitivity> {
  return new Map(
    selections.map((each) =>
      typeof each === "string" ? [each, "balanced"] : [each.language, each.sensitivity ?? "balanced"],
    ),
  );
}

/** In the order of LANGUAGES, so that the order in the settings does not matter. */
function keyOf(sensitivities: ReadonlyMap<Language, Sensitivity>): string {
  return LANGUAGES.map((language) => sensitivities.get(language) ?? "").join();
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

function triggersOfAll(sensitivities: ReadonlyMap<Language, Sensitivity>): PatternTrigger[] {
  const entries = LANGUAGES.flatMap((language) =>
    entriesOf(language, patternsUpTo(language, sensitivities.get(language))),
  );
  return withoutDuplicates(entries).flatMap(triggersOf);
}

export function compileEntries(entries: readonly PatternEntry[]): CompiledPatterns {
  return compileTriggers(withoutDuplicates(entries).flatMap(triggersOf));
}

/** `built`: the automaton that was computed at build time, if there is one. */
function compileTriggers(triggers: readonly PatternTrigger[], built?: BuiltTable): CompiledPatterns {
  const bytes = readBuiltTable(built, textsOf(triggers));
  const prefilter = new Prefilter(triggers, bytes === null ? undefined : readAutomaton(bytes));
  const candidates = new CandidateTable(prefilter);
  prefilter.memory.tableOwner = candidates;
  return { prefilter, candidates, cleanStrings: new CleanStrings() };
}

/** Returns what the automaton of the triggers was computed from. */
export function textsOf(triggers: readonly Trigger<PatternEntry>[]): string[] {
  return triggers.map(({ text }) => text);
}

const DIGIT = /\d/;

/** Reads conditions when they are needed: they take long to derive. */
class PatternTrigger implements Trigger<PatternEntry> {
  readonly text: string;
  readonly owner: PatternEntry;

  constructor(text: string, owner: PatternEntry) {
    this.text = text;
    this.owner = owner;
  }

  get hasDigits(): boolean {
    return DIGIT.test(this.text);
  }

  get followedBy(): CharSet | null {
    return this.owner.pattern.followedBy;
  }
}

function triggersOf(owner: PatternEntry): PatternTrigger[] {
  return owner.pattern.triggers.map((text) => new PatternTrigger(text, owner));
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
