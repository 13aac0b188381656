// The texts in responses of chat completions and completions, whole and streamed.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  reasoningChannel,
  toolChannel,
  ToolNames,
  type EventTexts,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import { encodeError } from "./encode-error.ts";

export const openaiTexts: TextReader = {
  format: "openai",
  readWhole(body, sink) {
    new ChatTexts().readAll(body, sink, "message");
  },
  openStream: () => new ChatTexts(),
  repeats: false,
  errorEvent: (error) => formatSse({ data: JSON.stringify(encodeError(error)) }),
};

class ChatTexts implements EventTexts {
  readonly #names = new ToolNames();
  /** The open tool call of each choice: the next one ends it. */
  readonly #openCalls = new Map<number, string>();

  read(event: JsonDocument, sink: TextSink): void {
    this.readAll(event, sink, "delta");
  }

  readAll(body: JsonDocument, sink: TextSink, field: "message" | "delta"): void {
    for (const [at, choice] of (body.root.get("choices")?.elements ?? []).entries()) {
      const index = body.number(choice.get("index")) ?? at;
      const text = choice.get("text");
      if (hasText(text)) sink.text(`${index}/content/`, contentChannel(index), text);
      const message = choice.get(field);
      if (message !== null) this.#readMessage(body, sink, message, index);
      // A null is a scalar.
      if (choice.get("finish_reason")?.type === "string") sink.end(`${index}/`);
    }
  }

  #readMessage(body: JsonDocument, sink: TextSink, message: JsonNode, index: number): void {
    for (const name of ["reasoning_content", "reasoning"]) {
      const reasoning = message.get(name);
      if (hasText(reasoning)) sink.text(`${index}/${name}/`, reasoningChannel(index, false), reasoning);
    }
    for (const detail of message.get("reasoning_details")?.elements ?? []) readDetail(sink, detail, index);
    const content = message.get("content");
    if (hasText(content)) sink.text(`${index}/content/`, contentChannel(index), content);
    for (const part of content?.elements ?? []) readPart(sink, part, index);
    const refusal = message.get("refusal");
    if (hasText(refusal)) sink.text(`${index}/refusal/`, contentChannel(index), refusal);
    const transcript = message.get("audio")?.get("transcript") ?? null;
    if (hasText(transcript)) sink.text(`${index}/transcript/`, contentChannel(index), transcript);
    const called = message.get("function_call");
    if (called !== null) this.#readCall(body, sink, called, "arguments", `${index}/call/`, index);
    for (const [at, call] of (message.get("tool_calls")?.elements ?? []).entries()) {
      const key = `${index}/tool/${body.number(call.get("index")) ?? at}/`;
      this.#endPrevious(sink, index, key);
      const custom = call.get("custom");
      const plain = call.get("function");
      if (plain !== null) this.#readCall(body, sink, plain, "arguments", key, index);
      if (custom !== null) this.#readCall(body, sink, custom, "input", key, index);
    }
  }

  /** Calls are generated one after the other. */
  #endPrevious(sink: TextSink, index: number, key: string): void {
    const open = this.#openCalls.get(index);
    if (open === key) return;
    if (open !== undefined) sink.end(open);
    this.#openCalls.set(index, key);
  }

  #readCall(
    body: JsonDocument,
    sink: TextSink,
    call: JsonNode,
    field: "arguments" | "input",
    key: string,
    index: number,
  ): void {
    this.#names.add(key, body.text(call.get("name")));
    const channel = toolChannel(index, this.#names.get(key), field === "arguments");
    readArguments(sink, key, channel, call.get(field));
  }
}

function readDetail(sink: TextSink, detail: JsonNode, index: number): void {
  const isSigned = hasText(detail.get("signature")) || hasText(detail.get("data"));
  for (const name of ["text", "summary"]) {
    const text = detail.get(name);
    if (hasText(text)) sink.text(`${index}/detail/${name}/`, reasoningChannel(index, isSigned), text);
  }
}

/** Mistral's reasoning models send lists of parts, and a list of texts in a part with thinking. */
function readPart(sink: TextSink, part: JsonNode, index: number): void {
  const text = part.get("text");
  if (hasText(text)) sink.text(`${index}/content/`, contentChannel(index), text);
  const thinking = part.get("thinking");
  if (hasText(thinking)) sink.text(`${index}/thinking/`, reasoningChannel(index, false), thinking);
  for (const thought of thinking?.elements ?? []) {
    const thoughtText = thought.get("text");
    if (hasText(thoughtText)) sink.text(`${index}/thinking/`, reasoningChannel(index, false), thoughtText);
  }
}
