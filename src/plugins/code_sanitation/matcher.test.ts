// Tests that FIRST sets only save work: every combination of matchers matches the same as a reference implementation without them.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { DIGIT, isInClass, LETTER, WHITESPACE, WORD } from "./char-classes.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, run, seq, skipTo, times } from "./combinators.ts";
import { canMatchAt, requiredFirstSet, type Matcher } from "./matcher.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { scratchBufferFor } from "./scratch-buffer.ts";
import { mayHaveWord, wordHashAt } from "./word-set.ts";
import { end, ows, rws, whitespaceMatcher, wordBoundary } from "./tokens.ts";

/** A matcher and a reference implementation of it: from a position of a text to the end of the match, or -1. */
interface Case {
  readonly matcher: Matcher;
  readonly reference: (text: string, at: number) => number;
}

const isClass = (text: string, at: number, bits: number) =>
  at < text.length && isInClass(text.charCodeAt(at), bits);

function referenceRun(bits: number, min: number, max: number): Case["reference"] {
  return (text, at) => {
    let to = at;
    while (to - at < max && isClass(text, to, bits)) to++;
    return to - at < min ? -1 : to;
  };
}

function referenceTimes(min: number, max: number, reference: Case["reference"]): Case["reference"] {
  return (text, at) => {
    let to = at;
    for (let count = 0; count < max; count++) {
      const next = reference(text, to);
      if (next < 0 || next === to) return count < min ? -1 : to;
      to = next;
    }
    return to;
  };
}

const referenceLit =
  (wanted: string): Case["reference"] =>
  (text, at) =>
    text.slice(at, at + wanted.length).toLowerCase() === wanted ? at + wanted.length : -1;

const referenceOneOf =
  (characters: string): Case["reference"] =>
  (text, at) =>
    at < text.length && characters.includes(text.charAt(at).toLowerCase()) ? at + 1 : -1;

const referenceKeyword =
  (keywords: readonly string[]): Case["reference"] =>
  (text, at) => {
    const to = referenceRun(WORD, 1, 40)(text, at);
    return to >= 0 && keywords.includes(text.slice(at, to).toLowerCase()) ? to : -1;
  };

const leaves: Case[] = [
  ...["a", "ab", "ba", "a ", "(", "(a", "'a", "a1", "--", "aba", "abab1", "ba1(", " ab", "\nbab("].map(
    (text) => ({
      matcher: lit(text),
      reference: referenceLit(text),
    }),
  ),
  ...["a(", " \n)", "b1-"].map((characters) => ({
    matcher: oneOf(characters),
    reference: referenceOneOf(characters),
  })),
  { matcher: run(LETTER, 1, 2), reference: referenceRun(LETTER, 1, 2) },
  { matcher: run(WORD, 0, 3), reference: referenceRun(WORD, 0, 3) },
  { matcher: run(DIGIT, 2, 3), reference: referenceRun(DIGIT, 2, 3) },
  { matcher: ows, reference: referenceRun(WHITESPACE, 0, 4) },
  { matcher: rws, reference: referenceRun(WHITESPACE, 1, 4) },
  { matcher: wordBoundary, reference: (text, at) => (isClass(text, at, WORD) ? -1 : at) },
  {
    matcher: end,
    reference: (text, at) => (referenceRun(WHITESPACE, 0, 4)(text, at) >= text.length ? at : -1),
  },
  ...[["a"], ["ab", "b"], ["b1", "aab"], ["abba", "babab"]].map((keywords) => ({
    matcher: keyword(keywords),
    reference: referenceKeyword(keywords),
  })),
  {
    matcher: whitespaceMatcher(times(0, 8, oneOf(") \n+")), ")+"),
    reference: referenceTimes(0, 8, referenceOneOf(") \n+")),
  },
];

const { node } = fc.letrec<{ node: Case }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...leaves),
    fc.array(tie("node"), { minLength: 1, maxLength: 4 }).map((parts) => ({
      matcher: seq(...parts.map(({ matcher }) => matcher)),
      reference: (text: string, at: number) =>
        parts.reduce((to, { reference }) => (to < 0 ? to : reference(text, to)), at),
    })),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((parts) => ({
      matcher: choice(...parts.map(({ matcher }) => matcher)),
      reference: (text: string, at: number) =>
        parts.map(({ reference }) => reference(text, at)).find((to) => to >= 0) ?? -1,
    })),
    tie("node").map(({ matcher, reference }) => ({
      matcher: opt(matcher),
      reference: (text: string, at: number) => {
        const to = reference(text, at);
        return to < 0 ? at : to;
      },
    })),
    tie("node").map(({ matcher, reference }) => ({
      matcher: not(matcher),
      reference: (text: string, at: number) => (reference(text, at) < 0 ? at : -1),
    })),
    tie("node").map(({ matcher, reference }) => ({
      matcher: peek(matcher),
      reference: (text: string, at: number) => (reference(text, at) < 0 ? -1 : at),
    })),
    fc.tuple(tie("node"), fc.constantFrom(0, 1, 2)).map(([{ matcher, reference }, min]) => ({
      matcher: times(min, 3, matcher),
      reference: referenceTimes(min, 3, reference),
    })),
    tie("node").map(({ matcher, reference }) => ({
      matcher: skipTo(matcher, 3),
      reference: (text: string, at: number) =>
        [0, 1, 2, 3]
          .filter((step) => at + step <= text.length)
          .map((step) => reference(text, at + step))
          .find((to) => to >= 0) ?? -1,
    })),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom("a", "b", "A", "B", "1", " ", "\n", "(", ")", "'", "-", "+", "é"),
  maxLength: 8,
});

