// Reading the usage from the bytes of a body gives the same result as parsing the body, whatever the body contains.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject } from "../base/json.ts";
import { ANTHROPIC } from "./anthropic/anthropic-format.ts";
import { OPENAI } from "./openai/openai-format.ts";
import type { Counters, UsageReader } from "./usage-reader.ts";
import { grapheme } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

const READERS: [string, UsageReader][] = [OPENAI, ANTHROPIC].map(({ name, usage }) => [name, usage]);
const COUNTERS = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "prompt_tokens_details",
  "cached_tokens",
  "cache_creation",
  "ephemeral_1h_input_tokens",
  "output_tokens_details",
  "thinking_tokens",
  "reasoning_tokens",
];

const bytes = (text: string) => new TextEncoder().encode(text);

/** Strings that look like a usage object. */
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
  fc.string({ unit: grapheme }),
  fc.array(trap).map((parts) => parts.join("")),
);
const key = fc.oneof(
  { weight: 2, arbitrary: fc.constant("usage") },
  { weight: 3, arbitrary: fc.constantFrom(...COUNTERS) },
  { weight: 2, arbitrary: text },
);
const { value } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.nat(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, [], {}),
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
  object: fc.dictionary(key, tie("value"), { maxKeys: 4 }),
}));
const document = fc.array(fc.tuple(key, value), { maxLength: 5 }).map(Object.fromEntries);

describe.each(READERS)("readBody of %s", (_, reader) => {
  const tokensOf = (counters: Counters | null) => (counters === null ? null : reader.toTokenCounts(counters));
  const find = (json: string) => tokensOf(reader.readBody(bytes(json)));
  const findByParsing = (json: string) => {
    const { usage } = JSON.parse(json) as { usage?: unknown };
    return tokensOf(isJsonObject(usage) ? reader.countersOf(usage) : null);
  };

  test("equals parsing, for any object and any white space", () => {
    fc.assert(
      fc.property(document, fc.constantFrom(undefined, 1, "\t", "\r\n "), (content, indent) => {
        const json = JSON.stringify(content, null, indent);
        expect(find(json)).toEqual(findByParsing(json));
        expect(find(`${json}\n `)).toEqual(findByParsing(json));
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
  });

  test("equals parsing if a key is duplicated", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 12 }), (pairs) => {
        const fields = pairs.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`);
        const json = `{${fields.join(",")}}`;
        expect(find(json)).toEqual(findByParsing(json));
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
  });

  test("equals parsing for all spellings of numbers and names", () => {
    const number = fc.constantFrom(
      "7",
      "0",
      "-7",
      "1e2",
      "1E+2",
      "7.0",
      "0.5",
      "12345678901234567890",
      "null",
      '"7"',
      "[7]",
      '{"prompt_tokens":9,"total_tokens":99}',
      '{"cached_tokens":3,"reasoning_tokens":2,"thinking_tokens":4,"ephemeral_1h_input_tokens":5}',
      '{"cached_tokens":1e1}',
      '{"x":{"cached_tokens":3},"cached_tokens" : 2}',
      '[{"cached_tokens":3}]',
      '"prompt_tokens_details"',
      '"prompt_tokens"',
      '["total_tokens",8]',
    );
    const name = fc.oneof(
      fc.constantFrom(...COUNTERS).map((each) => JSON.stringify(each)),
      fc.constantFrom('"prompt\\u005ftokens"', '"prompt_tokens "', '""', '"x"'),
    );
    const blank = fc.constantFrom("", "", " ", "\r\n\t");
    const field = fc
      .tuple(name, blank, blank, number, blank)
      .map(([each, a, b, count, c]) => `${each}${a}:${b}${count}${c}`);
    fc.assert(
      fc.property(fc.array(field), fc.array(field), blank, (inside, after, space) => {
        const rest = after.map((each) => `,${each}`).join("");
        const json = `{"a":"\\"usage\\"","usage"${space}:${space}{${space}${inside.join(",")}}${space}${rest}}${space}`;
        expect(find(json)).toEqual(findByParsing(json));
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
  });

  test("never throws, and finds no usage in a truncated body", () => {
    const json = JSON.stringify({
      choices: [{ text: '"usage":{"a":1}}' }],
      usage: { prompt_tokens: 1, input_tokens: 1, b: { c: "}" } },
      z: 1,
    });
    for (let end = 0; end < json.length; end++) expect(find(json.slice(0, end))).toBeNull();
    fc.assert(fc.property(fc.uint8Array(), (any) => void reader.readBody(any)));
  });

  test("finds usage in the end of a body whose beginning is missing", () => {
    const json = JSON.stringify({
      a: ['\\"usage', { usage: { no: 1 } }],
      usage: { prompt_tokens: 7, input_tokens: 7 },
      z: "}",
    });
    const from = json.lastIndexOf(',"usage"');
    for (let start = 0; start <= from; start++)
      expect(tokensOf(reader.readBody(bytes(json).subarray(start)))).toMatchObject({ inputTokens: 7 });
  });

  test("a body with many other usage objects takes no longer than parsing it", () => {
    const nested = JSON.stringify({
      usage: { prompt_tokens: 1, input_tokens: 1 },
      list: { "": Array(20_000).fill({ usage: { prompt_tokens: 2 } }) },
    });
    expect(find(nested)).toMatchObject({ inputTokens: 1 });
    const duplicated = `{"usage":{"prompt_tokens":1,"input_tokens":1},"in":{${'"usage":{"prompt_tokens":2},'.repeat(100_000)}"usage":1}}`;
    // Scanning from each of them to the end would take minutes.
    expect(find(duplicated)).toMatchObject({ inputTokens: 1 });
  });
});

describe("mayContainUsage", () => {
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
    expect(OPENAI.usage.mayContainUsage(bytes(json))).toBe(expected);
  });
});
