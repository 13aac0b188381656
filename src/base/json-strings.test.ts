// Tests of the strings of a JSON text in bytes: the same as those that a regular expression finds in the text.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { JsonStrings, type ByteRange } from "./json-strings.ts";
import { anyCharacter } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

function stringsIn(bytes: Uint8Array, range: ByteRange = { start: 0, end: bytes.length }): string[] {
  const strings = new JsonStrings(bytes);
  const found: string[] = [];
  while (strings.isNextIn(range) && strings.next())
    found.push(Buffer.from(bytes.subarray(strings.start, strings.end)).toString());
  return found;
}

/** The content of all strings, quotes excluded and escapes as they are written. */
function naiveStringsIn(text: string): string[] {
  return Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"/gs), ([, content = ""]) => content);
}

const string = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom('"', "\\", "a", "é", "\n", "\u{1f600}"), maxLength: 60 }),
);
const value = fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 4 });

test("are found in order, keys included, whatever they contain", () => {
  fc.assert(
    fc.property(fc.dictionary(string, fc.array(fc.oneof(string, value))), fc.nat(3), (body, indent) => {
      const text = JSON.stringify(body, null, indent);
      expect(stringsIn(Buffer.from(text))).toEqual(naiveStringsIn(text));
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test("are those that begin in a range", () => {
  const text = '{"a":["b","c\\"d"],"e":"f"}';
  const range = { start: text.indexOf("["), end: text.indexOf("]") + 1 };
  expect(stringsIn(Buffer.from(text), range)).toEqual(["b", 'c\\"d']);
  expect(stringsIn(Buffer.from(text), { start: 0, end: 1 })).toEqual([]);
});

test("are found at any offset of the buffer, also after long runs of numbers and of escaped quotes", () => {
  const text = JSON.stringify({ numbers: Array(5000).fill(1), quotes: '"'.repeat(70_000), end: "x" });
  for (let offset = 0; offset < 4; offset++) {
    const bytes = new Uint8Array(Buffer.from(" ".repeat(offset) + text)).subarray(offset);
    expect(stringsIn(bytes)).toEqual(naiveStringsIn(text));
  }
});

test.each(['{"a":"b', '{"a":"b\\"', `{"a":"${'\\"'.repeat(100)}`])("%j does not end", (text) => {
  const strings = new JsonStrings(Buffer.from(text));
  expect(strings.next()).toBe(true);
  expect(strings.next()).toBe(false);
  expect(strings.isInvalid).toBe(true);
  expect(strings.start).toBe(6);
  expect(strings.next()).toBe(false);
});
