// The first content of a stream is found in the chunk that completes its line, however the stream is split into chunks.
import { describe, expect, spyOn, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { FirstContent } from "./first-content.ts";
import { formatNamed } from "./registry.ts";

const { content: openai } = formatNamed("openai");
const { content: anthropic } = formatNamed("anthropic");

const line = (event: unknown) => `data: ${JSON.stringify(event)}`;
const choice = (fields: object) => line({ choices: [{ index: 0, ...fields }], usage: null });
const delta = (fields: object) => choice({ delta: fields });

/** Pushes chunks, a millisecond apart. Returns the index of the chunk with the first content, or null. */
function find(reader: typeof openai, chunks: readonly string[]): number | null {
  const clock = new ManualClock();
  const startedAt = clock.now();
  const first = new FirstContent(reader, clock);
  for (const chunk of chunks) {
    if (first.isSearching) first.push(Buffer.from(chunk, "latin1"));
    clock.advance(1);
  }
  return first.seenAt === null ? null : first.seenAt - startedAt;
}

describe.each([
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
])("lines that end with %s", (_, end) => {
  const before = [": ping", "event: x", delta({ role: "assistant", content: "" }), ""].join(end) + end;
  const content = delta({ content: "caf\u00c3\u00a9" }) + end;
  const whole = before + content + end + delta({ content: "more" }) + end + end;

  test("are found split in two at every byte", () => {
    for (let at = 0; at <= whole.length; at++) {
      const isWholeInFirst = at >= before.length + content.length - (end.length - 1);
      expect([at, find(openai, [whole.slice(0, at), whole.slice(at)])]).toEqual([at, isWholeInFirst ? 0 : 1]);
    }
  });

  test("are found byte by byte", () => {
    expect(find(openai, Array.from(whole))).toBe(before.length + content.length - end.length);
  });
});

test.each([
  ["content", delta({ content: "x" })],
  ["content with blanks around the colon", 'data: {"choices": [{"delta" : {"content" : "x"}}]}'],
  ["an escaped quote", delta({ content: '"' })],
  ["reasoning_content", delta({ content: null, reasoning_content: "x" })],
  ["reasoning", delta({ content: "", reasoning: "x" })],
  ["a list of parts", delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "x" }] }] })],
  ["a refusal", delta({ refusal: "x" })],
  ["arguments of a tool", delta({ tool_calls: [{ index: 0, function: { arguments: "{" } }] })],
  ["input of a custom tool", delta({ tool_calls: [{ index: 0, custom: { input: "x" } }] })],
  ["arguments of a function", delta({ function_call: { arguments: "{" } })],
  ["the second choice", line({ choices: [{ delta: {} }, { delta: { content: "x" } }] })],
  ["text of a completion", choice({ text: "x" })],
  ["text of a response", line({ type: "response.output_text.delta", delta: "x" })],
  ["reasoning of a response", line({ type: "response.reasoning_summary_text.delta", delta: "x" })],
  ["without a blank after the field name", delta({ content: "x" }).replace("data: ", "data:")],
])("openai: %s is content", (_, event) => expect(find(openai, [`${event}\n\n`])).toBe(0));

test.each([
  ["a role", delta({ role: "assistant", content: "" })],
  ["null", delta({ role: "assistant", content: null, refusal: null })],
  ["the name of a tool", delta({ tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] })],
  ["the end", choice({ delta: {}, finish_reason: "stop" })],
  ["usage", line({ choices: [], usage: { completion_tokens: 1 } })],
  ["an empty list of parts", delta({ content: [], other: { text: "x" } })],
  ["empty text", delta({ content: "", other: { text: "x" } })],
  ["a delta of another type", line({ type: "response.other", delta: "x" })],
  ["a delta that is not text", line({ type: "response.other.delta", delta: { text: "x" } })],
  ["a field of the same name elsewhere", line({ choices: [{ delta: {} }], obfuscation: { content: "x" } })],
  ["the name in a text", choice({ delta: {}, note: '"content":"x"' })],
  [
    "metadata of a response",
    line({ type: "response.created", response: { metadata: { delta: "x", text: "x" } } }),
  ],
  ["the end of a text", line({ type: "response.output_text.done", text: "x" })],
  ["an error", line({ error: { message: "x", content: "x" } })],
  ["no JSON", 'data: "content":"x"'],
  ["no object", 'data: ["content","x",{"content":"x"}]'],
  ["[DONE]", "data: [DONE]"],
])("openai: %s is not content", (_, event) => expect(find(openai, [`${event}\n\n`])).toBeNull());

