// Combinators that build matchers. Matchers do not backtrack and every repetition has a bound, so that the work of a matcher
// is bounded for any text, however hostile.
import { WHITESPACE } from "./char-classes.ts";
import { CHAR_SET_SIZE, charSet, charSetHas, charSetIgnoringCase, type CharSet } from "./char-set.ts";
import { firstSetOfChoice, firstSetOfLiteral, firstSetOfSequence, firstUnitsAnd } from "./first-set.ts";
import { endOfRun, endOfWord, isTextAt, KeywordSet, MAX_WORD_LENGTH } from "./keyword-set.ts";
import {
  canMatchAt,
  negative,
  NO_MATCH,
  readingOneUnit,
  requiredFirstSet,
  withFirstSet,
  withFirstSetOf,
  withPart,
  withParts,
  withPrefixes,
  withWords,
  type FirstSet,
  type Matcher,
} from "./matcher.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { stepsToRead } from "./work-budget.ts";
import {
  ANY_SECOND,
  hasPrefix,
  prefixesOf,
  prefixesStartingWith,
  secondUnitBit,
  type PrefixSet,
} from "./prefix-set.ts";
import { wordSetOf } from "./word-set.ts";

/** Returns a table that is 1 for these ASCII characters in upper and lower case. */
export function charTable(characters: string): Uint8Array {
  const table = new Uint8Array(0x80);
  for (const character of characters.toLowerCase() + characters.toUpperCase())
    table[character.charCodeAt(0)] = 1;
  return table;
}

const literals = new Map<string, Matcher>();

/** Matches a literal text, ignoring ASCII case. Equal texts share one matcher. */
export function lit(text: string): Matcher {
  let matcher = literals.get(text);
  if (matcher === undefined) literals.set(text, (matcher = createLiteral(text)));
  return matcher;
}

function createLiteral(text: string): Matcher {
  const lowerCase = text.toLowerCase();
  const matcher = withFirstSet(
    () => firstSetOfLiteral(text),
    (input, at) => {
      input.work.steps++;
      return isTextAt(input, at, lowerCase) ? at + lowerCase.length : NO_MATCH;
    },
  );
  return withParts(matcher, { kind: "text", text });
}

/** Matches a literal text, including its case. */
export function exact(text: string): Matcher {
  const matcher = withFirstSet(
    () => ({ ...firstSetOfLiteral(text), readsOneUnit: false }),
    (input, at) => {
      input.work.steps++;
      for (let index = 0; index < text.length; index++) {
        if (unitAt(input, at + index) !== text.charCodeAt(index)) return NO_MATCH;
      }
      return at + text.length;
    },
  );
  return withParts(matcher, { kind: "text", text });
}

/** Matches all matchers one after the other. */
export function seq(...matchers: readonly Matcher[]): Matcher {
  let required: FirstSet | null | undefined;
  const [first = nothing, second = nothing, ...others] = matchers;
  const count = others.length;
  // Most sequences fail at the first or second matcher: these are called without reading a list, and steps are written once.
  const match = (input: NormalizedText, at: number): number => {
    if (required === undefined) required = requiredFirstSet(matcher);
    if (!canMatchAt(required, input, at)) return NO_MATCH;
    const middle = first(input, at);
    if (middle < 0) {
      input.work.steps += 2;
      return NO_MATCH;
    }
    let end = second(input, middle);
    let index = 0;
    for (; index < count && end >= 0; index++) end = others[index]?.(input, end) ?? NO_MATCH;
    input.work.steps += 3 + index;
    return end;
  };
  const matcher = withFirstSet(() => firstSetOfSequence(matchers), match);
  return withParts(matcher, { kind: "sequence", matchers, rebuild: (others) => seq(...others) });
}

/** Matches the empty text. */
const nothing: Matcher = (_, at) => at;

