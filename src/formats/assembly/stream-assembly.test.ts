// Whole responses survive the conversion to a stream and back, and streams that are not complete are never assembled.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../base/json.ts";
import { assembleStream, assemblyOf, hasLargeNumber } from "./stream-assembly.ts";
import type { Operation } from "../operations.ts";
import { grapheme } from "../../../test/support/characters.ts";

const text = fc.string({ unit: grapheme, maxLength: 12 });
const someText = fc.string({ unit: grapheme, minLength: 1, maxLength: 12 });
const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.oneof(text, fc.integer(), fc.boolean()), {
  maxKeys: 3,
});
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

const toolCall = fc.record({ id: someText, name: someText, input }).map(({ id, name, input: given }) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(given) },
}));
const chat = fc
  .array(
    fc.record({
      content: fc.option(someText),
      reasoning_content: fc.option(someText),
      calls: fc.array(toolCall, { maxLength: 3 }),
      finish_reason: fc.constantFrom("stop", "length", "tool_calls"),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((choices) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: choices.map(({ content, reasoning_content, calls, finish_reason }, index) => ({
      index,
      message: {
        role: "assistant",
        // An empty first delta makes a missing text an empty one.
        content: content ?? "",
        ...(reasoning_content !== null && { reasoning_content }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: null,
      finish_reason,
    })),
    usage,
  }));

const completion = fc.array(text, { minLength: 1, maxLength: 3 }).map((texts) => ({
  id: "cmpl-1",
  object: "text_completion",
  created: 1,
  model: "m",
  choices: texts.map((each, index) => ({ index, text: each, logprobs: null, finish_reason: "stop" })),
  usage,
}));

const block = fc.oneof(
  text.map((each): JsonObject => ({ type: "text", text: each })),
  text.map((each): JsonObject => ({
    type: "text",
    text: each,
    citations: [{ type: "char_location", cited_text: each }],
  })),
  fc.record({ type: fc.constant("thinking"), thinking: text, signature: text }),
  fc.record({ type: fc.constant("redacted_thinking"), data: text }),
  fc.record({ type: fc.constant("tool_use"), id: someText, name: someText, input }),
);
const message = fc.array(block, { maxLength: 4 }).map((content) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 4 },
}));

const item = fc.oneof(
  text.map((each): JsonObject => ({
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text: each, annotations: [] }],
  })),
  fc.record({
    id: fc.constant("fc_1"),
    type: fc.constant("function_call"),
    status: fc.constant("completed"),
    call_id: someText,
    name: someText,
    arguments: input.map((given) => JSON.stringify(given)),
  }),
  text.map((each): JsonObject => ({
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: each }],
  })),
);
const response = fc.array(item, { maxLength: 3 }).map((output) => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  model: "m",
  output,
  usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
}));

const CASES: readonly [Operation, fc.Arbitrary<JsonObject>][] = [
  ["chat", chat],
  ["completions", completion],
  ["messages", message],
  ["responses", response],
];

describe.each(CASES)("%s", (operation, arbitrary) => {
  const assembly = assemblyOf(operation);
  if (assembly === null) throw new Error("no assembly");

  test("a whole response is the same after it was a stream", () => {
    fc.assert(
      fc.property(arbitrary, (whole) => {
        fc.pre(!hasLargeNumber(JSON.stringify(whole)));
        const stream = Buffer.from(assembly.encode(whole, true));
        expect(assembly.isComplete(whole)).toBeTrue();
        expect(assembleStream(assembly, stream)).toEqual(whole);
      }),
    );
  });

  test("no part of a stream is assembled", () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(), (whole, place) => {
        const stream = Buffer.from(assembly.encode(whole, true));
        const part = stream.subarray(0, place % stream.length);
        expect(assembleStream(assembly, part)).toBeNull();
      }),
    );
  });

  test("a stream with an error event is not assembled", () => {
    fc.assert(
      fc.property(arbitrary, (whole) => {
        const events = assembly.encode(whole, true).split("\n\n");
        events.splice(-2, 1, 'event: error\ndata: {"type":"error","error":{"message":"broken"}}');
        expect(assembleStream(assembly, Buffer.from(events.join("\n\n")))).toBeNull();
      }),
    );
  });
});
