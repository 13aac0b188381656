// The texts of messages that the WebAssembly module reads count as many units as the decoded texts.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createRequestTexts, MAX_INPUT_BYTES, TEXT_TO_DECODE } from "./estimated-fields-module.ts";
import { unitsOfText } from "./text-tokens.ts";
import { runs } from "../../test/support/long-form.ts";

const texts = createRequestTexts(["messages"], 0);

/** Returns the units of a request with this text, which is spelled in JSON; null if it has to be decoded. */
function readUnits(spelling: string): number | null {
  const json = `{"messages":[{"content":${spelling}}]}`;
  const units = texts?.read(Buffer.from(json)) ?? -1;
  if (texts?.foundCount === 0) return units;
  const start = json.indexOf(spelling);
  expect(texts?.foundCount).toBe(1);
  expect([...(texts?.found.subarray(0, 3) ?? [])]).toEqual([
    TEXT_TO_DECODE,
    start,
    start + Buffer.byteLength(spelling),
  ]);
  expect(units).toBe(0);
  return null;
}

test("the module is used where tests run", () => {
  expect(texts).not.toBeNull();
});

const asciiText = fc.oneof(
  fc.string({ unit: "grapheme-ascii", maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(...Array.from('aekrstXY17 \t\n"\\/.,_-')), maxLength: 80 }),
);

/** Longer than the blocks that the module reads, with runs of one class that end anywhere in them. */
const longAsciiText = fc
  .array(
    fc.tuple(
      fc.constantFrom("a", "k", "Xy", "HTTP", "7", " ", "\t", "\n", ".", "-", '"}', "\\", "({[<!"),
      fc.nat(20),
    ),
    { maxLength: 200 },
  )
  .map((pieces) => pieces.map(([part, count]) => part.repeat(count)).join(""));

test("a text is read as it is read when it is decoded", () => {
  fc.assert(
    fc.property(fc.oneof(asciiText, longAsciiText), (value) =>
      expect(readUnits(JSON.stringify(value))).toBe(unitsOfText(value)),
    ),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
});

test("nothing of a text counts for the next one", () => {
  const parts = ["a", "k", "X", "XXa", "7", " ", "a ", "\t", "a\t", "\n", ".", "a.", ".,", "a.,!"];
  for (const part of parts)
    for (const next of ["a", "kkkk", "Xa", "77", "  ", "\t\t", "\n", ".", ".,", ".,!?;"]) {
      // Ends with a block.
      const first = part.repeat(64).slice(-64);
      const json = JSON.stringify({ messages: [first, next].map((content) => ({ content })) });
      expect(texts?.read(Buffer.from(json))).toBe(unitsOfText(first) + unitsOfText(next));
    }
});

test("texts with other characters or rare escape sequences are to be decoded", () => {
  for (const other of ['"é"', '"漢"', '"\\u0041"', '"\\b"', `"${"a".repeat(100)}é"`])
    expect(readUnits(other)).toBeNull();
});

test("requests up to the limit are read, and no larger ones", () => {
  const [before, after] = ['{"messages":[{"content":"', '"}]}'];
  const length = MAX_INPUT_BYTES - before.length - after.length;
  const value = "A text of 16 B, ".repeat(MAX_INPUT_BYTES / 16).slice(0, length);
  expect(texts?.read(Buffer.from(before + value + after))).toBe(unitsOfText(value));
  expect(texts?.read(Buffer.from(`${before}${value}a${after}`))).toBe(-1);
});

test("nothing after a request that is not JSON is read, whatever an earlier one has left there", () => {
  for (const left of [null, '"', "{", ":", " "]) {
    const reader = createRequestTexts(["messages"], 0);
    if (left !== null) reader?.read(Buffer.alloc(MAX_INPUT_BYTES, left));
    for (const json of [
      '{"a":["x}',
      '{"messages":[{"role":"x}]}',
      '{"messages":["\\',
      '{"messages":[{"',
      '{"',
    ])
      expect([left, json, reader?.read(Buffer.from(json))]).toEqual([left, json, -1]);
  }
});
