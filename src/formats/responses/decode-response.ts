// Translates whole responses of the Responses API to chat completions; decode-stream.ts translates streams.
import { GatehouseError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { chatUsageOf } from "../chat-usage.ts";
import { textOrEmpty } from "../json-values.ts";
import { openaiUsage } from "../openai/usage.ts";
import type { ChatCompletion, ChatFinishReason, ChatToolCall, ChatUsage } from "../openai/wire-types.ts";
import type { DecodeOptions } from "../translator.ts";

/** Returns null if the body is no response. Throws a GatehouseError if the response failed. */
export function decodeResponse(body: unknown, options: DecodeOptions): ChatCompletion | null {
  if (!isJsonObject(body) || body["object"] !== "response" || !Array.isArray(body["output"])) return null;
  if (body["status"] === "failed") throw failure(body["error"]);
  const output = new DecodedOutput(options.targetTag);
  for (const item of body["output"]) if (isJsonObject(item)) output.add(item);
  const { text, refusal, reasoning, details, calls } = output;
  return {
    id: textOrEmpty(body["id"]),
    object: "chat.completion",
    created: typeof body["created_at"] === "number" ? Math.floor(body["created_at"]) : options.createdAt,
    model: textOrEmpty(body["model"]),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
          refusal: refusal === "" ? null : refusal,
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(details.length === 0 ? {} : { reasoning_details: details }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: toFinishReason(body, calls.length > 0),
      },
    ],
    usage: toChatUsage(body["usage"]),
  };
}

function failure(error: unknown): GatehouseError {
  const message = isJsonObject(error) ? textOrEmpty(error["message"]) : "";
  return new GatehouseError(
    "upstream_bad_answer",
    `The provider could not create the response. ${message}`.trim(),
  );
}

class DecodedOutput {
  readonly #targetTag: string;
  readonly details: ReasoningDetail[] = [];
  readonly calls: ChatToolCall[] = [];
  text = "";
  refusal = "";
  reasoning = "";

  constructor(targetTag: string) {
    this.#targetTag = targetTag;
  }

  add(item: JsonObject): void {
    switch (item["type"]) {
      case "message":
        for (const part of partsOf(item["content"])) {
          if (part["type"] === "output_text") this.text += textOrEmpty(part["text"]);
          else if (part["type"] === "refusal") this.refusal += textOrEmpty(part["refusal"]);
        }
        return;
      case "reasoning": {
        const text = reasoningTextOf(item);
        if (text !== "") this.reasoning += this.reasoning === "" ? text : PARAGRAPH + text;
        const detail = toDetail(item, this.#targetTag);
        if (detail !== null) this.details.push(detail);
        return;
      }
      case "function_call":
      case "custom_tool_call":
        this.calls.push(decodeCall(item));
        return;
      default:
      // Items of tools that the provider runs. Translated requests do not contain such tools.
    }
  }
}

/** Between the parts of a summary. */
export const PARAGRAPH = "\n\n";

export function reasoningTextOf({ summary, content }: JsonObject): string {
  const parts = partsOf(summary);
  return (parts.length > 0 ? parts : partsOf(content))
    .map(({ text }) => textOrEmpty(text))
    .filter((text) => text !== "")
    .join(PARAGRAPH);
}

export function partsOf(content: unknown): JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** Returns null if the item has no encrypted reasoning. */
export function toDetail(
  { id, encrypted_content: data }: JsonObject,
  target: string,
): ReasoningDetail | null {
  if (typeof data !== "string" || data === "") return null;
  const detail = { type: "reasoning.encrypted", format: "responses", data, target } as const;
  return typeof id === "string" ? { ...detail, id } : detail;
}

/** In the hub format calls of custom tools are calls of functions with one field, `input`. */
function decodeCall({ type, call_id, name, arguments: json, input }: JsonObject): ChatToolCall {
  const isCustom = type === "custom_tool_call";
  const text = isCustom ? JSON.stringify({ input: textOrEmpty(input) }) : textOrEmpty(json);
  return {
    id: textOrEmpty(call_id),
    type: "function",
    function: { name: textOrEmpty(name), arguments: text },
  };
}

export function toFinishReason(
  { status, incomplete_details: details }: JsonObject,
  hasCalls: boolean,
): ChatFinishReason {
  if (status === "incomplete") {
    return isJsonObject(details) && details["reason"] === "content_filter" ? "content_filter" : "length";
  }
  return hasCalls ? "tool_calls" : "stop";
}

/** Usage of the Responses API always has a count of reasoning, also if there is none. */
export function toChatUsage(usage: unknown): ChatUsage {
  const chatUsage = chatUsageOf(openaiUsage, usage);
  if (!isJsonObject(usage)) return chatUsage;
  const details = chatUsage.completion_tokens_details ?? { reasoning_tokens: 0 };
  return { ...chatUsage, completion_tokens_details: details };
}
