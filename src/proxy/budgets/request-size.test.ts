// The output that a request allows, whatever its fields contain, and however its bytes are read.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../base/json.ts";
import type { BoundingApi } from "./output-bounds.ts";
import { mayBeObject, parsedRequestSize, requestSizeIn, UNKNOWN_SIZE } from "./request-size.ts";
import { runs } from "../../../test/support/long-form.ts";

const MESSAGES = [{ role: "user", content: "Good morning" }];

function outputOf(fields: string, api: BoundingApi | null = "chat") {
  const json = `{"model":"m","messages":${JSON.stringify(MESSAGES)},${fields}}`;
  const { maxOutputTokens, choices } = requestSizeIn(Buffer.from(json), api);
  return [maxOutputTokens, choices];
}

describe("the output of a request with", () => {
  test.each([
    ['"max_tokens":50', [50, 1]],
    ['"max_tokens":"50","n":"20"', [50, 20]],
    ['"max_tokens":10,"max_completion_tokens":70', [70, 1]],
    ['"max_tokens":70,"max_completion_tokens":10', [70, 1]],
    ['"max_tokens":10,"n":3,"best_of":5', [10, 5]],
    ['"max_tokens":0', [null, 1]],
    ['"max_tokens":-1,"n":-1', [null, 1]],
    ['"max_tokens":2.5,"n":2.5', [null, 3]],
    ['"max_tokens":"4_000","n":"1_0"', [4000, 10]],
    ['"n":1e2', [null, 100]],
    ['"n":"1e2"', [null, 100]],
    ['"n":"\u0665"', [null, 100_000_000]],
    ['"n":"5 or 6"', [null, 100_000_000]],
    ['"n":"000000000000000000000000000005"', [null, 100_000_000]],
    ['"max_tokens":1e308', [null, 1]],
    ['"max_tokens":1e999', [null, 1]],
    ['"max_tokens":"","n":"many"', [null, 1]],
    ['"max_tokens":true,"n":[3]', [null, 1]],
    ['"n":100000', [null, 100_000]],
    ['"n":1000000000', [null, 100_000_000]],
    ['"n":1e308', [null, 100_000_000]],
    ['"metadata":{"max_tokens":9,"n":9}', [null, 1]],
    // Servers differ about which of two limits they read.
    ...["100000001", "-1", "0", "2.5", "1e999", '"many"', '""', "true", "[9]", "{}"].map(
      (value): [string, number[]] => [`"max_tokens":1,"max_completion_tokens":${value}`, [100_000_000, 1]],
    ),
    ['"max_tokens":-1,"max_completion_tokens":1', [100_000_000, 1]],
    ['"max_tokens":-1,"max_completion_tokens":0', [null, 1]],
    ['"max_tokens":1,"max_completion_tokens":null', [1, 1]],
    ['"max_tokens":1,"max_output_tokens":-1', [1, 1]],
    ['"max_tokens":7,"max_tokens":9', [9, 1]],
  ])("%s", (fields, expected) => {
    expect(outputOf(fields)).toEqual(expected);
  });
});

