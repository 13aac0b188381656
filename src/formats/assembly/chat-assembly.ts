// Converts chat completions between whole responses and event streams.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import { CHAT_STREAM_DONE } from "../openai/wire-types.ts";
import { formatSse, type SseEvent } from "../sse.ts";
import type { StreamAssembly } from "./assembly.ts";
import { objectIn, objectsIn, plainEvent, setField, withEvent } from "./read-events.ts";

export const CHAT_ASSEMBLY: StreamAssembly = {
  isComplete: (response) => isFinished(objectsIn(response["choices"])),
  assemble: assembleChat,
  encode: encodeChat,
  withUsage: withChatUsage,
};

/** Fields of a delta whose values are pieces of one text. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(["content", "refusal", "reasoning_content", "reasoning"]);
/** Padding of a stream event, which no response has. */
const PADDING = "obfuscation";

export function isFinished(choices: readonly JsonObject[]): boolean {
  return choices.length > 0 && choices.every(({ finish_reason }) => typeof finish_reason === "string");
}

/** Returns the response with usage in the shape of chat completions if it has none. */
export function withChatUsage(response: JsonObject, input: number, output: number): JsonObject {
  if (isJsonObject(response["usage"])) return response;
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return { ...response, usage };
}

/** Returns the chunks of a complete stream; null if its last event is missing. Throws for an error event. */
export function chunksOf(events: readonly SseEvent[]): JsonObject[] | null {
  const chunks: JsonObject[] = [];
  for (const event of events) {
    if (event.data === CHAT_STREAM_DONE) return event === events.at(-1) ? chunks : null;
    const chunk = objectIn(event);
    if ("error" in chunk) throw new Error("the stream contains an error");
    chunks.push(chunk);
  }
  return null;
}

/** Copies what is not part of a choice. The last value of a field counts. */
export function copyChunkFields(chunk: JsonObject, response: JsonObject): void {
  for (const [name, value] of Object.entries(chunk)) {
    if (name === "choices" || name === "object" || name === PADDING) continue;
    if (value !== null || !Object.hasOwn(response, name)) setField(response, name, value);
  }
}

/** Returns the choice with the index of a delta, and adds it if it is a new one. */
export function choiceFor(choices: Map<number, JsonObject>, delta: JsonObject): JsonObject {
  const index = typeof delta["index"] === "number" ? delta["index"] : 0;
  const known = choices.get(index) ?? { index };
  choices.set(index, known);
  return known;
}

export function inOrder(choices: ReadonlyMap<number, JsonObject>): JsonObject[] {
  return [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
}

function assembleChat(events: readonly SseEvent[]): JsonObject | null {
  const chunks = chunksOf(events);
  if (chunks === null) return null;
  const response: JsonObject = { object: "chat.completion" };
  const choices = new Map<number, JsonObject>();
  for (const chunk of chunks) {
    copyChunkFields(chunk, response);
    for (const choice of objectsIn(chunk["choices"])) addChoice(choiceFor(choices, choice), choice);
  }
  const assembled = inOrder(choices);
  if (!isFinished(assembled)) return null;
  response["choices"] = assembled;
  if (response["usage"] === null) Reflect.deleteProperty(response, "usage");
  return response;
}

function addChoice(choice: JsonObject, { delta, logprobs, ...rest }: JsonObject): void {
  const message = isJsonObject(choice["message"]) ? choice["message"] : { role: "assistant", content: null };
  choice["message"] = message;
  for (const [name, value] of Object.entries(rest))
    if (name !== "index" && (value !== null || !Object.hasOwn(choice, name))) setField(choice, name, value);
  if (logprobs !== undefined && logprobs !== null) throw new Error("probabilities are not assembled");
  choice["logprobs"] = null;
  if (!isJsonObject(delta)) return;
  for (const [name, value] of Object.entries(delta)) {
    if (value === null || name === "role") continue;
    if (TEXT_FIELDS.has(name)) message[name] = textOrEmpty(message[name]) + requireText(value);
    else if (name === "tool_calls") addToolCalls(message, objectsIn(value));
    else throw new Error("a delta has a field that is not known");
  }
}

function requireText(value: unknown): string {
  if (typeof value !== "string") throw new Error("a delta of a text is no text");
  return value;
}

function addToolCalls(message: JsonObject, deltas: readonly JsonObject[]): void {
  const known = message["tool_calls"];
  const calls: unknown[] = Array.isArray(known) ? known : [];
  message["tool_calls"] = calls;
  for (const { index, function: given, ...rest } of deltas) {
    if (typeof index !== "number" || index < 0 || index > calls.length)
      throw new Error("the index of a tool call is not the next one");
    const opened = calls[index];
    const call = isJsonObject(opened) ? opened : { ...NEW_CALL, function: { name: "", arguments: "" } };
    calls[index] = call;
    for (const [name, value] of Object.entries(rest)) {
      if (name !== "id" && name !== "type") throw new Error("a tool call has a field that is not known");
      if (value !== null) call[name] = value;
    }
    const target = call["function"];
    if (!isJsonObject(given) || !isJsonObject(target)) continue;
    target["name"] = textOrEmpty(target["name"]) + textOrEmpty(given["name"]);
    target["arguments"] = textOrEmpty(target["arguments"]) + textOrEmpty(given["arguments"]);
  }
}

/** In the order of the fields in responses. */
const NEW_CALL: JsonObject = { id: undefined, type: "function" };

function encodeChat({ choices, usage, ...fields }: JsonObject, includesUsage: boolean): string {
  const common = { ...fields, object: "chat.completion.chunk" };
  let text = "";
  const write = (index: unknown, delta: JsonObject, rest: JsonObject = {}) => {
    const choice = { index, delta, logprobs: null, finish_reason: null, ...rest };
    text = withEvent(
      text,
      plainEvent({ ...common, choices: [choice], ...(includesUsage && { usage: null }) }),
    );
  };
  for (const { index, message, ...rest } of objectsIn(choices)) {
    const { role, tool_calls: calls, ...parts } = isJsonObject(message) ? message : {};
    write(index, { role: role ?? "assistant", content: "" });
    for (const [name, value] of Object.entries(parts)) {
      const isEmpty = value === null || value === "" || (Array.isArray(value) && value.length === 0);
      if (!isEmpty) write(index, { [name]: value });
    }
    for (const [at, call] of objectsIn(calls).entries())
      write(index, { tool_calls: [{ index: at, ...call }] });
    write(index, {}, rest);
  }
  if (includesUsage && usage !== undefined) text += plainEvent({ ...common, choices: [], usage });
  return text + formatSse({ data: CHAT_STREAM_DONE });
}
