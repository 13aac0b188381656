// What is read in the bytes of a request counts as many tokens as the parsed request.
import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { EstimatedFieldReader } from "./estimated-fields.ts";
import { estimateCountedTokens, estimateRequestTokens } from "./token-estimate.ts";
import { anyCharacter } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

const reader = new EstimatedFieldReader(["max_tokens", "n"]);

/** Returns null if the request has to be parsed. */
function estimateOf(json: string): number | null {
  reader.forget();
  if (!reader.read(Buffer.from(json))) return null;
  const { others, units, isCounted } = reader;
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
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

/** A key or a text in JSON, of which some characters are escape sequences. */
function spelled(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return fc.tuple(value, fc.nat(40)).map(([plain, at]) => {
    const json = JSON.stringify(plain);
    const isPlain = !json.includes("\\") && plain.charCodeAt(at) < 128;
    return isPlain ? json.slice(0, at + 1) + escaped(plain.charAt(at)) + json.slice(at + 2) : json;
  });
}

const space = fc.constantFrom("", "", "", " ", "\n  ");

/** An object or array in JSON, also with keys that occur twice. */
function joined(items: fc.Arbitrary<string>, [open, close]: readonly [string, string]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(items, { maxLength: 4 }), space)
    .map(([parts, white]) => open + white + parts.join(`${white},${white}`) + white + close);
}

function field(names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const name = fc.constantFrom(...names);
  const key = fc.oneof({ weight: 9, arbitrary: name.map((plain) => `"${plain}"`) }, spelled(name));
  return fc.tuple(key, space, value).map(([spelling, white, json]) => `${spelling}${white}:${white}${json}`);
}

const anyJson = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  spelled(text),
);
const textJson = fc.oneof({ weight: 4, arbitrary: spelled(text) }, anyJson);
const typeJson = fc.oneof(
  fc.constantFrom('"text"', '"input_text"', '"output_text"', '"input_test"', '"output_test"'),
  anyJson,
);
const partJson = joined(
  fc.oneof(
    { weight: 3, arbitrary: field(["text"], textJson) },
    { weight: 2, arbitrary: field(["type"], typeJson) },
    field(["cache_control", "cache_context", "texts", "typ", "", "}", "]"], anyJson),
  ),
  ["{", "}"],
);
const contentJson = fc.oneof(
  textJson,
  joined(fc.oneof({ weight: 5, arbitrary: partJson }, anyJson), ["[", "]"]),
);
const messageJson = joined(
  fc.oneof(
    { weight: 3, arbitrary: field(["content"], contentJson) },
    { weight: 3, arbitrary: field(["role", "name"], textJson) },
    field(["contents", "names", "tool_calls", "", "}", "]"], anyJson),
  ),
  ["{", "}"],
);
const messagesJson = joined(fc.oneof({ weight: 5, arbitrary: messageJson }, anyJson), ["[", "]"]);
const LONG_NAME = "a_name_that_is_longer_than_all_others";
const requestJson = joined(
  fc.oneof(
    { weight: 4, arbitrary: field(["messages"], fc.oneof({ weight: 9, arbitrary: messagesJson }, anyJson)) },
    field(
      ["model", "max_tokens", "n", "stream", "message", "messaged", "toolx", "}", "", LONG_NAME],
      anyJson,
    ),
    field(["system", "tools", "prompt", "system_instruction", "generationConfig"], anyJson),
  ),
  ["{", "}"],
);

