// Mutations of the patterns of code_sanitation: each pattern without one of its triggers, conditions, alternatives or optional
// parts. A mutation that changes the result of no text of the pattern survives: either a text is missing or the part is superfluous.
import { detectorOf } from "../../src/plugins/code_sanitation/detector.ts";
import { patternsOf } from "../../src/plugins/code_sanitation/languages/by-language.ts";
import { zeroWidth, type Matcher } from "../../src/plugins/code_sanitation/matcher.ts";
import { pattern, type Pattern, type PatternConditions } from "../../src/plugins/code_sanitation/pattern.ts";
import { LANGUAGES, type Language } from "../../src/plugins/code_sanitation/settings.ts";
import {
  digits,
  end,
  identifier,
  ows,
  owsAndComments,
  quote,
  rws,
  wordBoundary,
} from "../../src/plugins/code_sanitation/tokens.ts";

/** Longer lists of triggers, of words and of alternatives count as one part. */
const MAX_MUTATED_WORDS = 10;
const DROPPABLE_CONDITIONS = ["precededBy", "followedBy", "guard", "start", "before", "after"] as const;
type DroppableCondition = (typeof DROPPABLE_CONDITIONS)[number];

/** Patterns that share their texts: one, or all that a function of a language table created together. */
interface PatternGroup {
  readonly language: Language;
  readonly id: string;
  readonly patterns: readonly Pattern[];
  readonly finds: readonly string[];
  readonly ignores: readonly string[];
}

/** Returns the patterns of all languages, each once: JavaScript and HTML share some. */
export function patternGroups(): PatternGroup[] {
  const groups = new Map<unknown, { language: Language; patterns: Pattern[] }>();
  const seen = new Set<Pattern>();
  for (const language of LANGUAGES) {
    for (const each of patternsOf(language)) {
      if (seen.has(each)) continue;
      seen.add(each);
      const key = each.finds;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { language, patterns: [each] });
      else group.patterns.push(each);
    }
  }
  return [...groups.values()].map(({ language, patterns }) => ({
    language,
    id: patterns[0]?.id ?? "",
    patterns,
    finds: patterns[0]?.finds ?? [],
    ignores: [...new Set(patterns.flatMap(({ ignores }) => ignores))],
  }));
}

interface Mutation {
  /** What is dropped. */
  readonly name: string;
  readonly groups: readonly PatternGroup[];
  readonly mutate: (group: PatternGroup) => readonly Pattern[];
  /** Returns what must be the same for the mutation to survive. */
  readonly resultsOf: (group: PatternGroup, patterns: readonly Pattern[]) => string;
}

/** Returns a line for each mutation that no text notices, of the languages given. */
export function survivingMutations(languages: readonly Language[] = LANGUAGES): string[] {
  const groups = patternGroups().filter(({ language }) => languages.includes(language));
  const mutations = [...groups.flatMap(mutationsOfGroup), ...mutationsOfMatchers(groups)];
  return mutations
    .filter(
      (mutation) =>
        !mutation.groups.some(
          (group) =>
            mutation.resultsOf(group, mutation.mutate(group)) !== mutation.resultsOf(group, group.patterns),
        ),
    )
    .map((mutation) => `${namesOf(mutation.groups)}: ${mutation.name}`);
}

