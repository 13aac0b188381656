// Translates an OpenAI chat request to a Gemini generateContent request: the top-level fields. Contents, tools, and thinking
// have their own files. The model and whether the response is a stream are in the path.
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readObject, readString, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import { emulateStop, splitStop } from "../stop-sequences.ts";
import type { TranslationReport } from "../translation-report.ts";
import { encodeContents } from "./encode-contents.ts";
import { encodeSchema } from "./encode-schema.ts";
import { encodeThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";
import { isGemini3 } from "../models/gemini-models.ts";
import type { GeminiGenerationConfig, GeminiRequest } from "./wire-types.ts";

/** Fields that are translated, or rejected where their value has no equivalent. All others are dropped and reported. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "frequency_penalty",
  "function_call",
  "functions",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "modalities",
  "model",
  "n",
  "parallel_tool_calls",
  "presence_penalty",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stream",
  "stream_options",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_logprobs",
  "top_p",
  "web_search_options",
]);
/** Gemini rejects more. */
const MAX_STOP_SEQUENCES = 5;
const NUMBERS = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["top_k", "topK"],
  ["seed", "seed"],
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
] as const;

export function encodeRequest(
  body: ChatRequest,
  { report }: { readonly report: TranslationReport },
): GeminiRequest {
  rejectUnsupported(body);
  const model = readString(body, "model");
  const { system, contents } = encodeContents(body.messages, model, report);
  const request: GeminiRequest = { contents };
  if (system.length > 0) request.systemInstruction = { parts: system.map((text) => ({ text })) };
  Object.assign(request, encodeTools(body, report));
  const config = encodeGenerationConfig(body, model, report);
  if (request.tools !== undefined && config.responseMimeType !== undefined && !isGemini3(model)) {
    throw new TranslationError(
      "response_format",
      "Gemini models before 3 cannot combine response_format with tools. Remove one of them, or use a newer model.",
    );
  }
  if (Object.keys(config).length > 0) request.generationConfig = config;
  for (const field in body) {
    if (!KNOWN_FIELDS.has(field) && (body[field] ?? null) !== null) report.drop(field);
  }
  return request;
}

function encodeGenerationConfig(
  body: ChatRequest,
  model: string | undefined,
  report: TranslationReport,
): GeminiGenerationConfig {
  const config: GeminiGenerationConfig = {};
  for (const [field, name] of NUMBERS) {
    const value = readNumber(body, field);
    if (value !== undefined) config[name] = value;
  }
  const maxTokens = readNumber(body, "max_completion_tokens") ?? readNumber(body, "max_tokens");
  if (maxTokens !== undefined) config.maxOutputTokens = maxTokens;
  const { stop, blanks } = splitStop(body.stop, report);
  if (stop.length > 0) config.stopSequences = stop.slice(0, MAX_STOP_SEQUENCES);
  emulateStop([...blanks, ...stop.slice(MAX_STOP_SEQUENCES)], report);
  addResponseFormat(config, body.response_format, report);
  const thinking = encodeThinking(body, model, maxTokens, report);
  if (thinking !== null) config.thinkingConfig = thinking;
  return config;
}

function addResponseFormat(config: GeminiGenerationConfig, format: unknown, report: TranslationReport): void {
  if (format === undefined || format === null) return;
  const { type, json_schema } = requireObject(format, "response_format");
  if (type === "text") return;
  if (type !== "json_object" && type !== "json_schema") {
    throw new TranslationError(
      "response_format.type",
      'response_format.type must be "text", "json_object", or "json_schema".',
    );
  }
  config.responseMimeType = "application/json";
  if (type === "json_object") return;
  const parent = "response_format.json_schema";
  const described = requireObject(json_schema, parent);
  if ((described["description"] ?? "") !== "") report.drop("json_schema.description");
  const schema = readObject(described, "schema", parent);
  if (schema !== undefined) config.responseJsonSchema = encodeSchema(schema, `${parent}.schema`, report);
}

function rejectUnsupported(body: ChatRequest): void {
  const n = readNumber(body, "n");
  if (n !== undefined && n !== 1) {
    throw new TranslationError("n", "A translated request has one choice. Omit n, or send several requests.");
  }
  if (readArray(body, "modalities")?.includes("audio") === true) {
    throw new TranslationError(
      "modalities",
      'Audio output cannot be translated. Remove "audio" from modalities.',
    );
  }
  if (readBoolean(body, "logprobs") === true || (readNumber(body, "top_logprobs") ?? 0) > 0) {
    throw new TranslationError("logprobs", "logprobs cannot be translated. Omit logprobs and top_logprobs.");
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