describe("the output of a body with", () => {
  test.each<[string, BoundingApi | null, (number | null)[]]>([
    ['{"prompt":["a","b","c"],"max_tokens":50,"n":2}', "completions", [50, 6]],
    ['{"prompt":[[1,2],[3]],"max_tokens":50}', "completions", [50, 2]],
    ['{"prompt":[1,2,3],"max_tokens":50}', "completions", [50, 1]],
    ['{"prompt":[],"max_tokens":50}', "completions", [50, 1]],
    ['{"prompt":"a","max_tokens":50}', "completions", [50, 1]],
    ['{"contents":[],"generationConfig":{"maxOutputTokens":50,"candidateCount":3}}', null, [50, 3]],
    ['{"contents":[],"generation_config":{"max_output_tokens":50,"candidate_count":3}}', null, [50, 3]],
    [
      '{"contents":[],"generation_config":{"maxOutputTokens":50},"generationConfig":{"max_output_tokens":9}}',
      null,
      [50, 1],
    ],
    ['{"max_tokens":1,"generationConfig":{"maxTokens":1}}', "generate_content", [null, 1]],
    [
      '{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":0}}',
      "generate_content",
      [100_000_000, 1],
    ],
    ['{"max_tokens":1,"inferenceConfig":{"maxTokens":50}}', "converse", [50, 1]],
    ['{"max_tokens":1,"max_completion_tokens":1,"generationConfig":{"maxTokens":1}}', "converse", [null, 1]],
    ['{"max_tokens":1,"generationConfig":{"maxOutputTokens":50}}', "generate_content", [50, 1]],
    ['{"max_tokens":1,"inferenceConfig":{"maxOutputTokens":1}}', "generate_content", [null, 1]],
    ['{"max_tokens":5,"max_output_tokens":1,"generationConfig":{"maxOutputTokens":9}}', "chat", [5, 1]],
    ['{"max_output_tokens":1,"generationConfig":{"maxOutputTokens":1}}', "chat", [null, 1]],
  ])("%s", (json, operation, expected) => {
    const bytes = Buffer.from(json);
    for (const size of [requestSizeIn(bytes, operation), parsedRequestSize(bytes, operation)])
      expect([size.maxOutputTokens, size.choices]).toEqual(expected);
  });
});

test("the bytes of a body have the size of the parsed body, which is a positive number of choices and tokens", () => {
  const value = fc.oneof(
    fc.nat({ max: 1000 }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, 1e8, 1e8 + 1, 1e15, 1e308, "7", "-7", "1e3", "0x10", "x", ""),
  );
  const name = fc.constantFrom("max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of");
  const operation = fc.constantFrom<(BoundingApi | null)[]>(
    "chat",
    "completions",
    "messages",
    "responses",
    null,
  );
  const config = fc.record({ maxOutputTokens: value, candidateCount: value }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.option(config), operation, (fields, gemini, each) => {
      const body: JsonObject = { messages: MESSAGES, ...fields, ...(gemini && { generationConfig: gemini }) };
      const bytes = Buffer.from(JSON.stringify(body));
      const size = requestSizeIn(bytes, each);
      expect(size).toEqual(parsedRequestSize(bytes, each));
      const { maxOutputTokens, choices } = size;
      for (const count of [maxOutputTokens ?? 1, choices]) {
        expect(Number.isInteger(count)).toBe(true);
        expect(count).toBeGreaterThanOrEqual(1);
        expect(count).toBeLessThanOrEqual(1e8);
      }
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test("the last ones of fields that occur twice count", () => {
  const bytes = Buffer.from(
    '{"messages":[{"content":"one two"}],"n":3,"n":2,"messages":[{"content":"three"}]}',
  );
  const single = Buffer.from('{"messages":[{"content":"three"}],"n":2}');
  expect(requestSizeIn(bytes, "chat")).toEqual(requestSizeIn(single, "chat"));
});

test("what a request had does not count for the next one", () => {
  requestSizeIn(Buffer.from('{"messages":[{"content":"one","id":"a"}],"max_tokens":5,"n":2}'), "chat");
  expect(requestSizeIn(Buffer.from("{}"), "chat")).toEqual(parsedRequestSize(Buffer.from("{}"), "chat"));
});

test("a body that is not declared as JSON has a size if it is a JSON object", () => {
  const known = { maxOutputTokens: 7, choices: 1 };
  for (const text of ['{"max_tokens":7}', ' \r\n\t{"max_tokens":7}', '\ufeff {"max_tokens":7}\n']) {
    expect(mayBeObject(Buffer.from(text))).toBe(true);
    expect(parsedRequestSize(Buffer.from(text), "chat")).toMatchObject(known);
  }
  for (const text of ["", "   ", "[{}]", "--x", "RIFF{", '"{}"', "\ufeff"])
    expect(mayBeObject(Buffer.from(text))).toBe(false);
  for (const text of ["{", '{"max_tokens":7', "{} {}", "{\x80}", "[]"])
    expect(parsedRequestSize(Buffer.from(text, "latin1"), "chat")).toEqual({
      ...UNKNOWN_SIZE,
      fileTokens: text === "" ? 0 : 1,
    });
});
