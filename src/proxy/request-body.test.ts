// The fields of a request body are those that parsing it yields, whatever the body is.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { NO_FIELDS, RequestBody, type BodyFields } from "./request-body.ts";
import { runs } from "../../test/support/long-form.ts";

function parsedFields(text: string): BodyFields {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) return { ...NO_FIELDS, modelProblem: expect.any(Object) };
  const { model, stream, messages, prompt, stream_options: streamOptions, user, models, fallbacks } = value;
  return {
    isObject: true,
    model: typeof model === "string" && model !== "" ? model : null,
    formModel: null,
    modelProblem:
      model === undefined || model === null || typeof model === "string" ? null : expect.any(Object),
    furtherModels: [models ?? [], fallbacks ?? []].flat(),
    wantsStream: stream === true,
    hasMessages: Array.isArray(messages),
    hasPrompt: prompt !== undefined,
    generation: { maxOutputTokens: null, choices: 1, isBackground: false, reasoning: null, offFields: [] },
    streamOptions,
    user: typeof user === "string" && user !== "" ? user : null,
    // The test of the scanner covers it.
    mayHaveIds: expect.any(Boolean),
    // Not traced.
    sampling: null,
  };
}

const scan = (bytes: Uint8Array, isJson: boolean) =>
  RequestBody.scan({ bytes, isJson, contentType: null, isTraced: false });

const scanOnce = (text: string, isTraced = false) =>
  RequestBody.scanOnce({ bytes: Buffer.from(text), isJson: true, contentType: null, isTraced });

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test("fields equal those of the parsed body", () => {
  const name = fc.constantFrom(
    "model",
    "stream",
    "messages",
    "prompt",
    "stream_options",
    "user",
    "models",
    "fallbacks",
    "other",
  );
  const value = fc.oneof(
    fc.json(),
    fc.constantFrom("true", "[]", '"gpt-4o"', '"m\\u00e4"', '""', "null", "{}"),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(name, value), { maxLength: 8, selector: ([key]) => key }),
      (fields) => {
        const text = `{${fields.map(([key, json]) => `"${key}":${json}`).join(",")}}`;
        const body = scan(Buffer.from(text), true);
        expect(body.fields).toEqual(parsedFields(text));
        expect(body.json).toEqual(JSON.parse(text));
        // The second one is known.
        for (let count = 0; count < 2; count++) {
          const once = scanOnce(text);
          expect([once.fields, once.digest]).toEqual([body.fields, body.digest]);
        }
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

describe("JSON", () => {
  test.each(["", " ", "{", '{"model":1}x', "\u00a0{}"])("%j is rejected", (text) => {
    expect(() => scan(Buffer.from(text), true)).toThrow(GatehouseError);
    for (let count = 0; count < 2; count++) expect(() => scanOnce(text)).toThrow(GatehouseError);
  });

  test.each(["[1]", "1", "null", '"text"'])("%s has no fields", (text) => {
    const body = scan(Buffer.from(text), true);
    expect(body.fields).toEqual({ ...NO_FIELDS, modelProblem: expect.any(Object) });
    expect(body.json).toBeNull();
    expect(body.text).toBe(text);
  });

  test("a body that is nested more than 512 levels deep is rejected", () => {
    expect(scan(Buffer.from(nested(512)), true).fields.isObject).toBe(false);
    expect(() => scan(Buffer.from(nested(513)), true)).toThrow("512 levels");
  });

  test.each([
    '{"model":"allowed","model":"other"}',
    '{"model":"allowed","mod\\u0065l":"other"}',
    '{"stream":true,"a":1,"stream":false}',
    '{"models":["allowed"],"models":["other"]}',
    '{"fallbacks":["allowed"],"fallbacks":["other"]}',
  ])("%s is rejected, because servers disagree on which field counts", (text) => {
    expect(() => scan(Buffer.from(text), true)).toThrow("twice");
  });
});

test("a known body is not scanned again, unless it is traced or its fields are long", () => {
  const text = '{"model":"m","temperature":0.5,"stream_options":{"include_usage":true}}';
  const { fields } = scanOnce(text);
  expect(scanOnce(text).fields).toBe(fields);
  expect(scanOnce(text, true).fields.sampling).toMatchObject({ temperature: 0.5 });
  expect(scanOnce(`${text} `).fields).not.toBe(fields);
  for (const name of ["model", "user", "stream_options", "models"]) {
    const long = JSON.stringify({ [name]: "a".repeat(1000) });
    expect(scanOnce(long).fields).not.toBe(scanOnce(long).fields);
    expect(scanOnce(long).fields).toEqual(parsedFields(long));
  }
});

test("a body that is not JSON is text if it is UTF-8", () => {
  const body = scan(Buffer.from('{"model":"m"'), false);
  expect(body.fields).toEqual(NO_FIELDS);
  expect(body.json).toBeNull();
  expect(body.text).toBe('{"model":"m"');
  expect(scan(new Uint8Array([0xff]), false).text).toBeNull();
});