const block = (type: string, fields: object) =>
  line({ type, index: 0, [type === "content_block_start" ? "content_block" : "delta"]: fields });

test.each([
  ["text", block("content_block_delta", { type: "text_delta", text: "x" })],
  ["thinking", block("content_block_delta", { type: "thinking_delta", thinking: "x" })],
  ["the input of a tool", block("content_block_delta", { type: "input_json_delta", partial_json: "{" })],
  ["a block that starts with text", block("content_block_start", { type: "text", text: "x" })],
])("anthropic: %s is content", (_, event) => expect(find(anthropic, [`${event}\n\n`])).toBe(0));

test.each([
  ["reasoning_content", openai, "reasoning", delta({ content: "", reasoning_content: "x" })],
  ["reasoning", openai, "reasoning", delta({ content: "", reasoning: "x" })],
  [
    "reasoning before text",
    openai,
    "reasoning",
    `${delta({ reasoning: "x" })}\n\n${delta({ content: "x" })}`,
  ],
  [
    "a part with thinking",
    openai,
    "reasoning",
    delta({ content: [{ type: "thinking", thinking: [{ text: "x" }] }] }),
  ],
  ["a part with text", openai, "output", delta({ content: [{ type: "text", text: "x" }] })],
  ["text", openai, "output", delta({ content: "x", reasoning_content: null })],
  ["text of a completion", openai, "output", choice({ text: "x" })],
  ["text of a response", openai, "output", line({ type: "response.output_text.delta", delta: "x" })],
  [
    "reasoning of a response",
    openai,
    "reasoning",
    line({ type: "response.reasoning_text.delta", delta: "x" }),
  ],
  ["thinking", anthropic, "reasoning", block("content_block_delta", { thinking: "x" })],
  ["text", anthropic, "output", block("content_block_delta", { text: "x" })],
] as const)("the kind of %s", (_, reader, kind, event) => {
  const first = new FirstContent(reader, new ManualClock());
  expect(first.kind).toBeNull();
  first.push(Buffer.from(`${event}\n\n`));
  expect(first.kind).toBe(kind);
});

test.each([
  ["the start", line({ type: "message_start", message: { content: [], text: "x" } })],
  ["a ping", line({ type: "ping" })],
  ["the start of a block", block("content_block_start", { type: "text", text: "" })],
  ["empty input of a tool", block("content_block_delta", { type: "input_json_delta", partial_json: "" })],
  ["a delta of the message", line({ type: "message_delta", delta: { text: "x" } })],
  ["a signature", block("content_block_delta", { type: "signature_delta", signature: "x" })],
])("anthropic: %s is not content", (_, event) => expect(find(anthropic, [`${event}\n\n`])).toBeNull());

test.each([
  ["openai", openai, delta({ role: "assistant", content: "", refusal: null })],
  ["anthropic", anthropic, block("content_block_start", { type: "text", text: "" })],
])("%s: an event without text is not parsed", (_, reader, event) => {
  const parse = spyOn(JSON, "parse");
  expect(find(reader, [`${event}\n\n`])).toBeNull();
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});

test("an event that repeats the name of a field is parsed once per name", () => {
  const event = line({ choices: [], notes: Array.from({ length: 20 }, () => ({ content: "x" })) });
  const parse = spyOn(JSON, "parse");
  expect(find(openai, [`${event}\n\n`])).toBeNull();
  expect(parse).toHaveBeenCalledTimes(1);
  parse.mockRestore();
});

test("the search ends in a line of more than a thousand pieces", () => {
  const pieces = Array.from(`: ${"x".repeat(2000)}`);
  expect(find(openai, [...pieces, `\n${delta({ content: "x" })}\n\n`])).toBeNull();
  expect(find(openai, [...pieces.slice(0, 500), `\n${delta({ content: "x" })}\n\n`])).toBe(500);
});

test("the search ends after a megabyte without content", () => {
  const megabyte = `: ${"x".repeat(1024 * 1024)}\n\n`;
  expect(find(openai, [megabyte, `${delta({ content: "x" })}\n\n`])).toBeNull();
});
