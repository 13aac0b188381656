// The FIRST sets of literals, sequences and choices.
import { charSetWhere, type CharSet } from "./char-set.ts";
import { firstSetOfPrefixes, startsWithWord, type FirstSet, type Matcher } from "./matcher.ts";
import {
  NO_PREFIXES,
  prefixesBefore,
  prefixesOf,
  prefixesStartingWith,
  unionOfPrefixes,
  withoutFirstUnits,
  type PrefixSet,
} from "./prefix-set.ts";
import { unionOfWords, wordSetOfLiteral, type WordSet, type WordSource } from "./word-set.ts";

/** Returns the FIRST set of a literal text. */
export function firstSetOfLiteral(text: string): FirstSet {
  const firstSet = firstSetOfPrefixes(prefixesOf([text]), false);
  return { ...firstSet, readsOneUnit: text.length === 1, words: () => wordSetOfLiteral(text) };
}

/** Returns the FIRST set of a sequence: that of its first matcher, and of the next ones while those before may be empty. */
export function firstSetOfSequence(matchers: readonly Matcher[]): FirstSet | undefined {
  const start = startOfSequence(matchers, 0);
  if (start === null) return undefined;
  const [only] = matchers;
  const readsOneUnit = matchers.length === 1 && only?.firstSet?.()?.readsOneUnit === true;
  return {
    ...start,
    afterWhitespace: afterWhitespaceOf(matchers),
    readsOneUnit,
    words: () => wordsOfSequence(matchers),
  };
}

/** The prefixes of the sequence that starts at index `from`; null if it can start with anything. */
function startOfSequence(
  matchers: readonly Matcher[],
  from: number,
): Pick<FirstSet, "prefixes" | "mayBeEmpty"> | null {
  let prefixes = NO_PREFIXES;
  const excluded: CharSet[] = [];
  for (let index = from; index < matchers.length; index++) {
    const firstSet = matchers[index]?.firstSet?.();
    if (firstSet === undefined) return null;
    const next = prefixesInSequence(matchers, index, firstSet);
    // Nothing was read before the first unit, so it follows every matcher before it.
    prefixes = unionOfPrefixes(prefixes, excluded.reduce(withoutFirstUnits, next));
    if (firstSet.excludedUnits !== undefined) excluded.push(firstSet.excludedUnits);
    if (!firstSet.mayBeEmpty) return { prefixes, mayBeEmpty: false };
  }
  return { prefixes, mayBeEmpty: true };
}

/** The prefixes of a matcher, with the second units that the matchers after it in a sequence allow. */
function prefixesInSequence(matchers: readonly Matcher[], index: number, firstSet: FirstSet): PrefixSet {
  const rest = firstSet.readsOneUnit ? startOfSequence(matchers, index + 1) : null;
  return rest === null || rest.mayBeEmpty
    ? firstSet.prefixes
    : prefixesBefore(firstSet.prefixes, rest.prefixes);
}

/** What may follow whitespace at the start of a sequence; null for anything. */
function afterWhitespaceOf(matchers: readonly Matcher[]): PrefixSet | null {
  let prefixes = NO_PREFIXES;
  for (const [index, matcher] of matchers.entries()) {
    const { skippedUnits } = matcher;
    if (skippedUnits !== undefined) {
      const rest = startOfSequence(matchers, index + 1);
      if (rest === null || rest.mayBeEmpty) return null;
      return unionOfPrefixes(prefixes, prefixesStartingWith(skippedUnits), rest.prefixes);
    }
    const firstSet = matcher.firstSet?.();
    if (firstSet === undefined || firstSet.afterWhitespace === null) return null;
    prefixes = unionOfPrefixes(prefixes, firstSet.afterWhitespace);
    if (!firstSet.mayBeEmpty) return prefixes;
  }
  return prefixes;
}

/** The words that a sequence may start with, also after whitespace; null for any. */
function wordsOfSequence(matchers: readonly Matcher[]): WordSet | null {
  const words: WordSource[] = [];
  let requiresWhitespace = false;
  for (const matcher of matchers) {
    const { skippedUnits } = matcher;
    const firstSet = matcher.firstSet?.();
    if (firstSet === undefined) return null;
    // What is skipped after the first whitespace is no word.
    if (skippedUnits !== undefined && !startsWithWord(firstSet.prefixes)) {
      requiresWhitespace ||= !firstSet.mayBeEmpty;
      continue;
    }
    words.push(firstSet.words);
    if (!firstSet.mayBeEmpty) return unionOfWords(words);
  }
  // Any word may follow whitespace that is the whole match.
  return requiresWhitespace ? null : unionOfWords(words);
}

/** Returns the FIRST set of a choice: the union of the alternatives. */
export function firstSetOfChoice(matchers: readonly Matcher[]): FirstSet | undefined {
  const all = matchers.map((matcher) => matcher.firstSet?.()).filter((firstSet) => firstSet !== undefined);
  if (all.length < matchers.length) return undefined;
  const afterWhitespace = all.map((each) => each.afterWhitespace).filter((prefixes) => prefixes !== null);
  return {
    prefixes: unionOfPrefixes(...all.map((each) => each.prefixes)),
    mayBeEmpty: all.some((each) => each.mayBeEmpty),
    afterWhitespace: afterWhitespace.length < all.length ? null : unionOfPrefixes(...afterWhitespace),
    readsOneUnit: all.every((each) => each.readsOneUnit),
    words: () => unionOfWords(all.map((each) => each.words)),
  };
}

/** Returns the units that a match can start with, and the stops. */
export function firstUnitsAnd(stops: Uint8Array, required: FirstSet | null): CharSet {
  return charSetWhere((code) => required === null || required.prefixes[code] !== 0 || stops[code] === 1);
}
