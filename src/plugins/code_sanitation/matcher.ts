// Matchers, and the FIRST set of each: what its match can start with. Most matchers that are tried cannot match, and two table
// lookups in the FIRST set find that out without calling the matcher. A FIRST set is created when it is first needed: most matchers are never
// tried, and creating the sets of all of them would take a fifth of the time that the gateway needs to start.
import { isInClass, NEWLINE, SPACE, WHITESPACE } from "./char-classes.ts";
import { charSetWhere, NON_ASCII, type CharSet } from "./char-set.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { ANY_SECOND, hasPrefix, NO_PREFIXES, type PrefixSet } from "./prefix-set.ts";
import type { SearchAfter } from "./search-after.ts";
import { anyWords, noWords, WORD_SYMBOLS, type WordSource } from "./word-set.ts";

export const NO_MATCH = -1;

/** Reads forward from a position and returns the end of the match, or NO_MATCH. */
type MatchFunction = (input: NormalizedText, at: number) => number;

export interface Matcher extends MatchFunction {
  /** Undefined, or undefined as the result: a match can start with anything. */
  readonly firstSet?: FirstSetSource;
  /** Set on matchers that skip whitespace where there is any; after the first whitespace they skip only these units. */
  readonly skippedUnits?: CharSet;
  /** What is searched before the matcher is called at a trigger. Undefined: nothing. */
  readonly searchAfter?: SearchAfter;
  /** Undefined: the matcher is a function of its own, not built from others. */
  readonly parts?: MatcherParts;
}

/**
 * What a combinator built a matcher from. Matching never reads it: a test builds the matcher again without one of its parts and
 * checks that a text of the pattern notices.
 */
type MatcherParts =
  /** A part that is never changed, as it is named in a report. */
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "words";
      readonly words: readonly string[] | ReadonlySet<string>;
      readonly rebuild: (words: readonly string[]) => Matcher;
    }
  | {
      readonly kind: "sequence" | "choice" | "optional" | "lookahead" | "repetition";
      readonly matchers: readonly Matcher[];
      readonly rebuild: (matchers: readonly Matcher[]) => Matcher;
    };

/** Returns the matcher as one that matches only where the search finds something. */
export function searching(searchAfter: SearchAfter, matcher: Matcher): Matcher {
  return Object.assign(matcher, { searchAfter });
}

/** Returns the matcher with a description of its parts. */
export function withParts(matcher: Matcher, parts: MatcherParts): Matcher {
  return Object.assign(matcher, { parts });
}

/** Returns the matcher with a description of the one matcher that it is built from. */
export function withPart(
  matcher: Matcher,
  kind: "optional" | "lookahead" | "repetition",
  part: Matcher,
  build: (part: Matcher) => Matcher,
): Matcher {
  return withParts(matcher, { kind, matchers: [part], rebuild: ([other = part]) => build(other) });
}

/** Returns the FIRST set, which the first call creates. */
type FirstSetSource = () => FirstSet | undefined;

export interface FirstSet {
  readonly prefixes: PrefixSet;
  /** The matcher may match without reading a unit. */
  readonly mayBeEmpty: boolean;
  /** What may follow whitespace at the start of a match; null for anything. */
  readonly afterWhitespace: PrefixSet | null;
  /** Every match that reads anything reads one unit, so that what follows it in a sequence is the second unit. */
  readonly readsOneUnit: boolean;
  /** The words that a match may start with, also after whitespace. */
  readonly words: WordSource;
  /** Set on matchers that read nothing: units that must not follow. */
  readonly excludedUnits?: CharSet | undefined;
}

/** Returns the matcher with a FIRST set that `create` returns. */
export function withFirstSet(create: FirstSetSource, match: MatchFunction): Matcher {
  let created: { readonly firstSet: FirstSet | undefined } | null = null;
  const firstSet = () => (created ??= { firstSet: create() }).firstSet;
  return Object.assign(match, { firstSet });
}

/** Returns the matcher with its FIRST set changed. */
function withChangedFirstSet(
  { firstSet }: Matcher,
  changed: (firstSet: FirstSet) => FirstSet,
  match: MatchFunction,
): Matcher {
  if (firstSet === undefined) return match;
  return withFirstSet(() => {
    const known = firstSet();
    return known === undefined ? undefined : changed(known);
  }, match);
}

/** Returns a matcher whose matches start with one of the prefixes. */
export function withPrefixes(
  prefixes: PrefixSet | (() => PrefixSet),
  match: MatchFunction,
  mayBeEmpty = false,
): Matcher {
  return withFirstSet(
    () => firstSetOfPrefixes(typeof prefixes === "function" ? prefixes() : prefixes, mayBeEmpty),
    match,
  );
}