/** Returns the text as matcher input without normalization, so that runs of whitespace stay. */
function inputOf(text: string): NormalizedText {
  const buffer = scratchBufferFor(text.length, 0);
  Buffer.from(buffer.codes.buffer).write(text, "utf16le");
  return buffer.finish(text.length, null, { steps: 0, limit: Infinity });
}

test("a matcher matches the same as its reference implementation", () => {
  fc.assert(
    fc.property(node, fc.array(text, { minLength: 5, maxLength: 20 }), ({ matcher, reference }, texts) => {
      for (const one of texts) {
        const input = inputOf(one);
        const ends = Array.from({ length: one.length + 1 }, (_, at) => matcher(input, at));
        const expected = ends.map((_, at) => reference(one, at));
        expect(ends).toEqual(expected);
        const required = requiredFirstSet(matcher);
        const missed = expected.filter((to, at) => to >= 0 && !canMatchAt(required, input, at));
        expect(missed).toEqual([]);
        const words = required?.words() ?? null;
        const otherWords = expected.filter(
          (to, at) => to >= 0 && words !== null && !mayHaveWord(words, wordHashAt(input.codes, at)),
        );
        expect(otherWords).toEqual([]);
      }
    }),
    { numRuns: 400 },
  );
});

test.each([
  ["one space", " ab"],
  ["two spaces", "  ab"],
  ["a space and separators", " )+ab"],
  ["no space", "ab"],
])("matches after optional whitespace: %s", (_, text) => {
  const matcher = seq(
    opt(lit("x")),
    whitespaceMatcher(times(0, 8, oneOf(") \n+")), ")+"),
    choice(lit("ab"), lit("ba")),
  );
  expect(matcher(inputOf(text), 0)).toBe(text.length);
});

test.each([
  ["a literal", "(", seq(lit("("), lit("ab"))],
  ["one of several characters", "(", seq(oneOf("([{"), opt(lit(" ")), keyword(["ab"]))],
  ["a run of one unit", "1", seq(run(WORD, 1, 1), lit("ab"))],
  ["an optional literal", "(", seq(opt(lit("(")), lit("ab"))],
  ["a choice of characters", "(", seq(choice(lit("("), oneOf("[{")), not(lit("b")), lit("ab"))],
])("rejects by the second unit what follows a single unit: %s", (_, first, matcher) => {
  const required = requiredFirstSet(matcher);
  expect(matcher(inputOf(`${first}ab`), 0)).toBe(3);
  expect(canMatchAt(required, inputOf(`${first}ab`), 0)).toBe(true);
  expect(canMatchAt(required, inputOf(`${first}-b`), 0)).toBe(false);
});

test.each([
  ["a literal", seq(not(lit("(")), choice(lit("("), lit("a")))],
  ["one of several characters", seq(not(oneOf("([")), opt(lit("(")), oneOf("(a"))],
  ["a choice of characters", seq(ows, not(choice(lit("("), lit("["))), oneOf("(a"))],
  ["a unit, also after optional text", seq(opt(lit("x")), not(lit("(")), oneOf("(a"))],
])("rejects by the first unit what must not follow: %s", (_, matcher) => {
  const required = requiredFirstSet(matcher);
  expect(canMatchAt(required, inputOf("a"), 0)).toBe(true);
  expect(canMatchAt(required, inputOf("("), 0)).toBe(false);
  expect(canMatchAt(required, inputOf(" ("), 0)).toBe(false);
});

test.each([
  ["an optional one", seq(opt(not(lit("a"))), lit("a"))],
  ["one that is repeated, or not", seq(times(0, 3, not(lit("a"))), lit("a"))],
])("a negative lookahead that may be skipped rejects nothing: %s", (_, matcher) => {
  expect(matcher(inputOf("a"), 0)).toBe(1);
});

test.each([
  ["a keyword", "abcd", keyword(["abcd", "efg"])],
  ["a keyword after optional whitespace", " efg", seq(ows, keyword(["abcd", "efg"]))],
  ["a literal of four letters", "abcdef", lit("abcd")],
  ["a literal of three letters", "abcx", lit("abc")],
  ["a short literal that ends its word", "ab(", lit("ab(")],
  ["one of several alternatives", "efg", choice(lit("abcd"), seq(opt(lit("(")), keyword(["efg"])))],
  ["an optional word before another one", "efg", seq(opt(lit("abcd")), keyword(["efg"]))],
])("rejects other words than those it starts with: %s", (_, text, matcher) => {
  const words = requiredFirstSet(matcher)?.words() ?? null;
  if (words === null) throw new Error("the words are not known");
  const mayMatch = (text: string) => mayHaveWord(words, wordHashAt(inputOf(text).codes, 0));
  expect(matcher(inputOf(text), 0)).toBeGreaterThan(0);
  expect(mayMatch(text)).toBe(true);
  for (const other of ["abxd", " efgh", "xyz"]) expect(mayMatch(other)).toBe(false);
  expect(mayMatch("(abxd")).toBe(true);
});

test("the words of a short literal are not known", () => {
  for (const matcher of [
    lit("ab"),
    lit(" "),
    seq(not(lit("x")), rws),
    seq(lit("\n"), lit("abcd")),
    seq(oneOf(" +"), lit("abcd")),
  ])
    expect(requiredFirstSet(matcher)?.words()).toBeNull();
});
