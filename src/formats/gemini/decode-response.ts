// Translates whole Gemini responses to OpenAI chat; decode-stream.ts translates streams, whose events have the same form.
// Images and the code that Gemini ran are left out: chat messages have no place for them.
import { stringifyExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { chatUsageOf } from "../chat-usage.ts";
import { textOrEmpty } from "../json-values.ts";
import type { ChatCompletion, ChatFinishReason, ChatToolCall } from "../openai/wire-types.ts";
import type { DecodeOptions } from "../translator.ts";
import { endingOf, firstCandidate, type Ending } from "./ending.ts";
import { toReasoningDetail } from "./reasoning.ts";
import { decodeToolName } from "./tool-names.ts";
import { geminiUsage } from "./usage.ts";

/** OpenAI rejects ids of more than 40 characters. */
const MAX_ID_PART = 28;

/** What the gateway reads of a part of a response. */
export type DecodedPart =
  | { readonly kind: "text" | "thought"; readonly text: string; readonly signature: string | null }
  | { readonly kind: "call"; readonly call: ChatToolCall; readonly signature: string | null };

/** Gemini's responses carry no time. */
export function decodeResponse(body: unknown, { createdAt }: DecodeOptions): ChatCompletion | null {
  if (!isJsonObject(body)) return null;
  const candidate = firstCandidate(body);
  const ending = endingOf(body, candidate);
  if (candidate === null && ending === null) return null;
  const ids = new CallIds(body);
  let content = "";
  let reasoning = "";
  const calls: ChatToolCall[] = [];
  const details: ReasoningDetail[] = [];
  for (const part of decodeParts(candidate, ids)) {
    if (part.kind === "call") calls.push(part.call);
    else if (part.kind === "thought") reasoning += part.text;
    else content += part.text;
    const id = part.kind === "call" ? part.call.id : null;
    if (part.signature !== null) details.push(toReasoningDetail(part.signature, id));
  }
  return {
    id: textOrEmpty(body["responseId"]),
    object: "chat.completion",
    created: createdAt,
    model: textOrEmpty(body["modelVersion"]),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content === "" && (calls.length > 0 || candidate === null) ? null : content,
          refusal: ending?.refusal ?? null,
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(details.length === 0 ? {} : { reasoning_details: details }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(ending, calls.length > 0),
      },
    ],
    usage: chatUsageOf(geminiUsage, body["usageMetadata"]),
  };
}

/** Gemini's finish reason is STOP, whether the model calls functions or not. */
export function finishReason(ending: Ending | null, hasCalls: boolean): ChatFinishReason {
  const reason = ending?.reason ?? "stop";
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}

export function decodeParts(candidate: JsonObject | null, ids: CallIds): DecodedPart[] {
  const content = candidate?.["content"];
  const parts: unknown = isJsonObject(content) ? content["parts"] : null;
  const decoded: DecodedPart[] = [];
  for (const part of Array.isArray(parts) ? parts : []) {
    if (!isJsonObject(part)) continue;
    const signature = textOrEmpty(part["thoughtSignature"]) || null;
    const { functionCall } = part;
    if (isJsonObject(functionCall)) {
      decoded.push({ kind: "call", call: decodeCall(functionCall, ids), signature });
    } else {
      const text = textOrEmpty(part["text"]);
      const kind = part["thought"] === true ? "thought" : "text";
      if (text !== "" || signature !== null) decoded.push({ kind, text, signature });
    }
  }
  return decoded;
}

function decodeCall({ id, name, args }: JsonObject, ids: CallIds): ChatToolCall {
  return {
    id: ids.next(id),
    type: "function",
    function: {
      name: decodeToolName(textOrEmpty(name)),
      arguments: isJsonObject(args) ? stringifyExact(args) : JSON.stringify(args ?? {}),
    },
  };
}

/** Ids of the tool calls of one response. Gemini may leave them out, but clients refer to calls by them. */
export class CallIds {
  readonly #prefix: string;
  #count = 0;

  constructor({ responseId }: JsonObject) {
    // The id of the response makes the ids unique in a conversation, and the same each time the response is read.
    const source = textOrEmpty(responseId) || crypto.randomUUID();
    this.#prefix = `call_${source.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_ID_PART)}`;
  }

  next(given: unknown): string {
    const index = this.#count++;
    return textOrEmpty(given) || `${this.#prefix}_${index}`;
  }
}
