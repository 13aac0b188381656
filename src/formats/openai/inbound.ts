// Requests of chat clients and the responses to them. The hub format is their own, so only calls of custom tools are translated.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { formatSse } from "../sse.ts";
import type { InboundTranslator, ResponseContext, StreamEncoder } from "../translator.ts";
import { reportUnknownInside } from "../unknown-fields.ts";
import { CustomCallStream, withCustomCalls } from "./custom-tool-calls.ts";
import { KNOWN_CHAT_FIELDS } from "./known-fields.ts";
import { requestsStreamUsage } from "./stream-usage-option.ts";
import {
  CHAT_STREAM_DONE,
  type ChatCompletionChunk,
  type ChatErrorBody,
  type ChatRequest,
} from "./wire-types.ts";

export const openaiInbound: InboundTranslator = {
  decodeRequest(body, report) {
    reportUnknownInside(body, KNOWN_CHAT_FIELDS, report);
    return body;
  },
  fieldNames: new Map(),
  contextOf,
  withoutForeignReasoning: null,
  encodeResponse: (completion, { customTools }) =>
    customTools.length === 0 ? completion : withCustomCalls(completion, customTools),
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
  readonly #customCalls: CustomCallStream | null;
  #detailCount = 0;
  #output = "";

  constructor({ includeUsage, customTools }: ResponseContext) {
    this.#includeUsage = includeUsage;
    this.#customCalls = customTools.length === 0 ? null : new CustomCallStream(customTools);
  }

  chunk(given: ChatCompletionChunk): void {
    if (!this.#includeUsage && given.choices.length === 0) return;
    const chunk = this.#numberDetails(given);
    const own = this.#includeUsage ? { ...chunk, usage: chunk.usage ?? null } : withoutUsage(chunk);
    const written = this.#customCalls === null ? own : this.#customCalls.rewrite(own);
    if (written !== null) this.#write(written);
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

  /** SDKs that merge the deltas of a stream require an index in the entries of lists, as tool calls have it. */
  #numberDetails(chunk: ChatCompletionChunk): ChatCompletionChunk {
    const [choice] = chunk.choices;
    const details = choice?.delta.reasoning_details;
    if (choice === undefined || details === undefined) return chunk;
    const numbered = details.map((detail) => ({ ...detail, index: this.#detailCount++ }));
    const delta = { ...choice.delta, reasoning_details: numbered };
    return { ...chunk, choices: [{ ...choice, delta }] };
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
