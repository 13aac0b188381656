// Translates a chat request to a Responses request: the top-level fields. Messages and tools have their own files.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readObject, readString, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import { emulateStop, readStop } from "../stop-sequences.ts";
import type { TranslationReport } from "../translation-report.ts";
import type { OutboundTranslator } from "../translator.ts";
import { encodeInput } from "./encode-input.ts";
import { addReasoning } from "./encode-reasoning.ts";
import { encodeToolChoice, encodeTools, withPossibleStrictness } from "./encode-tools.ts";

type EncodeOptions = Parameters<OutboundTranslator["encodeRequest"]>[1];

/** Fields with the same name and meaning in both formats. */
const SAME_FIELDS = [
  "metadata",
  "model",
  "parallel_tool_calls",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
] as const;

/** OpenAI rejects longer ones. */
const MAX_USER_LENGTH = 64;
/** OpenAI rejects lower limits. */
const MIN_OUTPUT_TOKENS = 16;

/** Fields that are read here. All others are dropped and reported. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...SAME_FIELDS,
  "function_call",
  "functions",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "modalities",
  "n",
  "reasoning_effort",
  "response_format",
  "stop",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "user",
  "verbosity",
  "web_search_options",
]);

export function encodeRequest(body: ChatRequest, { report, targetTag }: EncodeOptions): JsonObject {
  rejectUnsupported(body);
  emulateStop(readStop(body.stop, report), report);
  const request: JsonObject = { input: encodeInput(body.messages, report, targetTag), store: false };
  for (const field of SAME_FIELDS) if ((body[field] ?? null) !== null) request[field] = body[field];
  const maxTokens = readNumber(body, "max_completion_tokens") ?? readNumber(body, "max_tokens");
  if (maxTokens !== undefined) request["max_output_tokens"] = acceptedLimit(maxTokens, report);
  const tools = encodeTools(readArray(body, "tools") ?? [], report);
  if (tools.length > 0) request["tools"] = tools;
  const choice = encodeToolChoice(body.tool_choice, tools.length > 0);
  if (choice !== null) request["tool_choice"] = choice;
  if (tools.length === 0) delete request["parallel_tool_calls"];
  addText(body, request, report);
  addReasoning(body, request, report);
  addStream(body, request);
  const user = readString(body, "user");
  if (user !== undefined) request["user"] = user.length > MAX_USER_LENGTH ? sha256(user) : user;
  // Responses are never stored: chat clients cannot read or delete them.
  if (readBoolean(body, "store") === true) report.drop("store");
  for (const key in body) if (!KNOWN_FIELDS.has(key) && (body[key] ?? null) !== null) report.drop(key);
  return request;
}

/** Clients probe an account with a limit of 1. */
function acceptedLimit(maxTokens: number, report: TranslationReport): number {
  if (maxTokens >= MIN_OUTPUT_TOKENS) return maxTokens;
  report.drop("max_tokens");
  return MIN_OUTPUT_TOKENS;
}

function addText(body: ChatRequest, request: JsonObject, report: TranslationReport): void {
  const text: JsonObject = {};
  const verbosity = readString(body, "verbosity");
  if (verbosity !== undefined) text["verbosity"] = verbosity;
  const format = readObject(body, "response_format");
  if (format !== undefined) text["format"] = encodeFormat(format, report);
  if (Object.keys(text).length > 0) request["text"] = text;
}

function encodeFormat(format: JsonObject, report: TranslationReport): JsonObject {
  switch (format["type"]) {
    case "text":
    case "json_object":
      return { type: format["type"] };
    case "json_schema": {
      const schema = requireObject(format["json_schema"], "response_format.json_schema");
      return { type: "json_schema", ...withPossibleStrictness(schema, "schema", report) };
    }
    default:
      throw new TranslationError(
        "response_format.type",
        'response_format.type must be "text", "json_object", or "json_schema".',
      );
  }
}

/** Every Responses stream reports usage, so `include_usage` is not needed. */
function addStream(body: ChatRequest, request: JsonObject): void {
  const stream = readBoolean(body, "stream");
  if (stream === undefined) return;
  request["stream"] = stream;
  const options = body.stream_options;
  if (!stream || !isJsonObject(options) || typeof options["include_obfuscation"] !== "boolean") return;
  request["stream_options"] = { include_obfuscation: options["include_obfuscation"] };
}

function rejectUnsupported(body: ChatRequest): void {
  if ((readNumber(body, "n") ?? 1) !== 1) {
    throw new TranslationError(
      "n",
      "The target returns one choice per request. Omit n, or send several requests.",
    );
  }
  for (const field of ["logprobs", "top_logprobs"]) {
    if ((body[field] ?? false) !== false && body[field] !== 0) {
      throw new TranslationError(
        field,
        "Log probabilities cannot be translated. Omit logprobs and top_logprobs.",
      );
    }
  }
  if (readArray(body, "modalities")?.includes("audio") === true) {
    throw new TranslationError(
      "modalities",
      'The target responds with text only. Remove "audio" from modalities.',
    );
  }
  for (const field of ["functions", "function_call"]) {
    if ((body[field] ?? null) !== null) {
      throw new TranslationError(field, `${field} cannot be translated. Use tools and tool_choice.`);
    }
  }
  if ((body["web_search_options"] ?? null) !== null) {
    throw new TranslationError("web_search_options", "web_search_options cannot be translated. Omit it.");
  }
}
