// What a rule can start with only spares work: no rule built of others misses what a plain reading of it matches.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { BLANK, DIGIT, isOf, LETTER, WORD } from "./char-classes.ts";
import {
  any,
  blanks,
  end,
  gap,
  gapRule,
  lit,
  not,
  oneOf,
  opt,
  peek,
  run,
  seq,
  times,
  upTo,
  word,
  wordEnd,
} from "./grammar.ts";
import { isAtHand, neededBy, type Rule } from "./rule.ts";
import { sheetFor, viewOf, type View } from "./view.ts";

/** A rule, and the same read the plain way: from a position of a text to where it ends, or -1. */
interface Case {
  readonly rule: Rule;
  readonly read: (text: string, at: number) => number;
}

const isClass = (text: string, at: number, bits: number) =>
  at < text.length && isOf(text.charCodeAt(at), bits);

function plainRun(bits: number, least: number, most: number): Case["read"] {
  return (text, at) => {
    let to = at;
    while (to - at < most && isClass(text, to, bits)) to++;
    return to - at < least ? -1 : to;
  };
}

function plainTimes(least: number, most: number, read: Case["read"]): Case["read"] {
  return (text, at) => {
    let to = at;
    for (let count = 0; count < most; count++) {
      const next = read(text, to);
      if (next < 0 || next === to) return count < least ? -1 : to;
      to = next;
    }
    return to;
  };
}

const plainLit =
  (wanted: string): Case["read"] =>
  (text, at) =>
    text.slice(at, at + wanted.length).toLowerCase() === wanted ? at + wanted.length : -1;

const plainOneOf =
  (characters: string): Case["read"] =>
  (text, at) =>
    at < text.length && characters.includes(text.charAt(at).toLowerCase()) ? at + 1 : -1;

const plainWord =
  (words: readonly string[]): Case["read"] =>
  (text, at) => {
    const to = plainRun(WORD, 1, 40)(text, at);
    return to >= 0 && words.includes(text.slice(at, to).toLowerCase()) ? to : -1;
  };

const leaves: Case[] = [
  ...["a", "ab", "ba", "a ", "(", "(a", "'a", "a1", "--"].map((text) => ({
    rule: lit(text),
    read: plainLit(text),
  })),
  ...["a(", " \n)", "b1-"].map((characters) => ({ rule: oneOf(characters), read: plainOneOf(characters) })),
  { rule: run(LETTER, 1, 2), read: plainRun(LETTER, 1, 2) },
  { rule: run(WORD, 0, 3), read: plainRun(WORD, 0, 3) },
  { rule: run(DIGIT, 2, 3), read: plainRun(DIGIT, 2, 3) },
  { rule: blanks, read: plainRun(BLANK, 0, 4) },
  { rule: gap, read: plainRun(BLANK, 1, 4) },
  { rule: wordEnd, read: (text, at) => (isClass(text, at, WORD) ? -1 : at) },
  { rule: end, read: (text, at) => (plainRun(BLANK, 0, 4)(text, at) >= text.length ? at : -1) },
  ...[["a"], ["ab", "b"], ["b1", "aab"]].map((words) => ({ rule: word(words), read: plainWord(words) })),
  {
    rule: gapRule(times(0, 8, oneOf(") \n+")), ")+"),
    read: plainTimes(0, 8, plainOneOf(") \n+")),
  },
];

const { node } = fc.letrec<{ node: Case }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...leaves),
    fc.array(tie("node"), { minLength: 1, maxLength: 4 }).map((parts) => ({
      rule: seq(...parts.map(({ rule }) => rule)),
      read: (text: string, at: number) => parts.reduce((to, { read }) => (to < 0 ? to : read(text, to)), at),
    })),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((parts) => ({
      rule: any(...parts.map(({ rule }) => rule)),
      read: (text: string, at: number) => parts.map(({ read }) => read(text, at)).find((to) => to >= 0) ?? -1,
    })),
    tie("node").map(({ rule, read }) => ({
      rule: opt(rule),
      read: (text: string, at: number) => {
        const to = read(text, at);
        return to < 0 ? at : to;
      },
    })),
    tie("node").map(({ rule, read }) => ({
      rule: not(rule),
      read: (text: string, at: number) => (read(text, at) < 0 ? at : -1),
    })),
    tie("node").map(({ rule, read }) => ({
      rule: peek(rule),
      read: (text: string, at: number) => (read(text, at) < 0 ? -1 : at),
    })),
    fc.tuple(tie("node"), fc.constantFrom(0, 1, 2)).map(([{ rule, read }, least]) => ({
      rule: times(least, 3, rule),
      read: plainTimes(least, 3, read),
    })),
    tie("node").map(({ rule, read }) => ({
      rule: upTo(rule, 3),
      read: (text: string, at: number) =>
        [0, 1, 2, 3]
          .filter((step) => at + step <= text.length)
          .map((step) => read(text, at + step))
          .find((to) => to >= 0) ?? -1,
    })),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom("a", "b", "A", "B", "1", " ", "\n", "(", ")", "'", "-", "+", "é"),
  maxLength: 8,
});

/** The text as a view of its own, nothing folded: runs of blanks stay. */
function viewOfText(text: string): View {
  const sheet = sheetFor(text.length, 0);
  Buffer.from(sheet.codes.buffer).write(text, "utf16le");
  return viewOf(sheet, text.length, null, { steps: 0 });
}

test("a rule matches what its plain reading matches", () => {
  fc.assert(
    fc.property(node, fc.array(text, { minLength: 5, maxLength: 20 }), ({ rule, read }, texts) => {
      for (const one of texts) {
        const view = viewOfText(one);
        const ends = Array.from({ length: one.length + 1 }, (_, at) => rule(view, at));
        const wanted = ends.map((_, at) => read(one, at));
        expect(ends).toEqual(wanted);
        const missed = wanted.filter((to, at) => to >= 0 && !isAtHand(neededBy(rule), view, at));
        expect(missed).toEqual([]);
      }
    }),
    { numRuns: 400 },
  );
});

test.each([
  ["one blank", " ab"],
  ["two blanks", "  ab"],
  ["a blank and more of the gap", " )+ab"],
  ["no blank", "ab"],
])("a gap does not hide what follows it: %s", (_, text) => {
  const read = seq(opt(lit("x")), gapRule(times(0, 8, oneOf(") \n+")), ")+"), any(lit("ab"), lit("ba")));
  expect(read(viewOfText(text), 0)).toBe(text.length);
});
