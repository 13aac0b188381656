// Finding the usage equals parsing all of the answer, whatever the answer holds.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mayTellUsage, usageInJson } from "./usage-json.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const find = (text: string) => usageInJson(bytes(text));

/** Texts that look like what is searched for, inside of strings. */
const trap = fc.constantFrom(
  '"usage"',
  '"usage":{"prompt_tokens":1}',
  '"usage":{"prompt_tokens":1}}',
  '\\"usage\\":{"a":1}}',
  "\\",
  "}",
  '{"usage":{}}',
  "usage",
  '"',
  'x","usage":{"a":1}}',
);
const text = fc.oneof(
  trap,
  fc.string({ unit: "grapheme" }),
  fc.array(trap).map((parts) => parts.join("")),
);
const key = fc.oneof({ weight: 2, arbitrary: fc.constant("usage") }, { weight: 3, arbitrary: text });
const { value } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, [], {}),
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
  object: fc.dictionary(key, tie("value"), { maxKeys: 4 }),
}));
const document = fc.array(fc.tuple(key, value), { maxLength: 5 }).map(Object.fromEntries);

/** Texts are not decoded: only numbers are of use. */
function byParsing(json: string): unknown {
  const { usage } = JSON.parse(Buffer.from(json).toString("latin1")) as { usage?: unknown };
  return typeof usage === "object" && usage !== null && !Array.isArray(usage) ? usage : null;
}

describe("usageInJson", () => {
  test("equals parsing, for any object and any spacing", () => {
    fc.assert(
      fc.property(document, fc.constantFrom(undefined, 1, "\t", "\r\n "), (content, indent) => {
        const json = JSON.stringify(content, null, indent);
        expect(find(json)).toEqual(byParsing(json) as null);
        expect(find(`${json}\n `)).toEqual(byParsing(json) as null);
      }),
      { numRuns: 1000 },
    );
  });

  test("equals parsing where a key is doubled", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 12 }), (pairs) => {
        const fields = pairs.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`);
        const json = `{${fields.join(",")}}`;
        expect(find(json)).toEqual(byParsing(json) as null);
      }),
      { numRuns: 1000 },
    );
  });

  test("never throws, and finds nothing in an answer that broke off", () => {
    const json = JSON.stringify({ choices: [{ text: '"usage":{"a":1}}' }], usage: { a: { b: "}" } }, z: 1 });
    for (let end = 0; end < json.length; end++) expect(find(json.slice(0, end))).toBeNull();
    fc.assert(fc.property(fc.uint8Array(), (any) => void usageInJson(any)));
  });

  test("finds it in the end of an answer whose beginning is missing", () => {
    const json = JSON.stringify({
      a: ['\\"usage', { usage: { no: 1 } }],
      usage: { prompt_tokens: 7 },
      z: "}",
    });
    const from = json.lastIndexOf(',"usage"');
    for (let start = 0; start <= from; start++)
      expect(usageInJson(bytes(json).subarray(start))).toEqual({ prompt_tokens: 7 });
  });

  test("an answer full of other usages costs no more than parsing it", () => {
    const nested = JSON.stringify({
      usage: { right: 1 },
      list: { "": Array(20_000).fill({ usage: { x: 1 } }) },
    });
    expect(find(nested)).toEqual({ right: 1 });
    const doubled = `{"usage":{"right":1},"in":{${'"usage":{"x":1},'.repeat(100_000)}"usage":1}}`;
    // Looking from every one of them to the end would take minutes.
    expect(find(doubled)).toEqual({ right: 1 });
  });
});

describe("mayTellUsage", () => {
  test.each([
    ['{"usage":null}', false],
    ['{"usage": null}', false],
    ['{"a":1}', false],
    ["", false],
    ['{"usage":{"a":1}}', true],
    ['{"usage" : null}', true],
    ['{"a":{"usage":null},"usage":{}}', true],
    ['"usage"', true],
  ])("%s: %p", (json, expected) => {
    expect(mayTellUsage(bytes(json))).toBe(expected);
  });
});
