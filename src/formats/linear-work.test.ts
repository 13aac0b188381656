// The work of reading the texts, calls and ids of a message grows with its size, and no faster, whatever it contains often: elements of a list,
// equal members of an object, or levels.
import { test } from "bun:test";
import fc from "fast-check";
import { expectLinear } from "../../test/support/counted-work.ts";
import { runs } from "../../test/support/long-form.ts";
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument } from "../base/json-nodes.ts";
import { FORMAT_NAMES } from "./format-names.ts";
import { formatNamed } from "./registry.ts";
import { RequestTextReader } from "./request-text-reader.ts";
import type { TextSink } from "./text-channels.ts";

const ignore = () => undefined;
const SINK: TextSink = {
  ...{ text: ignore, whole: ignore, repeat: ignore, open: ignore, probabilities: ignore },
  ...{ end: ignore, number: ignore },
};

function readRequest(json: JsonDocument): void {
  new RequestTextReader(json).read();
}

function readResponse(read: () => void): void {
  try {
    read();
  } catch (error) {
    // A response that is rejected.
    if (!(error instanceof GatehouseError)) throw error;
  }
}

const READERS: Readonly<Record<string, (json: JsonDocument) => void>> = {
  request: readRequest,
  ...Object.fromEntries(
    FORMAT_NAMES.flatMap((name) => {
      const { texts } = formatNamed(name);
      return [
        [
          `response of ${name}`,
          (json: JsonDocument) => readResponse(() => texts.readWhole(json, SINK, false)),
        ],
        [
          `event of ${name}`,
          (json: JsonDocument) => readResponse(() => texts.openStream(2).read(json, SINK, null)),
        ],
      ];
    }),
  ),
};

const list = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at)).join(",");
const strings = (name: string, count: number) => list(count, (at) => `"${name}":"${at.toString(36)}"`);
const same = (name: string, count: number) => list(count, () => `"${name}":"a"`);
const messages = (...all: string[]) => `{"messages":[${all.join(",")}]}`;
const assistant = (...blocks: string[]) => `{"role":"assistant","content":[${blocks.join(",")}]}`;
const nested = (count: number, name: string, inner: string) =>
  `{"${name}":`.repeat(count) + inner + "}".repeat(count);

test.each<[string, keyof typeof READERS, (count: number) => string]>([
  [
    "names and ids of a call",
    "request",
    (count) =>
      messages(assistant(`{"type":"function_call",${strings("name", count)},${strings("id", count)}}`)),
  ],
  [
    "names of a call and equal ids of its result",
    "request",
    (count) =>
      messages(
        assistant(`{"type":"tool_use","id":"a",${strings("name", count)}}`),
        `{"role":"tool","content":"x",${same("tool_call_id", count)}}`,
      ),
  ],
  [
    "calls with one id, and their results",
    "request",
    (count) =>
      messages(
        assistant(list(count, (at) => `{"type":"tool_use","id":"a","name":"${at}"}`)),
        list(count, () => '{"role":"tool","tool_call_id":"a"}'),
      ),
  ],
  [
    "functions of a call",
    "request",
    (count) => messages(`{${list(count, (at) => `"function":{"name":"${at}"}`)}}`),
  ],
  ["arguments of a call", "request", (count) => messages(`{${list(count, () => '"arguments":"{}"')}}`)],
  ["contents of a form", "request", (count) => messages(`{${list(count, () => '"content":{}')}}`)],
  ["outputs of a call", "request", (count) => messages(`{${list(count, () => '"output":[]')}}`)],
  ["files of an object", "request", (count) => messages(`{"x":{${same("data", count)}}}`)],
  ["files of the body", "request", (count) => `{${same("data", count)}}`],
  [
    "names of a function and of its response",
    "request",
    (count) =>
      messages(`{"functionResponse":{${strings("name", count)},"response":{${strings("name", count)}}}}`),
  ],
  [
    "levels of a result",
    "request",
    (count) =>
      messages(`{"role":"tool","content":${nested(count, "content", `"${"a".repeat(100 * count)}"`)}}`),
  ],
  ["objects with unusual names", "event of openai", (count) => `{"x":[${list(count, () => '{"é":1}')}]}`],
  [
    "objects with unusual names beside texts",
    "event of gemini",
    (count) =>
      `{"candidates":[{"content":{"parts":[${list(count, () => '{"text":"a"}')}]}}],"x":[${list(count, () => '{"é":1}')}]}`,
  ],
])("%s", (_, reader, jsonOf) => {
  expectLinear(jsonOf, READERS[reader] ?? readRequest);
});

const NAMES = [
  ...["messages", "content", "text", "role", "type", "name", "id", "tool_calls", "function", "arguments"],
  ...["input", "output", "data", "mimeType", "tool_use_id", "tool_call_id", "parts", "functionResponse"],
  ...["response", "choices", "delta", "message", "item", "logprobs", "token", "top_logprobs", "candidates"],
  ...["functionCall", "partialArgs", "args", "summary", "content_block", "action", "é"],
];
const TYPES = [
  ...["tool_use", "tool_result", "function_call", "function_call_output", "message", "reasoning"],
  ...["content_block_start", "content_block_delta", "response.completed", "response.output_item.done"],
];

/** `#` becomes the position of the item. */
const value = fc.oneof(
  fc.constantFrom('"a"', '"#"', '"tool"', '"assistant"', "1", "{}", "[]", '{"name":"#","id":"#"}'),
  fc.constantFrom(...TYPES).map((type) => `"${type}"`),
  fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...NAMES)).map(([a, b]) => `{"${a}":{"${b}":"#"}}`),
);
const member = fc.tuple(fc.constantFrom(...NAMES), value).map(([name, each]) => `"${name}":${each}`);
const members = fc.array(member, { minLength: 1, maxLength: 4 }).map((all) => all.join(","));
/** A list with many items, an object with many members, or one with many levels. */
const part = fc
  .tuple(fc.constantFrom("items", "members", "levels"), fc.constantFrom(...NAMES), members)
  .map(([kind, name, often]) => (count: number) => {
    const filled = (at: number) => often.replaceAll("#", at.toString(36));
    if (kind === "items") return `[${list(count, (at) => `{${filled(at)}}`)}]`;
    return kind === "members" ? `{${list(count, filled)}}` : nested(count, name, `{${filled(0)}}`);
  });
const body = fc.tuple(fc.array(fc.constantFrom(...NAMES), { maxLength: 4 }), members, part, part);

test.each(Object.entries(READERS))("anything that occurs often in a %s", (_, read) => {
  fc.assert(
    fc.property(body, ([path, beside, first, second]) => {
      const around = (inner: string) =>
        path.reduceRight((within, name) => `[{${beside},"${name}":${within}}]`, inner);
      const jsonOf = (count: number) =>
        `{${beside},"messages":[${around(first(count))},${around(second(count))}],"input":${second(count)}}`;
      expectLinear(jsonOf, read);
    }),
    { numRuns: runs({ short: 4, long: 500 }) },
  );
});
