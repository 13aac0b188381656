// Writes a request of the hub format as OpenAI's chat endpoint and compatible ones accept it: without the hub's additions,
// and with the fields that the model accepts.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import { readArray, readNumber, readObject, readString, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import { emulateStop, readStop } from "../stop-sequences.ts";
import type { TranslationReport } from "../translation-report.ts";
import { effortFor, wantedReasoning } from "../wanted-reasoning.ts";
import { chatModelOf, rejectsSampling } from "./chat-models.ts";
import { encodeMessages } from "./encode-messages.ts";
import { isStrictSchema } from "./strict-schema.ts";
import type { ChatRequest } from "./wire-types.ts";

/** Fields that need no translation. */
const SAME_FIELDS = [
  "model",
  "n",
  "modalities",
  "audio",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "frequency_penalty",
  "presence_penalty",
  "seed",
  "verbosity",
  "store",
  "metadata",
  "service_tier",
  "prediction",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "web_search_options",
  "functions",
  "function_call",
] as const;

const KNOWN_FIELDS = new Set<string>([
  ...SAME_FIELDS,
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "stream",
  "stream_options",
  "response_format",
  "reasoning_effort",
  "thinking",
  "user",
]);

/** OpenAI rejects longer ones. */
const MAX_USER_LENGTH = 64;

export function encodeRequest(request: ChatRequest, { report }: { report: TranslationReport }): JsonObject {
  for (const field of Object.keys(request))
    if (!KNOWN_FIELDS.has(field) && (request[field] ?? null) !== null) report.drop(field);
  const model = chatModelOf(request.model);
  const encoded: JsonObject = {};
  for (const field of SAME_FIELDS) if ((request[field] ?? null) !== null) encoded[field] = request[field];
  encoded["messages"] = encodeMessages(request.messages, model.readsReasoning, report);
  addTools(encoded, request, report);
  const limit = readNumber(request, "max_completion_tokens") ?? readNumber(request, "max_tokens");
  if (limit !== undefined) encoded[model.hasCompletionLimit ? "max_completion_tokens" : "max_tokens"] = limit;
  const effort = addEffort(encoded, request, model, report);
  addSampling(encoded, request, rejectsSampling(model, effort), report);
  addStop(encoded, request, model.hasStop, report);
  addStream(encoded, request);
  addFormat(encoded, request, report);
  const user = readString(request, "user");
  if (user !== undefined) encoded["user"] = user.length > MAX_USER_LENGTH ? sha256(user) : user;
  return encoded;
}

/** Returns the effort that is sent; null if the model decides. */
function addEffort(
  encoded: JsonObject,
  request: ChatRequest,
  model: ReturnType<typeof chatModelOf>,
  report: TranslationReport,
): string | null {
  const wanted = wantedReasoning(request);
  const hasTools = encoded["tools"] !== undefined;
  let effort = wanted === null ? null : effortFor(wanted, model.efforts);
  if (hasTools && model.chatTools === "without reasoning") {
    // The request would be rejected, also if it names no effort.
    if (wanted !== null && effort !== "none") report.drop("reasoning_effort");
    effort = "none";
  } else if (wanted !== null && effort === null && wanted.effort !== "none") report.drop("reasoning_effort");
  if (effort !== null) encoded["reasoning_effort"] = effort;
  return effort;
}

function addTools(encoded: JsonObject, request: ChatRequest, report: TranslationReport): void {
  const tools = readArray(request, "tools") ?? [];
  // OpenAI rejects the other two fields without tools. They have no effect then, unless they require a tool call.
  if (tools.length === 0) {
    const choice = request.tool_choice ?? "auto";
    if (choice === "auto" || choice === "none") return;
    throw new TranslationError(
      "tool_choice",
      'tool_choice requires a tool call, but the request has no tools. Add tools, or set tool_choice to "auto".',
    );
  }
  encoded["tools"] = tools.map((tool, index) => encodeTool(requireObject(tool, `tools[${index}]`), report));
  for (const field of ["tool_choice", "parallel_tool_calls"])
    if ((request[field] ?? null) !== null) encoded[field] = request[field];
}

function encodeTool(tool: JsonObject, report: TranslationReport): JsonObject {
  const encoded = { ...tool };
  if (encoded["cache_control"] !== undefined) {
    delete encoded["cache_control"];
    report.drop("cache_control");
  }
  const definition = tool["function"];
  if (
    isJsonObject(definition) &&
    definition["strict"] === true &&
    !isStrictSchema(definition["parameters"])
  ) {
    encoded["function"] = { ...definition, strict: false };
    report.drop("strict");
  }
  return encoded;
}

function addSampling(
  encoded: JsonObject,
  request: ChatRequest,
  isRejected: boolean,
  report: TranslationReport,
): void {
  for (const field of ["temperature", "top_p"]) {
    const value = readNumber(request, field);
    if (value === undefined) continue;
    if (!isRejected) encoded[field] = value;
    // 1 is the default.
    else if (value !== 1) report.drop(field);
  }
}

function addStop(
  encoded: JsonObject,
  request: ChatRequest,
  isAccepted: boolean,
  report: TranslationReport,
): void {
  const stop = request.stop ?? null;
  if (stop === null) return;
  if (isAccepted) encoded["stop"] = stop;
  else emulateStop(readStop(stop, report), report);
}

/** The usage is part of streams in all formats but this one, so it is always requested. */
function addStream(encoded: JsonObject, request: ChatRequest): void {
  if ((request.stream ?? null) === null) return;
  encoded["stream"] = request.stream;
  if (request.stream !== true) return;
  encoded["stream_options"] = { ...readObject(request, "stream_options"), include_usage: true };
}

/** OpenAI enforces a schema only if all its properties are required. Others become best effort. */
function addFormat(encoded: JsonObject, request: ChatRequest, report: TranslationReport): void {
  const format = readObject(request, "response_format");
  if (format === undefined) return;
  const definition = format["json_schema"];
  const isLoose =
    isJsonObject(definition) && definition["strict"] === true && !isStrictSchema(definition["schema"]);
  if (isLoose) report.drop("strict");
  encoded["response_format"] = isLoose
    ? { ...format, json_schema: { ...definition, strict: false } }
    : format;
}
