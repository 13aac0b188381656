// Requests of chat clients and the responses to them. The hub format is their own, so nothing is translated.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { formatSse } from "../sse.ts";
import type { InboundTranslator, ResponseContext, StreamEncoder } from "../translator.ts";
import { requestsStreamUsage } from "./stream-usage-option.ts";
import {
  CHAT_STREAM_DONE,
  type ChatCompletionChunk,
  type ChatErrorBody,
  type ChatRequest,
} from "./wire-types.ts";

export const openaiInbound: InboundTranslator = {
  decodeRequest: (body) => body,
  contextOf,
  encodeResponse: (completion) => completion,
  encodeError: (body) => body,
  encodeStream: (context) => new ChatStreamEncoder(context),
};

function contextOf({ model, stream_options: options, tools }: ChatRequest): ResponseContext {
  return {
    model: typeof model === "string" ? model : null,
    includeUsage: requestsStreamUsage(options),
    customTools: Array.isArray(tools) ? tools.flatMap(customToolName) : [],
    repeatedFields: null,
  };
}

function customToolName(tool: unknown): string[] {
  if (!isJsonObject(tool) || tool["type"] !== "custom" || !isJsonObject(tool["custom"])) return [];
  const { name }: JsonObject = tool["custom"];
  return typeof name === "string" ? [name] : [];
}

class ChatStreamEncoder implements StreamEncoder {
  readonly #includeUsage: boolean;
  #output = "";

  constructor({ includeUsage }: ResponseContext) {
    this.#includeUsage = includeUsage;
  }

  chunk(chunk: ChatCompletionChunk): void {
    if (this.#includeUsage) this.#write({ ...chunk, usage: chunk.usage ?? null });
    else if (chunk.choices.length > 0) this.#write(withoutUsage(chunk));
  }

  error(body: ChatErrorBody): void {
    this.#write(body);
  }

  done(): void {
    this.#output += formatSse({ data: CHAT_STREAM_DONE });
  }

  take(): string {
    const output = this.#output;
    this.#output = "";
    return output;
  }

  #write(data: object): void {
    this.#output += formatSse({ data: JSON.stringify(data) });
  }
}

function withoutUsage(chunk: ChatCompletionChunk): ChatCompletionChunk {
  if (chunk.usage === undefined) return chunk;
  const copy = { ...chunk };
  delete copy.usage;
  return copy;
}
