// Creates the parts of Responses that whole responses and streams share: the response object and its items.
import { newId } from "../../base/ids.ts";
import { parseObject, type JsonObject } from "../../base/json.ts";
import { customInputOf } from "../openai/custom-tool-calls.ts";
import type { ChatErrorBody, ChatFinishReason, ChatUsage } from "../openai/wire-types.ts";
import type { ResponseContext } from "../translator.ts";
import type { ClientTool } from "./client-tools.ts";
import type { CallItem, OutputItem, ResponseObject, ResponsesUsage } from "./wire-types.ts";

/** What a response says of fields that the request does not have. */
const DEFAULTS: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: null,
  truncation: "disabled",
  user: null,
};
const REPEATED_FIELDS = [
  ...Object.keys(DEFAULTS),
  "max_tool_calls",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "top_logprobs",
] as const;

/**
 * Returns the fields of a request that responses repeat. Fields that would exceed `maxLength` characters of JSON together with
 * those before them are left at their defaults.
 */
export function repeatedFields(request: JsonObject, maxLength: number): JsonObject {
  const fields: JsonObject = { ...DEFAULTS };
  let length = 0;
  for (const field of REPEATED_FIELDS) {
    const value = request[field] ?? null;
    if (value === null) continue;
    const valueLength = maxLength === Infinity ? 0 : JSON.stringify(value).length;
    if (length + valueLength > maxLength) continue;
    length += valueLength;
    fields[field] = value;
  }
  return fields;
}

/** Identifies responses that are not stored. */
export const STATELESS_ID_PREFIX = "resp_stateless_";

/** Of the id of a target's response: every item and every event of a stream repeats it. */
const MAX_SUFFIX = 256;

/** Creates the ids of a response and its items from the id of the target's response. They differ only in their prefix. */
export class ResponseIds {
  readonly #suffix: string;

  constructor(targetId: unknown) {
    const id =
      typeof targetId === "string" ? targetId.replaceAll(/[^A-Za-z0-9]/g, "").slice(-MAX_SUFFIX) : "";
    this.#suffix = id === "" ? newId().replaceAll("-", "") : id;
  }

  get response(): string {
    return STATELESS_ID_PREFIX + this.#suffix;
  }

  item(prefix: string, outputIndex: number): string {
    return `${prefix}_${this.#suffix}_${outputIndex}`;
  }
}

interface ResponseState {
  readonly ids: ResponseIds;
  readonly createdAt: unknown;
  readonly model: unknown;
}

export function createResponse(
  { ids, createdAt, model }: ResponseState,
  context: ResponseContext,
  output: OutputItem[],
): ResponseObject {
  return {
    id: ids.response,
    object: "response",
    created_at: typeof createdAt === "number" ? createdAt : Math.floor(Date.now() / 1000),
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    ...(context.repeatedFields ?? DEFAULTS),
    model: typeof model === "string" && model !== "" ? model : (context.model ?? ""),
    output,
    previous_response_id: null,
    service_tier: "default",
    store: false,
    usage: null,
  };
}

/** Sets the status of a complete response, and why it is incomplete if it is. */
export function finishResponse(
  response: ResponseObject,
  finishReason: ChatFinishReason | null,
  usage: ResponsesUsage,
): void {
  response.usage = usage;
  const reason = INCOMPLETE_REASONS.get(finishReason);
  response.status = reason === undefined ? "completed" : "incomplete";
  if (reason === undefined) return;
  response.incomplete_details = { reason };
  const last = response.output.at(-1);
  if (last !== undefined && last.type !== "reasoning") last.status = "incomplete";
}

const INCOMPLETE_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** Clients retry, wait or give up by the code. */
export function errorOf({ error }: ChatErrorBody): { code: string; message: string } {
  const { code, type, message } = error;
  return { code: code ?? (type === "rate_limit_error" ? "rate_limit_exceeded" : "server_error"), message };
}

/** Not every chat server reports usage, but clients require the counts. */
export function toResponsesUsage(usage: ChatUsage | null): ResponsesUsage {
  const { cached_tokens = 0, cache_write_tokens = 0 } = usage?.prompt_tokens_details ?? {};
  return {
    input_tokens: usage?.prompt_tokens ?? 0,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens: usage?.completion_tokens ?? 0,
    output_tokens_details: { reasoning_tokens: usage?.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage?.total_tokens ?? 0,
  };
}

const CALL_PREFIXES = { function: "fc", custom: "ctc", tool_search: "tsc" } as const;

/** Creates the item of a call, without its arguments. */
export function createCall(
  tool: ClientTool,
  callId: string,
  ids: ResponseIds,
  outputIndex: number,
): CallItem {
  const id = ids.item(CALL_PREFIXES[tool.type], outputIndex);
  const status = "in_progress";
  const { name } = tool;
  const namespace = tool.namespace === null ? {} : { namespace: tool.namespace };
  switch (tool.type) {
    case "function":
      return { id, type: "function_call", status, call_id: callId, name, ...namespace, arguments: "" };
    case "custom":
      return { id, type: "custom_tool_call", status, call_id: callId, name, ...namespace, input: "" };
    case "tool_search":
      return { id, type: "tool_search_call", status, call_id: callId, execution: "client", arguments: {} };
  }
}

/** Sets the arguments of a call, which the model wrote as `json`. */
export function completeCall(call: CallItem, json: string): void {
  call.status = "completed";
  switch (call.type) {
    case "function_call":
      // OpenAI's clients parse the arguments, and "" is not JSON.
      call.arguments = json === "" ? "{}" : json;
      return;
    case "custom_tool_call":
      call.input = customInputOf(json);
      return;
    case "tool_search_call":
      call.arguments = parseObject(json) ?? {};
  }
}
