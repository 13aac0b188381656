// Messages of the next request of a conversation, pieces of a stream, and the validation of tools.
import { expect, test } from "bun:test";
import { readChunk, type ChatContent } from "./chat-chunks.ts";
import { EXAMPLE_TOOLS, messagesFor, problemOfTools } from "./conversation.ts";

const said = (text: string) => ({ text, toolCalls: [], results: {} });

test("each model sees its own replies, and not the turns that it did not reply to", () => {
  const turns = [
    { user: "one", replies: [said("left 1"), said("right 1")] },
    { user: "two", replies: [said("left 2"), said("")] },
  ];
  expect(messagesFor("Be brief.", turns, 1, "three")).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "one" },
    { role: "assistant", content: "right 1" },
    { role: "user", content: "three" },
  ]);
  expect(messagesFor(" ", turns, 0, "").map(({ content }) => content)).toEqual([
    "one",
    "left 1",
    "two",
    "left 2",
  ]);
});

test("tool calls are followed by their results", () => {
  const call = { id: "c1", name: "get_weather", arguments: '{"city":"Oslo"}' };
  const turns = [{ user: "Weather?", replies: [{ text: "", toolCalls: [call], results: { c1: "rain" } }] }];
  expect(messagesFor("", turns, 0, "")).toEqual([
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "rain" },
  ]);
});

test("a tool call that is streamed in pieces is put together", () => {
  let content: ChatContent = { text: "", toolCalls: [], input: null, output: null, error: null };
  const piece = (call: object) => ({ choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] });
  for (const chunk of [
    piece({ id: "c1", function: { name: "get_weather", arguments: "" } }),
    piece({ function: { arguments: '{"ci' } }),
    piece({ function: { arguments: 'ty":1}' } }),
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
  ])
    content = { ...content, ...readChunk(chunk, content) };
  expect(content.toolCalls).toEqual([{ id: "c1", name: "get_weather", arguments: '{"city":1}' }]);
  expect([content.input, content.output]).toEqual([7, 3]);
});

test("tools are validated before they are sent", () => {
  expect(problemOfTools(undefined)).toBeNull();
  expect(problemOfTools(EXAMPLE_TOOLS)).toBeNull();
  expect(problemOfTools({})).toContain("Must be a list");
  expect(problemOfTools([{ type: "x" }])).toContain('"type" must be "function"');
  expect(problemOfTools([{ type: "function", function: { name: "a b" } }])).toContain("function.name");
  expect(problemOfTools([{ type: "function", function: { name: "a", parameters: {} } }])).toContain("schema");
});
