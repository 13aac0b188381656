// Translates a Responses request to the hub format: the top-level fields. Input and tools have their own files.
import type { JsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readObject, readString, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { reportUnknownInside } from "../unknown-fields.ts";
import { InputDecoder } from "./decode-input.ts";
import { DecodedTools, selectTools } from "./decode-tools.ts";
import { KNOWN_RESPONSES_FIELDS } from "./known-fields.ts";

/** Fields that are read here. All others are dropped and reported. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "background",
  "conversation",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "model",
  "moderation",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "reasoning",
  "safety_identifier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
]);

export function decodeRequest(body: JsonObject, report: TranslationReport): ChatRequest {
  rejectUntranslatable(body);
  const tools = new DecodedTools(report);
  tools.add(readArray(body, "tools") ?? [], "tools");
  const input = new InputDecoder(tools, report);
  input.decode(body["instructions"], body["input"]);

  const request: JsonObject = { messages: input.messages, ...selectTools(body["tool_choice"], tools) };
  set(request, "model", readString(body, "model"));
  // Few chat providers other than OpenAI know max_completion_tokens.
  set(request, "max_tokens", readNumber(body, "max_output_tokens"));
  set(request, "temperature", readNumber(body, "temperature"));
  set(request, "top_p", readNumber(body, "top_p"));
  set(request, "user", readString(body, "user"));
  set(request, "safety_identifier", readString(body, "safety_identifier"));
  if (tools.functions.length > 0)
    set(request, "parallel_tool_calls", readBoolean(body, "parallel_tool_calls"));
  decodeText(body, request);
  decodeReasoningOptions(body, request, report);
  if (readBoolean(body, "stream") === true) {
    request["stream"] = true;
    // The last event of every Responses stream reports usage.
    request["stream_options"] = { include_usage: true };
  }
  reportDropped(body, report);
  reportUnknownInside(body, KNOWN_RESPONSES_FIELDS, report);
  return request;
}

function set(request: JsonObject, key: string, value: unknown): void {
  if (value !== undefined) request[key] = value;
}

function decodeText(body: JsonObject, request: JsonObject): void {
  const text = readObject(body, "text");
  if (text === undefined) return;
  set(request, "verbosity", readString(text, "verbosity", "text"));
  const format = readObject(text, "format", "text");
  switch (format?.["type"]) {
    case undefined:
    case "text":
      return;
    case "json_object":
      request["response_format"] = { type: "json_object" };
      return;
    case "json_schema": {
      const json_schema: JsonObject = { schema: requireObject(format["schema"], "text.format.schema") };
      set(json_schema, "name", readString(format, "name", "text.format"));
      set(json_schema, "description", readString(format, "description", "text.format"));
      set(json_schema, "strict", readBoolean(format, "strict", "text.format"));
      request["response_format"] = { type: "json_schema", json_schema };
      return;
    }
    default:
      throw new TranslationError(
        "text.format.type",
        'text.format.type must be "text", "json_object", or "json_schema".',
      );
  }
}

/** `summary` needs no translation: reasoning that the target returns becomes a summary in any case. */
function decodeReasoningOptions(body: JsonObject, request: JsonObject, report: TranslationReport): void {
  const reasoning = readObject(body, "reasoning");
  if (reasoning === undefined) return;
  set(request, "reasoning_effort", readString(reasoning, "effort", "reasoning"));
  for (const key in reasoning) {
    if (key === "effort" || key === "summary" || key === "generate_summary") continue;
    if ((reasoning[key] ?? null) !== null) report.drop(`reasoning.${key}`);
  }
}

function reportDropped(body: JsonObject, report: TranslationReport): void {
  // Responses are stored unless the request says otherwise.
  if (body["store"] !== false) report.drop("store");
  if ((body["truncation"] ?? "disabled") !== "disabled") report.drop("truncation");
  if (readObject(body, "stream_options")?.["include_obfuscation"] === true) report.drop("stream_options");
  for (const value of readArray(body, "include") ?? []) {
    if (value !== "reasoning.encrypted_content") report.drop("include");
  }
  for (const key in body) if (!KNOWN_FIELDS.has(key) && (body[key] ?? null) !== null) report.drop(key);
}

function rejectUntranslatable(body: JsonObject): void {
  if ((body["previous_response_id"] ?? null) !== null) {
    throw new TranslationError(
      "previous_response_id",
      "Responses of this target are not stored, so previous_response_id cannot be used. Send the items of the conversation in input instead.",
      "stateless_responses",
    );
  }
  if ((body["conversation"] ?? null) !== null) {
    throw new TranslationError(
      "conversation",
      "The target stores no conversations. Send the items of the conversation in input instead.",
    );
  }
  if (readBoolean(body, "background") === true) {
    throw new TranslationError("background", "The target has no background responses. Omit background.");
  }
  if ((body["prompt"] ?? null) !== null) {
    throw new TranslationError(
      "prompt",
      "The target has no prompt templates. Send instructions and input instead.",
    );
  }
  if ((body["moderation"] ?? null) !== null) {
    throw new TranslationError("moderation", "The target does not moderate requests. Omit moderation.");
  }
  const wantsLogprobs = readArray(body, "include")?.includes("message.output_text.logprobs") === true;
  if (wantsLogprobs || (readNumber(body, "top_logprobs") ?? 0) > 0) {
    throw new TranslationError(
      wantsLogprobs ? "include" : "top_logprobs",
      "Log probabilities cannot be translated. Omit top_logprobs and message.output_text.logprobs.",
    );
  }
}
