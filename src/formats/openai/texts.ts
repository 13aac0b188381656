// The texts in responses of chat completions and completions, whole and streamed.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { MemberNames } from "../member-names.ts";
import { ChoiceNumbers, placeNumber } from "../place-number.ts";
import { ReadTexts } from "../read-texts.ts";
import { requireObject } from "../require-object.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  readProbabilities,
  reasoningChannel,
  ToolNames,
  type EventTexts,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import { encodeError } from "./encode-error.ts";

export const openaiTexts: TextReader = {
  format: "openai",
  readWhole(body, sink, isStrict) {
    new ChatTexts(1).readAll(body, sink, "message", isStrict);
  },
  openStream: (choices) => new ChatTexts(choices),
  repeats: false,
  errorEvent: (error) => formatSse({ data: JSON.stringify(encodeError(error)) }),
};

/** The members that lead to texts and calls. */
const NAMES = new MemberNames([
  ...["choices", "index", "message", "delta", "text", "finish_reason", "logprobs"],
  ...["role", "content", "refusal", "reasoning_content", "reasoning", "reasoning_details", "thinking"],
  ...["audio", "transcript", "tool_calls", "function_call", "function", "custom", "id", "type"],
  ...["name", "arguments", "input"],
]);

class ChatTexts implements EventTexts {
  readonly #names = new ToolNames();
  /** The open tool call of each choice: the next one ends it. */
  readonly #openCalls = new Map<number, string>();
  /** The calls of a stream, by choice and index of the call. */
  readonly #calls = new Map<string, { readonly id: string | null; readonly key: string }>();
  #furtherCalls = 0;
  readonly #choices: ChoiceNumbers;

  /** `choices`: how many the request wants. */
  constructor(choices: number) {
    this.#choices = new ChoiceNumbers(choices);
  }

  read(event: JsonDocument, sink: TextSink): void {
    requireObject(event);
    this.readAll(event, sink, "delta", true);
  }

  readAll(body: JsonDocument, sink: TextSink, field: "message" | "delta", isStrict: boolean): void {
    const read = new ReadTexts(body, sink);
    this.#readChoices(body, read, field);
    read.readRest(isStrict ? NAMES : null);
  }

  #readChoices(body: JsonDocument, sink: ReadTexts, field: "message" | "delta"): void {
    for (const [at, choice] of (body.root.get("choices")?.elements ?? []).entries()) {
      // Deltas belong to the choice and to the call with their number. In a whole body, numbers could join two of them.
      const text = choice.get("text");
      const message = choice.get(field);
      const index = field === "message" ? at : this.#numberOf(body, choice, at);
      if (hasText(text)) sink.text(`${index}/content/`, contentChannel(index), text);
      if (message !== null) this.#readMessage(body, sink, message, index, field === "message");
      if (message !== null && field === "delta") sink.joined(message, `${index}/delta/`);
      const place = { prefix: `${index}/`, empty: "null", isWhole: field === "message" };
      readProbabilities(body, sink, choice, { field: "logprobs", ...place });
    }
  }

  /** Completions have one choice for each of several prompts. */
  #numberOf(body: JsonDocument, choice: JsonNode, at: number): number {
    return choice.get("delta") === null
      ? placeNumber(body, choice, "index", at)
      : this.#choices.numberOf(body, choice, at);
  }

  #readMessage(
    body: JsonDocument,
    sink: ReadTexts,
    message: JsonNode,
    index: number,
    isWhole: boolean,
  ): void {
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
      const key = isWhole ? `${index}/tool/${at}/` : this.#keyOf(body, call, `${index}/tool/`, at);
      this.#endPrevious(sink, index, key);
      const custom = call.get("custom");
      const plain = call.get("function");
      // Without either, its own members may be those of a call.
      if (plain !== null || custom !== null) sink.called(call);
      // Clients read the one that the type names, or that they know.
      if (isGiven(body, plain)) this.#readCall(body, sink, plain, "arguments", `${key}function/`, index);
      if (isGiven(body, custom)) this.#readCall(body, sink, custom, "input", `${key}custom/`, index);
    }
  }

  /**
   * Returns the key of the call that a delta belongs to. Some servers number no call, or all with 0, so another id begins another call:
   * otherwise clients would see two calls, and plugins one.
   */
  #keyOf(body: JsonDocument, call: JsonNode, choice: string, at: number): string {
    const place = `${choice}${placeNumber(body, call, "index", at)}/`;
    const id = hasText(call.get("id")) ? body.text(call.get("id")) : null;
    const known = this.#calls.get(place);
    if (known !== undefined && (id === null || id === known.id)) return known.key;
    const key = known === undefined ? place : `${choice}further/${this.#furtherCalls++}/`;
    this.#calls.set(place, { id, key });
    return key;
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
    sink: ReadTexts,
    call: JsonNode,
    field: "arguments" | "input",
    key: string,
    index: number,
  ): void {
    this.#names.append(key, body.text(call.get("name")));
    const args = call.get(field);
    if (hasArguments(args)) this.#names.begin(key);
    sink.called(call);
    readArguments(sink, key, this.#names.channelOf(key, index, field === "arguments"), args);
  }
}

function isGiven(body: JsonDocument, node: JsonNode | null): node is JsonNode {
  return node !== null && body.source(node) !== "null";
}

function hasArguments(args: JsonNode | null): boolean {
  return args !== null && (args.children.length > 0 || hasText(args));
}

function readDetail(sink: ReadTexts, detail: JsonNode, index: number): void {
  const isSigned = hasText(detail.get("signature")) || hasText(detail.get("data"));
  for (const name of ["text", "summary"]) {
    const text = detail.get(name);
    if (hasText(text)) sink.text(`${index}/detail/${name}/`, reasoningChannel(index, isSigned), text);
  }
}

/** Mistral's reasoning models send lists of parts, and a list of texts in a part with thinking. */
function readPart(sink: ReadTexts, part: JsonNode, index: number): void {
  const text = part.get("text");
  if (hasText(text)) sink.text(`${index}/content/`, contentChannel(index), text);
  const thinking = part.get("thinking");
  if (hasText(thinking)) sink.text(`${index}/thinking/`, reasoningChannel(index, false), thinking);
  for (const thought of thinking?.elements ?? []) {
    const thoughtText = thought.get("text");
    if (hasText(thoughtText)) sink.text(`${index}/thinking/`, reasoningChannel(index, false), thoughtText);
  }
}
