// The texts in responses of OpenAI's Responses API, whole and streamed. The events that end a part repeat its text.
import { GatehouseError } from "../../base/errors.ts";
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { encodeError } from "../openai/encode-error.ts";
import { eventTypeOf } from "../event-type.ts";
import { MemberNames } from "../member-names.ts";
import { isIdentifier } from "../opaque-values.ts";
import { placeNumber } from "../place-number.ts";
import { ReadTexts } from "../read-texts.ts";
import { requireObject } from "../require-object.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  reasoningChannel,
  ToolNames,
  type EventTexts,
  type TextChannel,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import {
  callOf,
  completeIn,
  findProbabilities,
  findText,
  readItem,
  readOutput,
  repetitionsOf,
} from "./item-texts.ts";

/** The members that lead to texts and calls. */
const NAMES = new MemberNames([
  ...["type", "response", "output", "output_text", "output_index", "content_index", "summary_index", "item"],
  ...["part", "delta", "text", "refusal", "arguments", "input", "code", "role", "content", "summary", "name"],
  ...["call_id", "id", "action", "actions", "operation", "encrypted_content", "sequence_number"],
]);

export const responsesTexts: TextReader = {
  format: "responses",
  readWhole(body, sink, isStrict) {
    if (isStrict) requireObject(body);
    const read = new ReadTexts(body, sink);
    readOutput(body, body.root, read);
    const text = body.root.get("output_text");
    if (hasText(text)) read.text("output_text/", contentChannel(0), text);
    skipRequest(body.root, read);
    read.readRest(isStrict ? NAMES : null);
  },
  openStream: () => new ResponseTexts(),
  repeats: true,
  errorEvent: (error, sequence) => {
    const { message, code, param } = encodeError(error).error;
    const number = sequence === null ? {} : { sequence_number: sequence };
    const data = { type: "error", ...number, code, message, param };
    return formatSse({ event: "error", data: JSON.stringify(data) });
  },
};

/** Fields of a response in which the provider repeats those of the request. */
const OF_REQUEST = [
  ...["instructions", "tools", "tool_choice", "metadata", "prompt", "prompt_cache_key", "reasoning"],
  ...["safety_identifier", "user", "truncation", "prompt_cache_retention"],
];

function skipRequest(response: JsonNode, read: ReadTexts): void {
  // Items and parts have fields of these names, too.
  if (response.get("output") === null) return;
  for (const field of OF_REQUEST) read.skip(response.get(field));
  const text = response.get("text");
  if (text?.type === "object") read.skip(text);
}

/** Events with a piece of text: the kind of the text, and the field that numbers it within its item. */
const DELTAS: ReadonlyMap<string, readonly [kind: string, position: string]> = new Map([
  ["response.output_text", ["text", "content_index"]],
  ["response.refusal", ["refusal", "content_index"]],
  ["response.reasoning_summary_text", ["summary", "summary_index"]],
  ["response.reasoning_text", ["reasoning", "content_index"]],
  ["response.function_call_arguments", ["call", ""]],
  ["response.custom_tool_call_input", ["call", ""]],
  ["response.mcp_call_arguments", ["call", ""]],
]);
/** The fields in which the events that end a text repeat it. */
const REPEATED_FIELDS = ["text", "refusal", "arguments", "input"];
const EVENT_NAME = /^(.*)\.(delta|done|added)$/;
const RESPONSE_ENDED = new Set(["response.completed", "response.incomplete", "response.failed"]);

class ResponseTexts implements EventTexts {
  readonly #names = new ToolNames();
  /** The items whose reasoning is encrypted as well. */
  readonly #encrypted = new Set<number>();
  /** The places of items, by kind of text and id. */
  readonly #places = new Map<string, number>();

  read(event: JsonDocument, sink: TextSink, name: string | null): void {
    requireObject(event);
    const read = new ReadTexts(event, sink);
    this.#readEvent(event, read, eventTypeOf(event, name));
    read.readRest(NAMES);
  }

