// Matchers for the tokens that many languages share: whitespace, words, numbers, quotes and comments.
// `ows` and `rws` are named as in RFC 9110: optional and required whitespace.
import { DIGIT, isInClass, QUOTE, WHITESPACE, WORD } from "./char-classes.ts";
import { charSet, charSetWhere } from "./char-set.ts";
import { charTable, choice, except, lit, run, seq, times } from "./combinators.ts";
import { endOfWord } from "./keyword-set.ts";
import {
  NO_MATCH,
  withFirstSetOf,
  withPart,
  withParts,
  withPrefixes,
  zeroWidth,
  type Matcher,
} from "./matcher.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { prefixesStartingWith } from "./prefix-set.ts";
import { noWords } from "./word-set.ts";
import { stepsToRead } from "./work-budget.ts";

/** Optional whitespace. A normalized text has one unit per run of whitespace, but a replaced comment may add another. */
export const ows: Matcher = run(WHITESPACE, 0, 4);
/** Required whitespace. */
export const rws: Matcher = run(WHITESPACE, 1, 4);
export const digits: Matcher = run(DIGIT, 1, 24);
/** A function of its own, not a sequence: patterns try no other matcher as often. */
export const identifier: Matcher = withPrefixes(
  prefixesStartingWith(charSetWhere((code) => isInClass(code, WORD) && !isInClass(code, DIGIT))),
  (input, at) => {
    if (isInClass(unitAt(input, at), DIGIT)) return NO_MATCH;
    const wordEnd = endOfWord(input, at);
    return wordEnd > at ? wordEnd : NO_MATCH;
  },
);
export const quote: Matcher = run(QUOTE, 1, 1);
/** Matches if no word character follows. */
export const wordBoundary: Matcher = withParts(
  zeroWidth((input, at) => (isInClass(unitAt(input, at), WORD) ? NO_MATCH : at)),
  { kind: "lookahead", matchers: [], rebuild: () => wordBoundary },
);

const WHITESPACE_OR_END = prefixesStartingWith(
  charSetWhere((code) => code === 0 || isInClass(code, WHITESPACE)),
);
/** Matches if nothing but whitespace follows. */
export const end: Matcher = withParts(
  Object.assign((input: NormalizedText, at: number) => (ows(input, at) >= input.length ? at : NO_MATCH), {
    firstSet: () => ({
      prefixes: WHITESPACE_OR_END,
      mayBeEmpty: false,
      afterWhitespace: WHITESPACE_OR_END,
      readsOneUnit: false,
      words: noWords,
    }),
  }),
  { kind: "lookahead", matchers: [], rebuild: () => end },
);

/** Matches a quoted string of at most `max` units whose closing quote is the same as the opening one. */
export function quoted(max: number): Matcher {
  return withPrefixes(prefixesStartingWith(charSet(QUOTE)), (input, at) => {
    const openingQuote = unitAt(input, at);
    if (!isInClass(openingQuote, QUOTE)) return NO_MATCH;
    const last = Math.min(at + max + 1, input.length - 1);
    let index = at + 1;
    while (index <= last && unitAt(input, index) !== openingQuote) index++;
    input.work.steps += stepsToRead(index - at);
    return index <= last ? index + 1 : NO_MATCH;
  });
}

/**
 * Returns a matcher for whitespace and `matcher`'s other separators, such as comments. `separators` are the characters that
 * these start with. A single whitespace without a separator after it, by far the most frequent case, takes a fast path.
 */
export function whitespaceMatcher(matcher: Matcher, separators: string): Matcher {
  const continues = charTable(` \n${separators}`);
  const match = withFirstSetOf(matcher, false, (input, at) => {
    const isSingle = isInClass(unitAt(input, at), WHITESPACE) && continues[unitAt(input, at + 1)] !== 1;
    return isSingle ? at + 1 : matcher(input, at);
  });
  const skippedUnits = charSet(WHITESPACE, separators);
  return withPart(Object.assign(match, { skippedUnits }), "repetition", matcher, (part) =>
    whitespaceMatcher(part, separators),
  );
}

const lineComment = seq(choice(lit("//"), lit("#")), except("\n", 0, 80), lit("\n"));
/** Whitespace and comments that are allowed between a function's name and its parenthesis. Block comments are removed before. */
export const owsAndComments: Matcher = whitespaceMatcher(
  times(0, 6, choice(run(WHITESPACE, 1, 4), lineComment)),
  "/#",
);
