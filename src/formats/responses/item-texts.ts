// The texts in the output items of the Responses API.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { toolOfItem } from "../nameless-tools.ts";
import type { ReadTexts } from "../read-texts.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  readProbabilities,
  reasoningChannel,
  resultChannel,
  toolChannel,
  type TextChannel,
} from "../text-channels.ts";

/** Where the texts of an item are passed on to. */
type Found = Pick<ReadTexts, "text" | "open" | "probabilities" | "called" | "skip">;

/** Texts that may repeat those of earlier events. */
export const repetitionsOf = (sink: ReadTexts): Found => ({
  text: (...text) => sink.repeat(...text),
  probabilities: (...found) => sink.probabilities(...found),
  skip: (node) => sink.skip(node),
  called: (item) => sink.called(item),
  // No deltas follow.
  open: (key, channel) => {
    sink.open(key, channel);
    sink.end(key);
  },
});

/** No event continues texts with such keys. */
const COMPLETE = "complete/";

/** Texts that are complete, whatever the events of the same item say. */
export const completeIn = (sink: ReadTexts): Found => ({
  text: (key, ...text) => sink.whole(COMPLETE + key, ...text),
  probabilities: (prefix, ...found) => sink.probabilities(COMPLETE + prefix, ...found),
  skip: (node) => sink.skip(node),
  called: (item) => sink.called(item),
  open: (key, channel) => {
    sink.open(COMPLETE + key, channel);
    sink.end(COMPLETE + key);
  },
});

export function readOutput(body: JsonDocument, response: JsonNode, found: Found): void {
  for (const [index, item] of (response.get("output")?.elements ?? []).entries())
    readItem(body, item, index, found);
}

/** The keys are those of the deltas of the same text. */
export function readItem(body: JsonDocument, item: JsonNode, index: number, found: Found): void {
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
  if (call !== null) {
    found.called(item);
    readArguments(found, `${index}/call/`, toolChannel(index, call.tool, call.isJson), call.args);
  }
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
export function callOf(body: JsonDocument, item: JsonNode): Call | null {
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

export function findText(node: JsonNode | null, key: string, channel: TextChannel, found: Found): void {
  if (hasText(node)) found.text(key, channel, node);
}

export function findProbabilities(
  body: JsonDocument,
  holder: JsonNode,
  prefix: string,
  found: Pick<ReadTexts, "probabilities" | "skip">,
  isWhole: boolean,
): void {
  readProbabilities(body, found, holder, { field: "logprobs", prefix, empty: "[]", isWhole });
}