  #readEvent(event: JsonDocument, sink: ReadTexts, type: string): void {
    const { root } = event;
    const sequence = event.number(root.get("sequence_number"));
    if (sequence !== null) sink.number(sequence);
    const response = root.get("response");
    if (response !== null) skipRequest(response, sink);
    if (RESPONSE_ENDED.has(type)) {
      sink.end("");
      if (response !== null) readOutput(event, response, repetitionsOf(sink));
      return;
    }
    if (response !== null) this.#readStarted(event, sink, response, type);
    const [, name = "", phase = ""] = EVENT_NAME.exec(type) ?? [];
    const index = placeNumber(event, root, "output_index", 0);
    if (name === "response.output_item") this.#readItem(event, sink, root.get("item"), index, phase);
    else if (name.endsWith("_part")) readPart(event, sink, index, name, phase === "done");
    else this.#readText(event, sink, index, name, phase);
  }

  /** Clients add deltas to the items that a response begins with. Later events with a response replace it, if clients read them. */
  #readStarted(event: JsonDocument, sink: ReadTexts, response: JsonNode, type: string): void {
    if (type !== "response.created") readOutput(event, response, completeIn(sink));
    else
      for (const [index, item] of (response.get("output")?.elements ?? []).entries())
        this.#readAdded(event, sink, item, index);
  }

  #readItem(event: JsonDocument, sink: ReadTexts, item: JsonNode | null, index: number, phase: string): void {
    if (item === null) return;
    if (phase === "done") {
      sink.end(`${index}/`);
      readItem(event, item, index, repetitionsOf(sink));
    } else this.#readAdded(event, sink, item, index);
  }

  /** Deltas follow, which clients add to the texts of the item. */
  #readAdded(event: JsonDocument, sink: ReadTexts, item: JsonNode, index: number): void {
    const call = callOf(event, item);
    if (call !== null) this.#names.add(`${index}/call/`, call.tool);
    if (hasText(item.get("encrypted_content")) && this.#encrypted.size < MAX_ITEMS)
      this.#encrypted.add(index);
    readItem(event, item, index, sink);
  }

  #readText(event: JsonDocument, sink: ReadTexts, index: number, name: string, phase: string): void {
    const { root } = event;
    const [kind, position] = DELTAS.get(name) ?? [];
    if (kind === undefined || position === undefined) {
      readUnknown(event, sink, index, name, phase);
      return;
    }
    const key =
      kind === "call"
        ? `${index}/call/`
        : `${index}/${kind}/${position === "" ? 0 : placeNumber(event, root, position, 0)}/`;
    this.#requireOnePlace(`${kind} ${event.text(root.get("item_id")) ?? ""}`, index);
    const channel = this.#channelOf(kind, index, key, name);
    const delta = root.get("delta");
    if (phase === "delta" && hasText(delta)) sink.text(key, channel, delta);
    findProbabilities(event, root, key, sink, false);
    if (phase !== "done") return;
    sink.end(key);
    for (const field of REPEATED_FIELDS) {
      const text = root.get(field);
      if (text?.type === "string") sink.repeat(key, channel, text);
    }
  }

  /** Clients join the texts of an item by its id or by its place. Throws if these differ. */
  #requireOnePlace(item: string, index: number): void {
    if (item.endsWith(" ") || (this.#places.size >= MAX_ITEMS && !this.#places.has(item))) return;
    const known = this.#places.get(item) ?? index;
    this.#places.set(item, known);
    if (known !== index)
      throw new GatehouseError(
        "upstream_bad_answer",
        "The provider's stream goes on with a text of an item at another place.",
      );
  }

  #channelOf(kind: string, index: number, key: string, name: string): TextChannel {
    if (kind === "call") return this.#names.channelOf(key, index, name !== "response.custom_tool_call_input");
    const isReasoning = kind === "summary" || kind === "reasoning";
    return isReasoning ? reasoningChannel(index, this.#encrypted.has(index)) : contentChannel(index);
  }
}

const MAX_ITEMS = 1024;
/** Of events: a stream keeps the keys of its texts. */
const MAX_NAME = 256;

/** Reads a piece of a text that the gateway does not know, such as the code for an interpreter: clients join the pieces. */
function readUnknown(event: JsonDocument, sink: ReadTexts, index: number, name: string, phase: string): void {
  const { root } = event;
  const key = `${index}/delta/${name.slice(0, MAX_NAME)}/${placeNumber(event, root, "content_index", 0)}/`;
  const delta = root.get("delta");
  const isAudio = name.endsWith("audio");
  if (phase === "done") sink.end(key);
  else if (!hasText(delta)) return;
  else if (isAudio && isIdentifier(event.bytes, delta.start + 1, delta.end - 1)) sink.skip(delta);
  else sink.text(key, contentChannel(index), delta);
}

/** Reads the event that begins or ends a part of an item. Clients add deltas to the text of a part that begins. */
function readPart(event: JsonDocument, sink: ReadTexts, index: number, name: string, isDone: boolean): void {
  const found = isDone ? repetitionsOf(sink) : sink;
  const { root } = event;
  const part = root.get("part");
  if (part === null) return;
  if (name === "response.reasoning_summary_part") {
    const key = `${index}/summary/${placeNumber(event, root, "summary_index", 0)}/`;
    findText(part.get("text"), key, reasoningChannel(index, false), found);
    return;
  }
  const at = placeNumber(event, root, "content_index", 0);
  const isReasoning = event.text(part.get("type")) === "reasoning_text";
  for (const field of ["text", "refusal"]) {
    const key = `${index}/${isReasoning ? "reasoning" : field}/${at}/`;
    const channel = isReasoning ? reasoningChannel(index, false) : contentChannel(index);
    findText(part.get(field), key, channel, found);
  }
  findProbabilities(event, part, `${index}/text/${at}/`, sink, true);
}
