// Reads whole responses and errors of chat targets: OpenAI's, and those of servers that differ in details. Fields that no
// client of another format can get are left out.
import { GatehouseError } from "../../base/errors.ts";
import { stringifyExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { chatUsageOf } from "../chat-usage.ts";
import { CONTEXT_LENGTH_EXCEEDED, isContextLengthMessage } from "../context-length.ts";
import { textOrEmpty } from "../json-values.ts";
import type { DecodeOptions } from "../translator.ts";
import { typeOfStatus } from "./encode-error.ts";
import { openaiUsage } from "./usage.ts";
import type { ChatCompletion, ChatErrorBody, ChatFinishReason, ChatToolCall } from "./wire-types.ts";

const FINISH_REASONS: ReadonlyMap<unknown, ChatFinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  // Mistral: the context window is full. DeepSeek: the server ran out of resources.
  ["model_length", "length"],
  ["insufficient_system_resource", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
]);
/** Mistral and OpenRouter: the generation failed. vLLM: the server aborted it. */
const FAILURES: ReadonlySet<unknown> = new Set(["error", "abort"]);
/** Gemini's chat endpoint writes `content_filter: RECITATION` and `function_call_filter: MALFORMED_FUNCTION_CALL`. */
const FILTER = /^(?:content|function_call)_filter\b/;

/** Returns null if the body is no chat completion with a choice. Throws a GatehouseError if its generation failed. */
export function decodeResponse(body: unknown, { createdAt }: DecodeOptions): ChatCompletion | null {
  if (!isJsonObject(body) || !Array.isArray(body["choices"])) return null;
  const choice: unknown = body["choices"][0];
  if (!isJsonObject(choice) || !isJsonObject(choice["message"])) return null;
  const { message } = choice;
  const failed = failureOf(choice["finish_reason"]);
  if (failed !== null) throw new GatehouseError("upstream_bad_answer", failed);
  const id = textOrEmpty(body["id"]);
  const calls = decodeCalls(message, id);
  const reasoning = reasoningOf(message);
  return {
    id,
    object: "chat.completion",
    created: typeof body["created"] === "number" ? body["created"] : createdAt,
    model: textOrEmpty(body["model"]),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: contentOf(message["content"]),
          refusal: typeof message["refusal"] === "string" ? message["refusal"] : null,
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: toFinishReason(choice["finish_reason"]) ?? "stop",
      },
    ],
    usage: chatUsageOf(openaiUsage, body["usage"]),
  };
}

/** Returns null as long as the model has not finished. */
export function toFinishReason(reason: unknown): ChatFinishReason | null {
  if (reason === null || reason === undefined || reason === "") return null;
  return FINISH_REASONS.get(reason) ?? (FILTER.test(textOrEmpty(reason)) ? "content_filter" : "stop");
}

/** Returns what happened if the finish reason says that the response is not complete; null otherwise. */
export function failureOf(reason: unknown): string | null {
  return FAILURES.has(reason)
    ? `The provider ended the response with the finish reason "${textOrEmpty(reason)}".`
    : null;
}

/** `content` may have parts. Mistral's reasoning models have thinking among them. */
export function contentOf(content: unknown): string | null {
  if (!Array.isArray(content)) return typeof content === "string" ? content : null;
  let text = "";
  for (const part of content)
    if (isJsonObject(part) && part["type"] === "text") text += textOrEmpty(part["text"]);
  return text;
}

/** DeepSeek, vLLM and others write `reasoning_content`; OpenRouter, Groq and newer versions of vLLM write `reasoning`. */
export function reasoningOf({ reasoning_content, reasoning, content }: JsonObject): string {
  const text = textOrEmpty(reasoning_content) || textOrEmpty(reasoning);
  if (text !== "" || !Array.isArray(content)) return text;
  let thinking = "";
  for (const part of content)
    if (isJsonObject(part) && part["type"] === "thinking") thinking += contentOf(part["thinking"]) ?? "";
  return thinking;
}

function decodeCalls(
  { tool_calls: calls, function_call: legacy }: JsonObject,
  responseId: string,
): ChatToolCall[] {
  const decoded: ChatToolCall[] = [];
  if (Array.isArray(calls))
    for (const call of calls)
      if (isJsonObject(call)) {
        const id = textOrEmpty(call["id"]) || toCallId(responseId, decoded.length);
        if (isJsonObject(call["function"])) decoded.push(decodeCall(id, call["function"]));
        else if (isJsonObject(call["custom"])) decoded.push(decodeCustomCall(id, call["custom"]));
      }
  // The field that OpenAI has replaced by `tool_calls`.
  if (decoded.length === 0 && isJsonObject(legacy)) decoded.push(decodeCall(toCallId(responseId, 0), legacy));
  return decoded;
}

function decodeCall(id: string, call: JsonObject): ChatToolCall {
  return {
    id,
    type: "function",
    function: { name: textOrEmpty(call["name"]), arguments: argumentsOf(call["arguments"]) },
  };
}

/** In the hub format calls of custom tools are calls of functions with one field, `input`. */
function decodeCustomCall(id: string, { name, input }: JsonObject): ChatToolCall {
  return decodeCall(id, { name, arguments: { input: textOrEmpty(input) } });
}

/** Returns an id for a call without one. It must not occur in other responses. */
export function toCallId(responseId: string, index: number): string {
  return `call_${responseId.slice(-30).replaceAll(/[^a-zA-Z0-9_-]/g, "_")}_${index}`;
}

/** Some servers send an object. */
export function argumentsOf(value: unknown): string {
  return isJsonObject(value) ? stringifyExact(value) : textOrEmpty(value);
}

/** `body` is null if it was not JSON, for example an HTML page of a proxy between the gateway and the provider. */
export function decodeError(body: unknown, status: number): ChatErrorBody {
  const defaultType = typeOfStatus(status);
  const error = isJsonObject(body) ? errorIn(body) : null;
  if (error === null) {
    const message = `The provider responded with status ${status} and an unreadable error.`;
    return { error: { message, type: defaultType, param: null, code: null } };
  }
  const { type, param, code } = error;
  const message = textOrEmpty(error["message"]);
  return {
    error: {
      message,
      type: textOrEmpty(type) || defaultType,
      param: textOrEmpty(param) || null,
      code: codeOf(code, message, status),
    },
  };
}

/** Returns the object with the message. vLLM and Mistral have it at the top level; Ollama and others have only a text. */
function errorIn(body: JsonObject): JsonObject | null {
  const error = body["error"] ?? body["detail"] ?? null;
  if (isJsonObject(error) && typeof error["message"] === "string") return error;
  if (typeof body["message"] === "string") return body;
  if (typeof error === "string") return { message: error };
  // The list of validation errors of FastAPI.
  return Array.isArray(error) ? { message: JSON.stringify(error) } : null;
}

function codeOf(code: unknown, message: string, status: number): string | null {
  const isRejected = status >= 400 && status < 500 && status !== 429;
  if (isRejected && code !== CONTEXT_LENGTH_EXCEEDED && isContextLengthMessage(message))
    return CONTEXT_LENGTH_EXCEEDED;
  return typeof code === "number" ? String(code) : textOrEmpty(code) || null;
}
