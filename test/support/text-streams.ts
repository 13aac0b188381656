// Responses of each format with given texts, whole and as event streams, and the texts that a client reads in them.
import { SseParser } from "../../src/formats/sse.ts";
import type { FormatName } from "../../src/formats/format-names.ts";

/** The texts of a response. A stream has them in pieces. */
export interface ResponseTexts {
  readonly content: readonly string[];
  readonly reasoning: readonly string[];
  /** The arguments of a call of the tool `lookup`: JSON. */
  readonly toolArguments: readonly string[];
}

/** The texts as a client reads them. */
interface ReadTexts {
  readonly content: string;
  readonly reasoning: string;
  readonly toolArguments: string;
}

type Json = Record<string, unknown>;
type Event = string | Json;

interface TextFormat {
  readonly whole: (texts: ReadTexts) => Json;
  readonly events: (texts: ResponseTexts) => Event[];
  readonly readWhole: (body: Json) => ReadTexts;
  readonly readEvents: (events: readonly Json[]) => ReadTexts;
}

const NONE: ReadTexts = { content: "", reasoning: "", toolArguments: "" };

const openai: TextFormat = {
  whole: ({ content, reasoning, toolArguments }) => {
    const call = { id: "call_1", type: "function", function: { name: "lookup", arguments: toolArguments } };
    const message = { role: "assistant", content, reasoning_content: reasoning, tool_calls: [call] };
    return {
      id: "chat_1",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage: { total_tokens: 9 },
    };
  },
  events: ({ content, reasoning, toolArguments }) => {
    const chunk = (delta: Json, finish: string | null = null) => ({
      id: "chat_1",
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const start = { index: 0, id: "call_1", type: "function", function: { name: "lookup", arguments: "" } };
    return [
      chunk({ role: "assistant", content: "" }),
      ...reasoning.map((text) => chunk({ reasoning_content: text })),
      ...content.map((text) => chunk({ content: text })),
      chunk({ tool_calls: [start] }),
      ...toolArguments.map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
      chunk({}, "tool_calls"),
      "[DONE]",
    ];
  },
  readWhole: (body) => {
    const message = at(body, "choices", 0, "message");
    return {
      content: text(at(message, "content")),
      reasoning: text(at(message, "reasoning_content")),
      toolArguments: text(at(message, "tool_calls", 0, "function", "arguments")),
    };
  },
  readEvents: (events) => {
    const deltas = events.map((event) => at(event, "choices", 0, "delta"));
    return {
      content: deltas.map((delta) => text(at(delta, "content"))).join(""),
      reasoning: deltas.map((delta) => text(at(delta, "reasoning_content"))).join(""),
      toolArguments: deltas
        .map((delta) => text(at(delta, "tool_calls", 0, "function", "arguments")))
        .join(""),
    };
  },
};

const anthropic: TextFormat = {
  whole: ({ content, reasoning, toolArguments }) => ({
    id: "msg_1",
    type: "message",
    content: [
      { type: "thinking", thinking: reasoning, signature: "" },
      { type: "text", text: content },
      { type: "tool_use", id: "toolu_1", name: "lookup", input: JSON.parse(toolArguments) as Json },
    ],
    usage: { output_tokens: 9 },
  }),
  events: ({ content, reasoning, toolArguments }) => {
    const delta = (index: number, fields: Json) => ({ type: "content_block_delta", index, delta: fields });
    const stop = (index: number) => ({ type: "content_block_stop", index });
    const tool = { type: "tool_use", id: "toolu_1", name: "lookup", input: {} };
    return [
      { type: "message_start", message: { id: "msg_1", content: [], usage: { input_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      ...reasoning.map((thinking) => delta(0, { type: "thinking_delta", thinking })),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      stop(0),
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      ...content.map((piece) => delta(1, { type: "text_delta", text: piece })),
      stop(1),
      { type: "content_block_start", index: 2, content_block: tool },
      ...toolArguments.map((piece) => delta(2, { type: "input_json_delta", partial_json: piece })),
      stop(2),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ];
  },
  readWhole: (body) => ({
    content: text(at(body, "content", 1, "text")),
    reasoning: text(at(body, "content", 0, "thinking")),
    toolArguments: JSON.stringify(at(body, "content", 2, "input")),
  }),
  readEvents: (events) => {
    const deltas = events.map((event) => at(event, "delta"));
    const join = (field: string) => deltas.map((delta) => text(at(delta, field))).join("");
    return { content: join("text"), reasoning: join("thinking"), toolArguments: join("partial_json") };
  },
};

const responses: TextFormat = {
  whole: (texts) => ({
    id: "resp_1",
    status: "completed",
    output: responseItems(texts),
    usage: { total_tokens: 9 },
  }),
  events: ({ content, reasoning, toolArguments }) => {
    const whole = {
      content: content.join(""),
      reasoning: reasoning.join(""),
      toolArguments: toolArguments.join(""),
    };
    const [thought, message, call] = responseItems(whole);
    const part = (name: string, index: number, fields: Json) => ({
      type: `response.${name}`,
      output_index: index,
      ...fields,
    });
    const events: Json[] = [
      { type: "response.created", response: { id: "resp_1", output: [] } },
      part("output_item.added", 0, { item: { type: "reasoning", summary: [] } }),
      ...reasoning.map((delta) => part("reasoning_summary_text.delta", 0, { summary_index: 0, delta })),
      part("reasoning_summary_text.done", 0, { summary_index: 0, text: whole.reasoning }),
      part("reasoning_summary_part.done", 0, {
        summary_index: 0,
        part: { type: "summary_text", text: whole.reasoning },
      }),
      part("output_item.done", 0, { item: thought }),
      part("output_item.added", 1, { item: { type: "message", content: [] } }),
      part("content_part.added", 1, { content_index: 0, part: { type: "output_text", text: "" } }),
      ...content.map((delta) => part("output_text.delta", 1, { content_index: 0, delta })),
      part("output_text.done", 1, { content_index: 0, text: whole.content }),
      part("content_part.done", 1, { content_index: 0, part: { type: "output_text", text: whole.content } }),
      part("output_item.done", 1, { item: message }),
      part("output_item.added", 2, { item: { type: "function_call", name: "lookup", arguments: "" } }),
      ...toolArguments.map((delta) => part("function_call_arguments.delta", 2, { delta })),
      part("function_call_arguments.done", 2, { arguments: whole.toolArguments }),
      part("output_item.done", 2, { item: call }),
      {
        type: "response.completed",
        response: { id: "resp_1", output: responseItems(whole), usage: { total_tokens: 9 } },
      },
    ];
    return events.map((event, index) => ({ ...event, sequence_number: index }));
  },
  readWhole: readResponse,
  readEvents: (events) => {
    const join = (type: string) =>
      events
        .filter((event) => event["type"] === type)
        .map((event) => text(event["delta"]))
        .join("");
    const deltas = {
      content: join("response.output_text.delta"),
      reasoning: join("response.reasoning_summary_text.delta"),
      toolArguments: join("response.function_call_arguments.delta"),
    };
    checkRepetitions(events, deltas);
    return deltas;
  },
};

function responseItems({ content, reasoning, toolArguments }: ReadTexts): Json[] {
  return [
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: reasoning }] },
    { type: "message", id: "msg_1", content: [{ type: "output_text", text: content }] },
    { type: "function_call", id: "fc_1", call_id: "call_1", name: "lookup", arguments: toolArguments },
  ];
}

function readResponse(body: unknown): ReadTexts {
  return {
    content: text(at(body, "output", 1, "content", 0, "text")),
    reasoning: text(at(body, "output", 0, "summary", 0, "text")),
    toolArguments: text(at(body, "output", 2, "arguments")),
  };
}

/** The events that repeat a text must repeat the one that the deltas have. */
function checkRepetitions(events: readonly Json[], expected: ReadTexts): void {
  for (const [index, event] of events.entries()) {
    if (event["sequence_number"] !== index) throw new Error(`event ${index} has the wrong number`);
    const type = text(event["type"]);
    const repeated = [
      [text(event["text"]) || undefined, type.includes("reasoning") ? expected.reasoning : expected.content],
      [text(event["arguments"]) || undefined, expected.toolArguments],
      [
        text(at(event, "part", "text")) || undefined,
        type.includes("reasoning") ? expected.reasoning : expected.content,
      ],
      [at(event, "item", "content", 0, "text"), expected.content],
      [at(event, "item", "summary", 0, "text"), expected.reasoning],
      [text(at(event, "item", "arguments")) || undefined, expected.toolArguments],
    ];
    for (const [found, wanted] of repeated)
      if (found !== undefined && found !== wanted)
        throw new Error(`${type} repeats ${JSON.stringify(found)}`);
    if (type === "response.completed" && !Bun.deepEquals(readResponse(event["response"]), expected))
      throw new Error("response.completed has other texts");
  }
}

const gemini: TextFormat = {
  whole: ({ content, reasoning, toolArguments }) => ({
    candidates: [
      geminiCandidate([
        { text: reasoning, thought: true },
        { text: content },
        { functionCall: { name: "lookup", args: JSON.parse(toolArguments) as Json } },
      ]),
    ],
  }),
  events: ({ content, reasoning, toolArguments }) => [
    ...reasoning.map((piece) => ({ candidates: [geminiCandidate([{ text: piece, thought: true }])] })),
    ...content.map((piece) => ({ candidates: [geminiCandidate([{ text: piece }])] })),
    {
      candidates: [
        geminiCandidate([
          { functionCall: { name: "lookup", args: JSON.parse(toolArguments.join("")) as Json } },
        ]),
      ],
    },
    { candidates: [{ ...geminiCandidate([]), finishReason: "STOP" }], usageMetadata: { totalTokenCount: 9 } },
  ],
  readWhole: (body) => readGemini([body]),
  readEvents: (events) => readGemini(events),
};

function geminiCandidate(parts: Json[]): Json {
  return { content: { parts, role: "model" }, index: 0 };
}

function readGemini(events: readonly Json[]): ReadTexts {
  const texts = { content: "", reasoning: "", toolArguments: "" };
  for (const event of events)
    for (const part of list(at(event, "candidates", 0, "content", "parts"))) {
      if (at(part, "functionCall") !== undefined)
        texts.toolArguments += JSON.stringify(at(part, "functionCall", "args"));
      else if (at(part, "thought") === true) texts.reasoning += text(at(part, "text"));
      else texts.content += text(at(part, "text"));
    }
  return texts;
}

const FORMATS: Readonly<Record<FormatName, TextFormat>> = { openai, anthropic, responses, gemini };

export function wholeResponse(format: FormatName, texts: ReadTexts): string {
  return JSON.stringify(FORMATS[format].whole({ ...NONE, ...texts }));
}

/** `lineEnd` ends every line. A comment precedes every event. */
export function streamedResponse(format: FormatName, texts: ResponseTexts, lineEnd = "\n"): string {
  return FORMATS[format]
    .events(texts)
    .map((event) => {
      const data = typeof event === "string" ? event : JSON.stringify(event);
      const name =
        typeof event === "string" || typeof event["type"] !== "string"
          ? ""
          : `event: ${event["type"]}${lineEnd}`;
      return `:${lineEnd}${lineEnd}${name}data: ${data}${lineEnd}${lineEnd}`;
    })
    .join("");
}

export function readWholeResponse(format: FormatName, body: string): ReadTexts {
  return FORMATS[format].readWhole(JSON.parse(body) as Json);
}

/** Also checks what the format promises about its events. */
export function readStreamedResponse(format: FormatName, bytes: Uint8Array): ReadTexts {
  const events = new SseParser().push(bytes).filter(({ data }) => data !== "[DONE]");
  return FORMATS[format].readEvents(events.map(({ data }) => JSON.parse(data) as Json));
}

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, key) => (found as Json | null | undefined)?.[key], value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
