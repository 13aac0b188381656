// The texts in responses of OpenAI's Responses API, whole and streamed. The events that end a part repeat its text.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { encodeError } from "../openai/encode-error.ts";
import { toolOfItem } from "../nameless-tools.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  readProbabilities,
  reasoningChannel,
  resultChannel,
  toolChannel,
  ToolNames,
  type EventTexts,
  type TextChannel,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";

export const responsesTexts: TextReader = {
  format: "responses",
  readWhole(body, sink) {
    readOutput(body, body.root, sink);
    const text = body.root.get("output_text");
    if (hasText(text)) sink.text("output_text/", contentChannel(0), text);
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

type Found = Pick<TextSink, "text" | "open" | "probabilities">;

/** Texts that may repeat those of earlier events. */
const repetitionsOf = (sink: TextSink): Found => ({
  text: (...text) => sink.repeat(...text),
  probabilities: (...found) => sink.probabilities(...found),
  // No deltas follow.
  open: (key, channel) => {
    sink.open(key, channel);
    sink.end(key);
  },
});

function readOutput(body: JsonDocument, response: JsonNode, found: Found): void {
  for (const [index, item] of (response.get("output")?.elements ?? []).entries())
    readItem(body, item, index, found);
}

/** The keys are those of the deltas of the same text. */
function readItem(body: JsonDocument, item: JsonNode, index: number, found: Found): void {
  if (body.text(item.get("type")) === "reasoning") {
    const channel = reasoningChannel(index, hasText(item.get("encrypted_content")));
    for (const [at, part] of (item.get("summary")?.elements ?? []).entries())
      findText(part.get("text"), `${index}/summary/${at}/`, channel, found);
    for (const [at, part] of (item.get("content")?.elements ?? []).entries())
      findText(part.get("text"), `${index}/reasoning/${at}/`, channel, found);
    return;
  }
  for (const [at, part] of (item.get("content")?.elements ?? []).entries()) {
    for (const name of ["text", "refusal"])
      findText(part.get(name), `${index}/${name}/${at}/`, contentChannel(index), found);
    findProbabilities(body, part, `${index}/text/${at}/`, found, true);
  }
  const call = callOf(body, item);
  if (call !== null)
    readArguments(found, `${index}/call/`, toolChannel(index, call.tool, call.isJson), call.args);
  readResults(body, item, index, found);
}

/** The fields of a call that the provider has run with what the tool returned, and the item with the result of such a call. */
const RESULT_FIELDS = ["output", "outputs", "results", "result", "error"];
/** Statuses of calls that have no result yet. */
const RUNNING = new Set(["in_progress", "searching", "interpreting", "generating"]);

/** Reads what a tool of the provider returned. A result without text, such as an image, must not escape a rule about the tool. */
function readResults(body: JsonDocument, item: JsonNode, index: number, found: Found): void {
  const type = body.text(item.get("type")) ?? "";
  const isResult = type.endsWith("_call_output");
  const isRunByProvider = type.endsWith("_call") && item.get("call_id") === null;
  if (!isResult && (!isRunByProvider || RUNNING.has(body.text(item.get("status")) ?? ""))) return;
  const tool = body.text(item.get("name")) ?? toolOfItem(type);
  let hasResult = false;
  for (const field of RESULT_FIELDS) {
    const node = item.get(field);
    // The image of a generation.
    if (node === null || (field === "result" && type === "image_generation_call")) continue;
    const isRaw = node.type !== "string";
    if (isRaw ? node.children.length === 0 : !hasText(node)) continue;
    const channel = resultChannel(index, tool, isRaw);
    found.text(`${index}/result/${field}/`, channel, node, isRaw ? "json" : "string");
    hasResult = true;
  }
  if (!hasResult) found.open(`${index}/result/`, resultChannel(index, tool, false));
}

interface Call {
  readonly tool: string | null;
  readonly args: JsonNode | null;
  readonly isJson: boolean;
}

/** The fields with the arguments of a call, and whether they are JSON. */
const CALL_FIELDS = [
  ["arguments", true],
  ["input", false],
] as const;
/** As `CALL_FIELDS` for calls without a name. */
const NAMELESS_CALL_FIELDS = [
  ...CALL_FIELDS,
  ["action", true],
  ["actions", true],
  ["operation", true],
] as const;

/** Returns the call of a tool that the client runs, or of a server's tool; null if the item is none. */
function callOf(body: JsonDocument, item: JsonNode): Call | null {
  const name = body.text(item.get("name"));
  const type = body.text(item.get("type")) ?? "";
  // The client sends the result with this id. Calls of tools that the provider runs have none.
  const isNameless = name === null && item.get("call_id") !== null && !type.endsWith("_output");
  const fields = isNameless ? NAMELESS_CALL_FIELDS : CALL_FIELDS;
  const [field, isJson] = fields.find(([key]) => item.get(key) !== null) ?? fields[0];
  const args = item.get(field);
  if (name === null && !isNameless && args === null) return null;
  return { tool: name ?? toolOfItem(type), args, isJson };
}

function findText(node: JsonNode | null, key: string, channel: TextChannel, found: Found): void {
  if (hasText(node)) found.text(key, channel, node);
}

function findProbabilities(
  body: JsonDocument,
  holder: JsonNode,
  prefix: string,
  found: Pick<TextSink, "probabilities">,
  isWhole: boolean,
): void {
  readProbabilities(body, found, holder, { field: "logprobs", prefix, empty: "[]", isWhole });
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

  read(event: JsonDocument, sink: TextSink): void {
    const { root } = event;
    const sequence = event.number(root.get("sequence_number"));
    if (sequence !== null) sink.number(sequence);
    const type = event.text(root.get("type")) ?? "";
    if (RESPONSE_ENDED.has(type)) {
      sink.end("");
      const response = root.get("response");
      if (response !== null) readOutput(event, response, repetitionsOf(sink));
      return;
    }
    const [, name = "", phase = ""] = EVENT_NAME.exec(type) ?? [];
    const index = event.number(root.get("output_index")) ?? 0;
    if (name === "response.output_item") this.#readItem(event, sink, root.get("item"), index, phase);
    else if (phase === "done" && name.endsWith("_part")) readPart(event, sink, index, name);
    else this.#readText(event, sink, index, name, phase);
  }

  #readItem(event: JsonDocument, sink: TextSink, item: JsonNode | null, index: number, phase: string): void {
    if (item === null) return;
    if (phase === "done") {
      sink.end(`${index}/`);
      readItem(event, item, index, repetitionsOf(sink));
      return;
    }
    const key = `${index}/call/`;
    const call = callOf(event, item);
    if (call !== null) {
      this.#names.add(key, call.tool);
      sink.open(key, toolChannel(index, this.#names.get(key), call.isJson));
    }
    if (hasText(item.get("encrypted_content")) && this.#encrypted.size < MAX_ITEMS)
      this.#encrypted.add(index);
  }

  #readText(event: JsonDocument, sink: TextSink, index: number, name: string, phase: string): void {
    const [kind, position] = DELTAS.get(name) ?? [];
    if (kind === undefined || position === undefined) return;
    const { root } = event;
    const key =
      kind === "call" ? `${index}/call/` : `${index}/${kind}/${event.number(root.get(position)) ?? 0}/`;
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

  #channelOf(kind: string, index: number, key: string, name: string): TextChannel {
    if (kind === "call")
      return toolChannel(index, this.#names.get(key), name !== "response.custom_tool_call_input");
    const isReasoning = kind === "summary" || kind === "reasoning";
    return isReasoning ? reasoningChannel(index, this.#encrypted.has(index)) : contentChannel(index);
  }
}

const MAX_ITEMS = 1024;

/** Reads the event that ends a part of an item. */
function readPart(event: JsonDocument, sink: TextSink, index: number, name: string): void {
  const { root } = event;
  const part = root.get("part");
  if (part === null) return;
  if (name === "response.reasoning_summary_part") {
    const key = `${index}/summary/${event.number(root.get("summary_index")) ?? 0}/`;
    findText(part.get("text"), key, reasoningChannel(index, false), repetitionsOf(sink));
    return;
  }
  const at = event.number(root.get("content_index")) ?? 0;
  const isReasoning = event.text(part.get("type")) === "reasoning_text";
  for (const field of ["text", "refusal"]) {
    const key = `${index}/${isReasoning ? "reasoning" : field}/${at}/`;
    const channel = isReasoning ? reasoningChannel(index, false) : contentChannel(index);
    findText(part.get(field), key, channel, repetitionsOf(sink));
  }
  findProbabilities(event, part, `${index}/text/${at}/`, sink, true);
}
