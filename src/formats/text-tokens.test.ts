import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import counts from "../../test/golden/tokens/counts.json";
import {
  ASCII_CLASSES,
  PUNCTUATION,
  REPEATED,
  START,
  transition,
  UNITS_PER_TOKEN,
} from "./text-automaton.ts";
import { tokensOfText, unitsOfText } from "./text-tokens.ts";
import { anyCharacter } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

const SAMPLES = join(import.meta.dir, "../../test/golden/tokens");
/** At the place where two texts are joined, words, numbers and punctuation may join too. */
const MAX_JOINT = 5;

/** Texts in which the classes of characters change often, and texts of any characters. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc
    .array(
      fc.constantFrom(
        "word",
        "A",
        "HTTP",
        "b",
        "krzk",
        "ó",
        "ł",
        "ư",
        "Привет",
        "ї",
        "漢",
        "한",
        "か",
        " ",
        "\t",
        "\n",
        ".",
        "({",
        "--",
        "7",
        "2026",
        "😀",
        "—",
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join("")),
);

describe("the estimate is within 0.75 and 1.35 of the true count", () => {
  test.each(Object.entries(counts))("of %s", (name, { o200k_base: expected }) => {
    const ratio = tokensOfText(readFileSync(join(SAMPLES, `${name}.txt`), "utf8")) / expected;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.35);
  });

  const sameInBoth = Object.entries(counts).filter(([name]) => /^(?:prose|code|json|base64)-/.test(name));
  test.each(sameInBoth)("of %s in the older vocabulary", (name, { cl100k_base: expected }) => {
    const ratio = tokensOfText(readFileSync(join(SAMPLES, `${name}.txt`), "utf8")) / expected;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.35);
  });
});

test("an empty text has no tokens, and any other a positive number", () => {
  expect(tokensOfText("")).toBe(0);
  fc.assert(
    fc.property(text, (value) => {
      const tokens = tokensOfText(value);
      expect(Number.isFinite(tokens)).toBe(true);
      expect(tokens).toBeGreaterThanOrEqual(0);
      // A single space is part of the next word.
      if (value.trim() !== "") expect(tokens).toBeGreaterThan(0);
    }),
    { numRuns: runs({ short: 100, long: 500 }) },
  );
});

test("joined texts have the tokens of both, up to a constant", () => {
  fc.assert(
    fc.property(text, text, (first, second) => {
      const joined = tokensOfText(first + second);
      const separate = tokensOfText(first) + tokensOfText(second);
      expect(Math.abs(joined - separate)).toBeLessThanOrEqual(MAX_JOINT);
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test("a longer text does not have fewer tokens, up to a fraction of one", () => {
  fc.assert(
    fc.property(text, text, (first, second) => {
      expect(tokensOfText(first + second)).toBeGreaterThan(tokensOfText(first) - 1);
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test.each([
  ["one letter", "a"],
  ["one consonant", "k"],
  ["uppercase letters", "A"],
  ["alternating case", "aB"],
  ["accents", "aé"],
  ["spaces", " "],
  ["lines", "\r\n\t"],
  ["punctuation", "({[<"],
  ["digits", "1"],
  ["lone surrogates", "\ud800"],
  ["combining marks", "e\u0301\u0302\u0303"],
  ["scripts that alternate", "aяא漢"],
])("every character of a hostile text is read once: %s", (_, part) => {
  const hostile = part.repeat(20_000 / part.length);
  const read = spyOn(String.prototype, "charCodeAt");
  try {
    tokensOfText(hostile);
    expect(read).toHaveBeenCalledTimes(hostile.length);
  } finally {
    read.mockRestore();
  }
});

/** The estimate without a table: counts consonants beside the states. */
function naiveUnits(value: string): number {
  let [tokens, state, consonants, last] = [0, START, 0, ""];
  for (const character of value) {
    let kind = ASCII_CLASSES[character.charCodeAt(0)] ?? PUNCTUATION;
    if (kind === PUNCTUATION && character === last) kind = REPEATED;
    const step = transition(state, kind);
    consonants = /[b-df-hj-np-tv-xz]/.test(character) ? consonants + 1 : 0;
    tokens += step.tokens + (consonants > 3 ? 0.5 : 0);
    state = step.next;
    last = character;
  }
  return Math.round(tokens * UNITS_PER_TOKEN);
}

const asciiText = fc.oneof(
  fc.string({ unit: "grapheme-ascii", maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(...Array.from('aekrstXY17 \t\n"\\/.,_-')), maxLength: 80 }),
);

test("the table adds what the transitions of the automaton add", () => {
  fc.assert(
    fc.property(asciiText, (value) => expect(unitsOfText(value)).toBe(naiveUnits(value))),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});