/** Returns the FIRST set of a matcher whose matches start with one of the prefixes. */
export function firstSetOfPrefixes(prefixes: PrefixSet, mayBeEmpty: boolean): FirstSet {
  const hasWhitespace = prefixes[SPACE] !== 0 || prefixes[NEWLINE] !== 0;
  const afterWhitespace = hasWhitespace ? null : NO_PREFIXES;
  const words = hasWhitespace ? anyWords : wordsStartingWith(prefixes);
  return { prefixes, mayBeEmpty, afterWhitespace, readsOneUnit: false, words };
}

function wordsStartingWith(prefixes: PrefixSet): WordSource {
  return () => (startsWithWord(prefixes) ? anyWords() : noWords());
}

/** Returns whether a text in the set may start with a word. */
export function startsWithWord(prefixes: PrefixSet): boolean {
  return prefixes.some((seconds, first) => seconds !== 0 && WORD_SYMBOLS[first] !== 0);
}

/** Returns the matcher as one whose matches start with one of the words, or with no word. */
export function withWords(words: WordSource, matcher: Matcher): Matcher {
  return withChangedFirstSet(matcher, (firstSet) => ({ ...firstSet, words }), matcher);
}

/** Returns the matcher as one whose matches read at most one unit. */
export function readingOneUnit(matcher: Matcher): Matcher {
  return withChangedFirstSet(matcher, (firstSet) => ({ ...firstSet, readsOneUnit: true }), matcher);
}

/** Returns a matcher whose matches start with one of the prefixes, also after whitespace, which must be one of the prefixes. */
export function withSeparatedPrefixes(prefixes: PrefixSet, match: MatchFunction): Matcher {
  const firstSet = {
    prefixes,
    mayBeEmpty: false,
    afterWhitespace: prefixes,
    readsOneUnit: false,
    words: anyWords,
  };
  return Object.assign(match, { firstSet: () => firstSet });
}

/** Returns a matcher that tests the current position and reads nothing. */
export function zeroWidth(match: MatchFunction): Matcher {
  return withPrefixes(NO_PREFIXES, match, true);
}

/** Returns a matcher that reads nothing, and that does not match where `matcher` does. */
export function negative(matcher: Matcher, match: MatchFunction): Matcher {
  return withFirstSet(() => {
    const firstSet = matcher.firstSet?.();
    const negated = firstSetOfPrefixes(NO_PREFIXES, true);
    if (firstSet === undefined || firstSet.mayBeEmpty || !firstSet.readsOneUnit) return negated;
    // A matcher of one unit matches each of its first units. Not the indexes of the end of the text and of several units.
    const excludedUnits = charSetWhere(
      (code) => code > 0 && code < NON_ASCII && firstSet.prefixes[code] === ANY_SECOND,
    );
    return { ...negated, excludedUnits };
  }, match);
}

/** Returns a matcher whose matches start like those of another matcher. */
export function withFirstSetOf(other: Matcher, mayBeEmpty: boolean, match: MatchFunction): Matcher {
  return withChangedFirstSet(
    other,
    (firstSet) => ({
      ...firstSet,
      mayBeEmpty: mayBeEmpty || firstSet.mayBeEmpty,
      readsOneUnit: false,
      // A matcher that may be skipped excludes nothing.
      excludedUnits: mayBeEmpty ? undefined : firstSet.excludedUnits,
    }),
    match,
  );
}

/** Returns the FIRST set that must apply for a match; null if a match is possible anywhere. */
export function requiredFirstSet(matcher: Matcher): FirstSet | null {
  const firstSet = matcher.firstSet?.();
  return firstSet === undefined || firstSet.mayBeEmpty ? null : firstSet;
}

/** Returns false if no match can start at this position, which is at most the end of the text. */
export function canMatchAt(
  required: Pick<FirstSet, "prefixes" | "afterWhitespace"> | null,
  { codes }: NormalizedText,
  at: number,
): boolean {
  if (required === null) return true;
  // Without a comparison with the length of the text: zeros follow it.
  const first = codes[at] ?? 0;
  const second = codes[at + 1] ?? 0;
  if (!hasPrefix(required.prefixes, first, second)) return false;
  const { afterWhitespace } = required;
  if (afterWhitespace === null || first > SPACE || !isInClass(first, WHITESPACE)) return true;
  return hasPrefix(afterWhitespace, second, codes[at + 2] ?? 0);
}