function namesOf(groups: readonly PatternGroup[]): string {
  const names = [...new Set(groups.map(({ id }) => id))];
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

/** Which texts are found. */
function verdictsOf({ language, finds, ignores }: PatternGroup, patterns: readonly Pattern[]): string {
  if (finds.length === 0) return "";
  const detector = detectorOf(language, patterns);
  return [...finds, ...ignores].map((text) => (detector.first(text) === null ? "-" : "+")).join("");
}

/** Which part of each text is found: some parts of a matcher only decide how much is masked. */
function spansOf({ language, finds, ignores }: PatternGroup, patterns: readonly Pattern[]): string {
  if (finds.length === 0) return "";
  const detector = detectorOf(language, patterns);
  const spans = [...finds, ...ignores].map((text) => detector.first(text));
  return spans.map((span) => (span === null ? "-" : `${span.start}-${span.end}`)).join(" ");
}

/** Without one trigger, and without one condition. */
function mutationsOfGroup(group: PatternGroup): Mutation[] {
  const groups = [group];
  const triggers = group.patterns.flatMap((each) => each.triggers);
  const ofTriggers = triggers.map((dropped) => ({
    name: `trigger ${JSON.stringify(dropped)}`,
    groups,
    mutate: () => group.patterns.flatMap((each) => withoutTrigger(each, dropped)),
    resultsOf: verdictsOf,
  }));
  const ofConditions = DROPPABLE_CONDITIONS.filter((condition) =>
    group.patterns.some(
      ({ conditions }) => conditions[condition] !== undefined && !isShortcut(conditions, condition),
    ),
  ).map((condition) => ({
    name: condition,
    groups,
    mutate: () => group.patterns.map((each) => changed(each, without(each.conditions, condition))),
    resultsOf: verdictsOf,
  }));
  return triggers.length > MAX_MUTATED_WORDS ? ofConditions : [...ofTriggers, ...ofConditions];
}

/** Next to a look-behind or a matcher, a set of units may repeat what these check: it rejects most candidates with one lookup. */
function isShortcut(conditions: PatternConditions, condition: DroppableCondition): boolean {
  const { guard, start, before } = conditions;
  if (condition === "precededBy") return (guard ?? start ?? before) !== undefined;
  return condition === "followedBy" && conditions.after !== undefined;
}

function without(conditions: PatternConditions, condition: DroppableCondition): PatternConditions {
  const { catches, finds, ignores } = conditions;
  const others = Object.entries(conditions).filter(([name]) => name !== condition);
  return { catches, finds, ignores, ...Object.fromEntries(others) };
}

function withoutTrigger(each: Pattern, dropped: string): Pattern[] {
  const triggers = each.triggers.filter((trigger) => trigger !== dropped);
  return triggers.length === 0 ? [] : [pattern(each.id, triggers, each.conditions)];
}

function changed({ id, triggers }: Pattern, conditions: PatternConditions): Pattern {
  return pattern(id, triggers, conditions);
}

/** Without one part of a matcher. A matcher that several patterns share is changed in all of them, as an edit of its source would. */
function mutationsOfMatchers(groups: readonly PatternGroup[]): Mutation[] {
  const users = new Map<Matcher, Set<PatternGroup>>();
  for (const group of groups) {
    for (const { after } of group.patterns) {
      for (const matcher of after === null ? [] : allMatchers(after))
        users.set(matcher, (users.get(matcher) ?? new Set()).add(group));
    }
  }
  return [...users].flatMap(([matcher, usedBy]) =>
    mutantsOf(matcher).map(({ name, mutant }) => ({
      name,
      groups: [...usedBy],
      mutate: (group: PatternGroup) => group.patterns.map((each) => withMatcher(each, matcher, mutant)),
      resultsOf: spansOf,
    })),
  );
}

function allMatchers(matcher: Matcher, found = new Set<Matcher>()): Set<Matcher> {
  if (found.has(matcher)) return found;
  found.add(matcher);
  for (const part of matchersIn(matcher)) allMatchers(part, found);
  return found;
}

function matchersIn({ parts }: Matcher): readonly Matcher[] {
  if (parts === undefined || !("matchers" in parts)) return [];
  return parts.kind === "choice" && parts.matchers.length > MAX_MUTATED_WORDS ? [] : parts.matchers;
}

/** Reads nothing and always matches. */
const nothing: Matcher = zeroWidth((_, at) => at);

function mutantsOf(matcher: Matcher): { name: string; mutant: Matcher }[] {
  const { parts } = matcher;
  if (parts === undefined || parts.kind === "text") return [];
  if (parts.kind === "words") {
    const { rebuild } = parts;
    const words = [...parts.words];
    if (words.length < 2 || words.length > MAX_MUTATED_WORDS) return [];
    return words.map((dropped) => ({
      name: `word ${JSON.stringify(dropped)} of ${describe(matcher)}`,
      mutant: rebuild(words.filter((word) => word !== dropped)),
    }));
  }
  const { kind, matchers, rebuild } = parts;
  if (kind === "choice") {
    if (matchers.length < 2 || matchers.length > MAX_MUTATED_WORDS) return [];
    return matchers.map((dropped, index) => ({
      name: `alternative ${describe(dropped)} of ${describe(matcher)}`,
      mutant: rebuild(matchers.toSpliced(index, 1)),
    }));
  }
  if (kind !== "sequence") return [];
  return matchers.flatMap((dropped, index) =>
    dropped.parts?.kind === "optional" || dropped.parts?.kind === "lookahead"
      ? [
          {
            name: `${dropped.parts.kind} ${describe(dropped)} in ${describe(matcher)}`,
            mutant: rebuild(matchers.with(index, nothing)),
          },
        ]
      : [],
  );
}

function withMatcher(each: Pattern, replaced: Matcher, mutant: Matcher): Pattern {
  if (each.after === null) return each;
  const after = substitute(each.after, replaced, mutant);
  return after === each.after ? each : changed(each, { ...each.conditions, after });
}

function substitute(matcher: Matcher, replaced: Matcher, mutant: Matcher): Matcher {
  if (matcher === replaced) return mutant;
  const { parts } = matcher;
  if (parts === undefined || !("matchers" in parts)) return matcher;
  const matchers = parts.matchers.map((part) => substitute(part, replaced, mutant));
  return matchers.every((part, index) => part === parts.matchers[index]) ? matcher : parts.rebuild(matchers);
}

const MAX_DESCRIPTION = 70;
const TOKENS = new Map<Matcher, string>(
  Object.entries({ digits, end, identifier, ows, owsAndComments, quote, rws, wordBoundary }).map(
    ([name, token]) => [token, name],
  ),
);

function describe(matcher: Matcher): string {
  const text = describeWhole(matcher);
  return text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}…` : text;
}

function describeWhole(matcher: Matcher): string {
  const { parts } = matcher;
  const token = TOKENS.get(matcher);
  if (token !== undefined) return token;
  if (parts === undefined) return "_";
  if (parts.kind === "text") return JSON.stringify(parts.text);
  if (parts.kind === "words") return `{${[...parts.words].slice(0, 4).join(" ")}}`;
  const described = parts.matchers.map(describeWhole);
  if (parts.kind === "sequence") return described.join(" ");
  return `${parts.kind === "choice" ? "" : parts.kind}(${described.join(" | ")})`;
}
