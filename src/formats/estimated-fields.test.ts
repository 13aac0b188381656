// What is read in the bytes of a request counts as many tokens as the parsed request.
import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { EstimatedFieldReader } from "./estimated-fields.ts";
import { estimateCountedTokens, estimateRequestTokens } from "./token-estimate.ts";
import { anyCharacter } from "../../test/support/characters.ts";

const reader = new EstimatedFieldReader(["max_tokens", "n"]);

function estimateOf(json: string): number {
  const { others, units, isCounted } = reader.read(Buffer.from(json));
  const estimate = estimateRequestTokens(others, units);
  if (isCounted) expect(estimateCountedTokens(units)).toBe(estimate);
  return estimate;
}

/** The oracle: parses everything. */
function parsedEstimateOf(json: string): number {
  const body: unknown = JSON.parse(json.replace(/^\ufeff/, ""));
  return estimateRequestTokens(isJsonObject(body) ? body : {});
}

const text = fc.oneof(
  fc.constantFrom(
    "",
    'He said "no"\n\n\n\\\\ ok',
    "schön",
    "漢字 and kana",
    "\u0001\b\f",
    "}],{[",
    "a\\",
    "\ud83d",
  ),
  fc.string({ maxLength: 60 }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.lorem({ maxCount: 12 }),
);
const part = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("text"), text }) },
  fc.record(
    {
      type: fc.constantFrom("text", "input_text", "output_text", "image", "refusal"),
      text: fc.oneof(text, fc.constant(null)),
      cache_control: fc.oneof(text, fc.record({ type: text }), fc.jsonValue()),
      source: fc.record({ type: fc.constant("text"), data: text }),
    },
    { requiredKeys: [] },
  ),
  fc.record({
    type: fc.constant("image_url"),
    image_url: fc.record({ url: text, detail: fc.constant("low") }),
  }),
);
const message = fc.record(
  {
    role: fc.constantFrom("user", "system", "tool"),
    content: fc.oneof(
      { weight: 4, arbitrary: text },
      { weight: 4, arbitrary: fc.array(part, { maxLength: 3 }) },
      fc.constant(null),
    ),
    name: text,
    tool_calls: fc.array(fc.record({ id: text, function: fc.record({ name: text, arguments: text }) }), {
      maxLength: 2,
    }),
  },
  { requiredKeys: ["role"] },
);
const body = fc.record(
  {
    model: text,
    messages: fc.oneof(
      { weight: 5, arbitrary: fc.array(message, { maxLength: 5 }) },
      fc.array(fc.oneof(text, fc.integer(), fc.constant(null), message), { maxLength: 3 }),
      text,
    ),
    max_tokens: fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    n: fc.nat({ max: 5 }),
    stream: fc.boolean(),
    metadata: fc.jsonValue(),
    tools: fc.array(fc.record({ name: text, input_schema: fc.jsonValue() }), { maxLength: 2 }),
    system: fc.oneof(text, fc.array(part, { maxLength: 2 })),
    generationConfig: fc.record({ responseSchema: fc.jsonValue() }),
    input: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

test("any request has the estimate of the parsed one, with any white space", () => {
  fc.assert(
    fc.property(body, fc.constantFrom("", " ", "\t", "\r\n"), (value, space) => {
      const json = `${space}${JSON.stringify(value, null, space)}${space}`;
      expect(estimateOf(json)).toBe(parsedEstimateOf(json));
    }),
    { numRuns: 1000 },
  );
});

test("messages with texts and lists of texts are not parsed", () => {
  const messages = [
    { role: "system", content: "one two" },
    { role: "user", content: [{ type: "text", text: "three", cache_control: { type: "ephemeral" } }] },
    { content: [{ type: "input_text", text: "four" }, { text: "schön" }], role: "user", name: "five" },
  ];
  const parse = spyOn(JSON, "parse");
  try {
    const { others, isCounted } = reader.read(Buffer.from(JSON.stringify({ messages })));
    expect({ others, isCounted }).toEqual({ others: {}, isCounted: true });
    // The text that is not ASCII.
    expect(parse.mock.calls).toEqual([['"schön"']]);
  } finally {
    parse.mockRestore();
  }
});

test("the other fields have the values of the parsed request", () => {
  fc.assert(
    fc.property(body, (value) => {
      const { others, further } = reader.read(Buffer.from(JSON.stringify(value)));
      const expected: JsonObject = JSON.parse(JSON.stringify(value)) as JsonObject;
      for (const name of ["tools", "system", "generationConfig", "input"])
        expect(others[name]).toEqual(expected[name]);
      expect(further).toEqual([expected["max_tokens"], expected["n"]]);
      expect(others["max_tokens"]).toBeUndefined();
      expect(others["stream"]).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

test("nothing of a request stays after `forget`", () => {
  reader.read(Buffer.from('{"tools":[{"name":"a"}],"max_tokens":"text","n":2}'));
  expect(reader.further).toEqual(["text", 2]);
  reader.forget();
  const { others, further, units, isCounted } = reader;
  expect({ others, further, units, isCounted }).toEqual({
    others: {},
    further: [undefined, undefined],
    units: 0,
    isCounted: true,
  });
});

describe("unusual spellings count as the parsed request", () => {
  test.each([
    ["an empty object", "{}"],
    ["a byte order mark", '\ufeff{"messages":[{"content":"one two"}]}'],
    ["a text that occurs twice", '{"messages":[{"content":"one two three","content":"four"}]}'],
    ["a name that occurs twice", '{"messages":[{"name":"one two three","name":"four","content":""}]}'],
    ["a part with two texts", '{"messages":[{"content":[{"type":"text","text":"one two","text":"three"}]}]}'],
    ["a part with two types", '{"messages":[{"content":[{"type":"text","type":"image","text":"one"}]}]}'],
    ["an image with a text", '{"messages":[{"content":[{"type":"image","text":"one two"}]}]}'],
    ["two lists of parts", '{"messages":[{"content":[{"text":"one two"}],"content":[{"text":"three"}]}]}'],
    ["a list and a text", '{"messages":[{"content":[{"text":"one two"}],"content":"three"}]}'],
    ["parts that are no objects", '{"messages":[{"content":["one two",{"type":"text","text":"three"},4]}]}'],
    ["an empty list of parts", '{"messages":[{"content":[ ]},{"content":[{}, { }]}]}'],
    ["fields that occur twice", '{"system":"one two three","system":"four"}'],
    ["escaped names of fields", '{"m\\u0065ssages":[{"content":"one two"}],"too\\u006cs":[{"a":"one two"}]}'],
    ["an escaped name in a message", '{"messages":[{"c\\u006fntent":"one two three"}]}'],
    [
      "escape sequences",
      '{"messages":[{"content":"\\"\\"\\"\\\\\\\\\\/\\/\\n\\n\\t\\r\\b\\f\\u0041\\u00e9"}]}',
    ],
    ["a name of every object", '{"messages":[{"__proto__":"one two"}],"__proto__":{"tools":"one two"}}'],
    ["nested lists", '{"messages":[[{"content":"one two"}],[["three"]]],"prompt":[1,2,[3]]}'],
    ["an empty list and an empty message", '{"messages":[],"system":[{}]}'],
    ["numbers and literals", '{"n":1e2,"tools":[1.50,true,null,-0],"max_tokens":10 ,"x":false}'],
  ])("%s", (_, json) => {
    expect(estimateOf(json)).toBe(parsedEstimateOf(json));
  });
});