/** Matches the first alternative that matches. */
export function choice(...matchers: readonly Matcher[]): Matcher {
  // By first unit: the alternatives to try. Filled on demand, because most entries are never used.
  let byUnit: (Alternatives | undefined)[] | null = null;
  const match = (input: NormalizedText, at: number): number => {
    const code = Math.min(unitAt(input, at), CHAR_SET_SIZE - 1);
    byUnit ??= new Array<Alternatives | undefined>(CHAR_SET_SIZE).fill(undefined);
    const { candidates, seconds } = (byUnit[code] ??= alternativesFor(matchers, code));
    const count = candidates.length;
    const second = secondUnitBit(unitAt(input, at + 1));
    input.work.steps++;
    for (let index = 0; index < count; index++) {
      input.work.steps++;
      if (((seconds[index] ?? 0) & second) === 0) continue;
      const end = candidates[index]?.(input, at) ?? NO_MATCH;
      if (end >= 0) return end;
    }
    return NO_MATCH;
  };
  const matcher = withFirstSet(() => firstSetOfChoice(matchers), match);
  return withParts(matcher, { kind: "choice", matchers, rebuild: (others) => choice(...others) });
}

/** The alternatives that can match a text with a given first unit, and for each the bits of the second units that it allows. */
interface Alternatives {
  readonly candidates: readonly Matcher[];
  readonly seconds: readonly number[];
}

function alternativesFor(matchers: readonly Matcher[], code: number): Alternatives {
  const secondsOf = (matcher: Matcher) => requiredFirstSet(matcher)?.prefixes[code] ?? ANY_SECOND;
  const candidates = matchers.filter((matcher) => secondsOf(matcher) !== 0);
  return { candidates, seconds: candidates.map(secondsOf) };
}

/** Matches the matcher or nothing. */
export function opt(matcher: Matcher): Matcher {
  let required: FirstSet | null | undefined;
  const match = (input: NormalizedText, at: number): number => {
    if (required === undefined) required = requiredFirstSet(matcher);
    if (!canMatchAt(required, input, at)) return at;
    const end = matcher(input, at);
    return end < 0 ? at : end;
  };
  const optional = withFirstSet(() => {
    const firstSet = matcher.firstSet?.();
    return firstSet && { ...firstSet, mayBeEmpty: true, excludedUnits: undefined };
  }, match);
  return withPart(optional, "optional", matcher, opt);
}

/** Matches the matcher `min` to `max` times. */
export function times(min: number, max: number, matcher: Matcher): Matcher {
  let required: FirstSet | null | undefined;
  const match = withFirstSetOf(matcher, min === 0, (input, at) => {
    if (required === undefined) required = requiredFirstSet(matcher);
    let end = at;
    for (let count = 0; count < max; count++) {
      input.work.steps++;
      const next = canMatchAt(required, input, end) ? matcher(input, end) : NO_MATCH;
      if (next < 0 || next === end) return count < min ? NO_MATCH : end;
      end = next;
    }
    return end;
  });
  return withPart(match, min === 0 ? "optional" : "repetition", matcher, (part) => times(min, max, part));
}

/** Negative lookahead: reads nothing, and matches if the matcher does not. */
export function not(matcher: Matcher): Matcher {
  let required: FirstSet | null | undefined;
  const match = negative(matcher, (input, at) => {
    if (required === undefined) required = requiredFirstSet(matcher);
    return canMatchAt(required, input, at) && matcher(input, at) >= 0 ? NO_MATCH : at;
  });
  return withPart(match, "lookahead", matcher, not);
}

/** Positive lookahead: reads nothing, and matches if the matcher does. */
export function peek(matcher: Matcher): Matcher {
  const match = withFirstSetOf(matcher, false, (input, at) => (matcher(input, at) < 0 ? NO_MATCH : at));
  return withPart(match, "lookahead", matcher, peek);
}

/**
 * Returns a matcher that is tried only where `test` returns true: a test that reads a word once rejects most candidates sooner than the
 * matcher would. It must return true wherever the matcher matches.
 */
export function where(test: (input: NormalizedText, at: number) => boolean, matcher: Matcher): Matcher {
  const match = withFirstSetOf(matcher, false, (input, at) =>
    test(input, at) ? matcher(input, at) : NO_MATCH,
  );
  return withPart(match, "repetition", matcher, (part) => where(test, part));
}