test("any spelling of a request has the estimate of the parsed one, or is to be parsed", () => {
  let parsed = 0;
  fc.assert(
    fc.property(requestJson, (json) => {
      const estimate = estimateOf(json);
      if (estimate !== null) expect(estimate).toBe(parsedEstimateOf(json));
      else {
        parsed++;
        expect(json).toMatch(/\\u|"messages"[^]*"messages"/);
      }
    }),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
  // Not most of them.
  expect(parsed).toBeLessThan(1500);
});

test("no text that is cut or changed makes the reader read on without end", () => {
  fc.assert(
    fc.property(
      requestJson,
      fc.nat(),
      fc.constantFrom(...Array.from('"\\{}[],: a\0')),
      (json, place, character) => {
        const bytes = Buffer.from(json);
        const at = place % bytes.length;
        for (const changed of [bytes.subarray(0, at), bytes.with(at, character.charCodeAt(0))]) {
          try {
            reader.read(changed);
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
          }
        }
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
  reader.forget();
});

test("messages with texts and lists of texts are not parsed", () => {
  const messages = [
    { role: "system", content: "one two" },
    { role: "user", content: [{ type: "text", text: "three", cache_control: { type: "ephemeral" } }] },
    { content: [{ type: "input_text", text: "four" }, { text: "schön" }], role: "user", name: "five" },
    { content: [{ type: "output_text", text: "six" }], role: "assistant" },
  ];
  reader.forget();
  const parse = spyOn(JSON, "parse");
  try {
    expect(reader.read(Buffer.from(JSON.stringify({ messages })))).toBe(true);
    expect(reader.isCounted).toBe(true);
    // The text that is not ASCII.
    expect(parse.mock.calls).toEqual([['"schön"']]);
  } finally {
    parse.mockRestore();
  }
});

test("messages in a row that are not plain are parsed together", () => {
  const plain = { role: "user", content: "one" };
  const call = { role: "assistant", content: null, tool_calls: [{ id: "é" }] };
  const result = { role: "tool", tool_call_id: "a", content: "schön" };
  const messages = [plain, call, result, plain, result];
  reader.forget();
  const parse = spyOn(JSON, "parse");
  try {
    reader.read(Buffer.from(JSON.stringify({ messages })));
    expect(parse.mock.calls).toEqual([[JSON.stringify([call, result])], [JSON.stringify([result])]]);
    expect(reader.others).toEqual({ messages: [call, result, result] });
  } finally {
    parse.mockRestore();
  }
});

test("the other fields have the values of the parsed request", () => {
  fc.assert(
    fc.property(body, (value) => {
      reader.forget();
      expect(reader.read(Buffer.from(JSON.stringify(value)))).toBe(true);
      const { others, further } = reader;
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
  reader.forget();
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

test("every request is to be parsed where the module cannot be used", () => {
  const { Module } = WebAssembly;
  let compiled = 0;
  const failing = function (): never {
    compiled++;
    throw new WebAssembly.CompileError("no SIMD");
  };
  Reflect.set(WebAssembly, "Module", failing);
  try {
    const withoutModule = new EstimatedFieldReader([]);
    expect(withoutModule.read(Buffer.from("{}"))).toBe(false);
    expect(withoutModule.read(Buffer.from("{}"))).toBe(false);
    expect(compiled).toBe(1);
  } finally {
    Reflect.set(WebAssembly, "Module", Module);
  }
});

describe("unusual spellings count as the parsed request", () => {
  test.each([
    ["an empty object", "{}"],
    ["a text that occurs twice", '{"messages":[{"content":"one two three","content":"four"}]}'],
    ["a name that occurs twice", '{"messages":[{"name":"one two three","name":"four","content":""}]}'],
    ["a part with two texts", '{"messages":[{"content":[{"type":"text","text":"one two","text":"three"}]}]}'],
    ["a part with two types", '{"messages":[{"content":[{"type":"text","type":"image","text":"one"}]}]}'],
    ["an image with a text", '{"messages":[{"content":[{"type":"image","text":"one two"}]}]}'],
    ["two lists of parts", '{"messages":[{"content":[{"text":"one two"}],"content":[{"text":"three"}]}]}'],
    ["a list and a text", '{"messages":[{"content":[{"text":"one two"}],"content":"three"}]}'],
    ["parts that are no objects", '{"messages":[{"content":["one two",{"type":"text","text":"three"},4]}]}'],
    ["another field of a part", '{"messages":[{"content":[{"text":"one","cache_context":"two three"}]}]}'],
    ["texts that look like the end", '{"messages":[{"content":["}]}"]},{"content":5,"}]}":"one"}]}'],
    ["an empty list of parts", '{"messages":[{"content":[ ]},{"content":[{}, { }]}]}'],
    ["fields that occur twice", '{"system":"one two three","system":"four"}'],
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

  test.each([
    ["a byte order mark", '\ufeff{"messages":[{"content":"one two"}]}'],
    ["escaped names of fields", '{"m\\u0065ssages":[{"content":"one two"}]}'],
    ["an escaped name that is long", `{"${LONG_NAME}\\u0065":1}`],
    ["two lists of messages", '{"messages":[],"messages":[]}'],
    ["a list and a text", '{"messages":[],"messages":""}'],
    ["more fields than are stored", `{${Array(1025).fill('"n":1').join(",")}}`],
    ["more texts than are stored", JSON.stringify({ messages: Array(1025).fill({ content: "é" }) })],
  ])("all of it is parsed for %s", (_, json) => {
    expect(estimateOf(json)).toBeNull();
  });
});
