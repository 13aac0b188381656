// Translating and assembling what has very many calls, tools, or citations, or a very long id, takes time in proportion to its size.
import { expect, test } from "bun:test";
import { expectLinearTime } from "../../test/support/counted-work.ts";
import type { JsonObject } from "../base/json.ts";
import { assembleStream, assemblyOf } from "./assembly/stream-assembly.ts";
import type { FormatName } from "./format-names.ts";
import type { Operation } from "./operations.ts";
import { formatNamed } from "./registry.ts";
import { StreamTranslation } from "./stream-translation.ts";
import { TranslationReport } from "./translation-report.ts";
import { NO_CONTEXT } from "./translator.ts";

const many = <T>(count: number, item: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => item(at));
const OPTIONS = { createdAt: 1, targetTag: "t" };
const inboundOf = (name: FormatName) => {
  const { inbound } = formatNamed(name);
  if (inbound === null) throw new Error("the format has clients");
  return inbound;
};

test("properties of a strict schema", () => {
  expectLinearTime((count) => {
    const names = many(count, (at) => `p${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, {}]));
    const parameters = { type: "object", properties, required: names, additionalProperties: false };
    const tools = [{ type: "function", function: { name: "f", strict: true, parameters } }];
    const request = { messages: [{ role: "user", content: "x" }], tools };
    const encoded = formatNamed("responses").outbound.encodeRequest(request, {
      report: new TranslationReport(),
      targetTag: "t",
    });
    expect(encoded).toMatchObject({ tools: [{ strict: true }] });
  });
});

test("allowed tools of a namespace", () => {
  expectLinearTime((count) => {
    const functions = many(count, (at) => ({ type: "function", name: `f${at}`, parameters: {} }));
    const tools = [{ type: "namespace", name: "n", tools: functions }];
    const tool_choice = {
      type: "allowed_tools",
      mode: "auto",
      tools: functions.map(({ name }) => ({ type: "function", name })),
    };
    const request = inboundOf("responses").decodeRequest(
      { input: "x", tools, tool_choice },
      new TranslationReport(),
    );
    expect(request.tools).toHaveLength(count);
  });
});

test("calls without ids of a response with a long id", () => {
  expectLinearTime((count) => {
    const tool_calls = many(count, (at) => ({ function: { name: `f${at}`, arguments: "{}" } }));
    const body = { id: "-".repeat(10 * count), choices: [{ message: { tool_calls } }] };
    const completion = formatNamed("openai").outbound.decodeResponse(body, OPTIONS);
    if (completion === null) throw new Error("the response was not read");
    const { output } = inboundOf("responses").encodeResponse(completion, NO_CONTEXT) as { output: object[] };
    expect(output).toHaveLength(count);
    const customTools = many(count, (at) => `f${at}`);
    inboundOf("openai").encodeResponse(completion, { ...NO_CONTEXT, customTools });
  });
});

test.each(["openai", "responses"] as const)("a stream with a long id for clients of %s", (client) => {
  expectLinearTime((count) => {
    const stream = new StreamTranslation(
      formatNamed("openai").outbound,
      inboundOf(client),
      OPTIONS,
      NO_CONTEXT,
    );
    const eventOf = (fields: JsonObject) =>
      Buffer.from(
        `data: ${JSON.stringify({ ...fields, choices: [{ index: 0, delta: { content: "a" } }] })}\n\n`,
      );
    stream.push(eventOf({ id: "i".repeat(10 * count), model: "m".repeat(10 * count) }));
    const written = many(count, () => stream.push(eventOf({}))?.byteLength ?? 0);
    expect(written.at(-1)).toBeLessThan(2000);
  });
});

const sse = (events: readonly JsonObject[]) =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));

function assembled(operation: Operation, events: Uint8Array): JsonObject {
  const assembly = assemblyOf(operation);
  const whole = assembly === null ? null : assembleStream(assembly, events);
  if (whole === null) throw new Error("the stream was not assembled");
  return whole;
}

test("calls of an assembled chat", () => {
  expectLinearTime((count) => {
    const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const calls = many(count, (at) =>
      chunk({
        tool_calls: [{ index: at, id: `c${at}`, type: "function", function: { name: "f", arguments: "{}" } }],
      }),
    );
    const stream = Buffer.concat([sse([...calls, chunk({}, "tool_calls")]), Buffer.from("data: [DONE]\n\n")]);
    const { choices } = assembled("chat", stream) as { choices: { message: { tool_calls: object[] } }[] };
    expect(choices[0]?.message.tool_calls).toHaveLength(count);
    expect(JSON.stringify(choices[0]?.message.tool_calls[1])).toBe(
      '{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}',
    );
  });
});

test("citations and deltas of an assembled message", () => {
  expectLinearTime((count) => {
    const delta = { type: "citations_delta", citation: { cited_text: "a" } };
    const stream = sse([
      { type: "message_start", message: { type: "message", content: [], usage: { input_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } },
      ...many(count, () => ({ type: "content_block_delta", index: 0, delta })),
      { type: "content_block_stop", index: 0 },
      ...many(count, (at) => ({
        type: "message_delta",
        delta: { stop_reason: "end_turn", [`d${at}`]: at },
        usage: { output_tokens: at, [`u${at}`]: at },
      })),
      { type: "message_stop" },
    ]);
    const { content, usage } = assembled("messages", stream) as {
      content: { citations: object[] }[];
      usage: JsonObject;
    };
    expect(content[0]?.citations).toHaveLength(count);
    expect(usage).toMatchObject({ input_tokens: 1, output_tokens: count - 1, u1: 1 });
  });
});

test.each([
  ["chat", { choices: many(100, (index) => ({ index, message: { content: "a" }, finish_reason: "stop" })) }],
  ["completions", { choices: many(100, (index) => ({ index, text: "a", finish_reason: "stop" })) }],
] as const)("a kept %s is no stream of many times its size", (operation, body) => {
  const assembly = assemblyOf(operation);
  expect(() => assembly?.encode({ ...body, other: "a".repeat(1_000_000) }, false)).toThrow("too long");
  expect(assembly?.encode({ ...body, other: "a" }, false)).toContain("[DONE]");
});