const characterChoices = new Map<string, Matcher>();

/** Matches one of the characters, ignoring case. Equal lists share one matcher. */
export function oneOf(characters: string): Matcher {
  let matcher = characterChoices.get(characters);
  if (matcher === undefined) characterChoices.set(characters, (matcher = createOneOf(characters)));
  return matcher;
}

function createOneOf(characters: string): Matcher {
  const allowed = charTable(characters);
  const matcher = withPrefixes(
    () => prefixesStartingWith(charSetIgnoringCase(characters)),
    (input, at) => {
      input.work.steps++;
      return at < input.length && allowed[unitAt(input, at)] === 1 ? at + 1 : NO_MATCH;
    },
  );
  return withParts(readingOneUnit(matcher), { kind: "text", text: `[${characters}]` });
}

/** Matches `min` to `max` units of the classes. */
export function run(classBits: number, min: number, max: number): Matcher {
  const match = (input: NormalizedText, at: number): number => {
    const end = endOfRun(input, at, classBits, max);
    return end - at < min ? NO_MATCH : end;
  };
  const matcher = withPrefixes(() => prefixesStartingWith(charSet(classBits)), match, min === 0);
  if (max === 1) readingOneUnit(matcher);
  return classBits === WHITESPACE && min <= 1
    ? Object.assign(matcher, { skippedUnits: charSet(WHITESPACE) })
    : matcher;
}

/** Matches `min` to `max` units other than these characters. */
export function except(characters: string, min: number, max: number): Matcher {
  const excluded = charTable(characters);
  return (input, at) => {
    const { codes } = input;
    const last = Math.min(at + max, input.length);
    let end = at;
    while (end < last && excluded[codes[end] ?? 0] !== 1) end++;
    input.work.steps += stepsToRead(end - at);
    return end - at < min ? NO_MATCH : end;
  };
}

/** Skips at most `max` units to the first match of the matcher, but none of the characters in `stops`. */
export function skipTo(matcher: Matcher, max: number, stops = ""): Matcher {
  const isStop = charTable(stops);
  let required: FirstSet | null = null;
  /** By unit: 1 if a match can start with it, or if it stops the search. */
  let isChecked: CharSet | null = null;
  const match: Matcher = (input, at) => {
    if (isChecked === null) {
      required = requiredFirstSet(matcher);
      isChecked = firstUnitsAnd(isStop, required);
    }
    const { codes } = input;
    const last = Math.min(at + max, input.length);
    let counted = at;
    for (let from = at; from <= last; from++) {
      const code = codes[from] ?? 0;
      if (!charSetHas(isChecked, code)) continue;
      input.work.steps += stepsToRead(from - counted);
      counted = from;
      const end = canMatchAt(required, input, from) ? matcher(input, from) : NO_MATCH;
      if (end >= 0) return end;
      if (isStop[code] === 1) return NO_MATCH;
    }
    input.work.steps += stepsToRead(Math.max(last - counted, 0));
    return NO_MATCH;
  };
  return withPart(match, "repetition", matcher, (part) => skipTo(part, max, stops));
}

/** Matches a whole word that is in the list, ignoring ASCII case. */
export function keyword(keywords: readonly string[] | ReadonlySet<string>): Matcher {
  let known: KeywordSet | null = null;
  let prefixes: PrefixSet | null = null;
  const matcher = withPrefixes(
    () => prefixesOf(keywords),
    (input, at) => {
      prefixes ??= prefixesOf(keywords);
      if (!hasPrefix(prefixes, unitAt(input, at), unitAt(input, at + 1))) return NO_MATCH;
      const end = endOfWord(input, at);
      if (end === at || end - at >= MAX_WORD_LENGTH) return NO_MATCH;
      known ??= new KeywordSet(keywords);
      return known.has(input, at, end) ? end : NO_MATCH;
    },
  );
  return withParts(
    withWords(() => wordSetOf(keywords), matcher),
    { kind: "words", words: keywords, rebuild: keyword },
  );
}
