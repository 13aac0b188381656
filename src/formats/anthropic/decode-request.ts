// Translates an Anthropic messages request to a chat request: the top-level fields. Messages and tools have their own files.
// Fields that bind the request to Anthropic's own services are rejected; hints are dropped and reported.
import type { JsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readObject, readString, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { reportUnknownInside } from "../unknown-fields.ts";
import { isEffort, isOff } from "../wanted-reasoning.ts";
import { decodeMessages } from "./decode-messages.ts";
import { decodeTools } from "./decode-tools.ts";
import { KNOWN_MESSAGE_FIELDS } from "./known-fields.ts";

/** Fields without which the response would not be what the client requires, with the reason. */
const REJECTED: Readonly<Record<string, string>> = {
  mcp_servers:
    "MCP servers can only be called by Anthropic. Remove mcp_servers, or define their tools in the request.",
  container: "Containers exist only at Anthropic. Remove container.",
  inference_geo: "Only Anthropic can choose the region of the inference. Remove inference_geo.",
};

const KNOWN_FIELDS = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "metadata",
  "output_config",
  "output_format",
  // Of Amazon Bedrock and Vertex AI: the version of the API.
  "anthropic_version",
]);

export function decodeRequest(body: JsonObject, report: TranslationReport): ChatRequest {
  if ((body["thread"] ?? null) !== null) {
    throw new TranslationError(
      "thread",
      "Message threads are stored by Anthropic only. Omit thread, and send the whole conversation.",
      "thread_unsupported_request",
    );
  }
  for (const [field, value] of Object.entries(body)) {
    if (KNOWN_FIELDS.has(field) || value === null || value === undefined) continue;
    const reason = REJECTED[field];
    if (reason !== undefined && !(Array.isArray(value) && value.length === 0))
      throw new TranslationError(field, reason);
    report.drop(field);
  }
  const request: JsonObject = {};
  const model = readString(body, "model");
  if (model !== undefined) request["model"] = model;
  request["messages"] = decodeMessages(body, report);
  Object.assign(request, decodeTools(body, report));
  for (const field of ["max_tokens", "temperature", "top_p", "top_k"]) {
    const value = readNumber(body, field);
    if (value !== undefined) request[field] = value;
  }
  const stop = readArray(body, "stop_sequences");
  if (stop !== undefined && stop.length > 0) request["stop"] = stop;
  const stream = readBoolean(body, "stream");
  if (stream !== undefined) request["stream"] = stream;
  addReasoning(request, body);
  addFormat(request, body);
  reportUnknownInside(body, KNOWN_MESSAGE_FIELDS, report);
  dropOthers(body, "metadata", ["user_id"], report);
  dropOthers(body, "output_config", ["effort", "format"], report);
  const user = readString(readObject(body, "metadata") ?? {}, "user_id", "metadata");
  if (user !== undefined && user !== "") request["user"] = user;
  return request;
}

/**
 * A budget stays what it is until the target is known. Thinking that is off wins over an effort, as at
 * Anthropic.
 */
function addReasoning(request: JsonObject, body: JsonObject): void {
  const thinking = readObject(body, "thinking");
  const effort = readObject(body, "output_config")?.["effort"];
  if (thinking !== undefined && isOff(thinking)) request["reasoning_effort"] = "none";
  else {
    const { type, budget_tokens: budget, display } = thinking ?? {};
    const isOn = type === "adaptive" || typeof budget === "number" || type === "enabled";
    if (isOn)
      request["thinking"] = {
        type,
        ...(typeof budget === "number" ? { budget_tokens: budget } : {}),
        ...((display ?? null) === null ? {} : { display }),
      };
    if (typeof effort === "string" && isEffort(effort)) request["reasoning_effort"] = effort;
  }
}

/** Reports the fields of the object at `key` that are not read. */
function dropOthers(
  body: JsonObject,
  key: string,
  known: readonly string[],
  report: TranslationReport,
): void {
  for (const [name, value] of Object.entries(readObject(body, key) ?? {}))
    if (!known.includes(name) && value !== null) report.drop(`${key}.${name}`);
}

/** `output_format` is the name of `output_config.format` in older versions of the API. */
function addFormat(request: JsonObject, body: JsonObject): void {
  const format = readObject(body, "output_config")?.["format"] ?? body["output_format"] ?? null;
  if (format === null) return;
  const { type, schema } = requireObject(format, "output_config.format");
  if (type !== "json_schema")
    throw new TranslationError(
      "output_config.format.type",
      'output_config.format.type must be "json_schema".',
    );
  request["response_format"] = {
    type: "json_schema",
    // OpenAI requires a name, Anthropic has none. Anthropic always enforces the schema.
    json_schema: {
      name: "output",
      strict: true,
      schema: requireObject(schema, "output_config.format.schema"),
    },
  };
}
