// Translates Anthropic's message stream into OpenAI's chat stream, bytes to bytes, as the events come.
// It never invents an end: [DONE] is written for message_stop alone, and end() tells the caller how it went.
import type {
  AnthropicResponseBlock,
  AnthropicStop,
  AnthropicStreamEvent,
  AnthropicUsage,
} from "../anthropic-messages.ts";
import { isJsonObject } from "../../base/json.ts";
import {
  CHAT_STREAM_DONE,
  type ChatCompletionChunk,
  type ChatDelta,
  type ChatErrorBody,
  type ChatUsage,
} from "../openai-chat.ts";
import { formatSse, SseParser } from "../sse.ts";
import {
  refusalOf,
  toChatUsage,
  toFinishReason,
  translateError,
} from "./anthropic-messages-to-openai-chat.ts";
import { TranslationError } from "./translation-error.ts";

export interface MessageStreamOptions {
  /** Unix seconds, the same in every chunk. */
  readonly created: number;
  /** The client's `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  readonly maxEventBytes?: number;
}

export interface MessageStreamEnd {
  /** True after message_stop. Otherwise the client's stream is to be broken off, not closed. */
  readonly complete: boolean;
  /** The error the provider sent inside the stream; the client has been told of it already. */
  readonly error: ChatErrorBody | null;
}

/** A tool_use block under way. */
interface OpenToolCall {
  readonly index: number;
  readonly input: unknown;
  hasArguments: boolean;
}

const encoder = new TextEncoder();

export class MessageStreamTranslator {
  readonly #parser: SseParser;
  readonly #created: number;
  readonly #includeUsage: boolean;
  readonly #openToolCalls = new Map<number, OpenToolCall>();
  #toolCallCount = 0;
  #id = "";
  #model: string | null = null;
  #usage: AnthropicUsage | null = null;
  #hasFinishReason = false;
  #isComplete = false;
  #error: ChatErrorBody | null = null;
  #output = "";

  constructor(options: MessageStreamOptions) {
    this.#parser = new SseParser(options.maxEventBytes);
    this.#created = options.created;
    this.#includeUsage = options.includeUsage;
  }

  /** The model that the provider says is answering; null before it said so. */
  get model(): string | null {
    return this.#model;
  }

  /** The tokens counted so far, whether or not the client asked for them; null before the first count. */
  get usage(): ChatUsage | null {
    return this.#usage === null ? null : toChatUsage(this.#usage);
  }

  /** Returns what the client gets for these bytes; null for nothing yet. Throws when the stream is unreadable. */
  push(bytes: Uint8Array): Uint8Array | null {
    for (const { data } of this.#parser.push(bytes)) {
      if (this.#isComplete || this.#error !== null) break;
      this.#translate(parseEvent(data));
    }
    if (this.#output === "") return null;
    const output = encoder.encode(this.#output);
    this.#output = "";
    return output;
  }

  end(): MessageStreamEnd {
    return { complete: this.#isComplete, error: this.#error };
  }

  #translate(event: AnthropicStreamEvent): void {
    switch (event.type) {
      case "message_start":
        this.#id = event.message.id;
        this.#model = event.message.model;
        this.#addUsage(event.message.usage);
        this.#writeChunk({ role: "assistant", content: "" });
        return;
      case "content_block_start":
        this.#startBlock(event.index, event.content_block);
        return;
      case "content_block_delta":
        if (event.delta.type === "text_delta") this.#writeText(event.delta.text);
        else if (event.delta.type === "input_json_delta") {
          this.#writeArguments(event.index, event.delta.partial_json);
        }
        return;
      case "content_block_stop":
        this.#stopBlock(event.index);
        return;
      case "message_delta":
        this.#addUsage(event.usage);
        if ((event.delta.stop_reason ?? null) !== null) this.#writeFinish(event.delta);
        return;
      case "message_stop":
        this.#stop();
        return;
      case "error":
        this.#error = translateError(event, 500);
        this.#output += formatSse({ data: JSON.stringify(this.#error) });
        return;
      case "ping":
        return;
      default:
      // Anthropic adds event types over time and asks clients to pass over those they do not know.
    }
  }

  #startBlock(index: number, block: AnthropicResponseBlock): void {
    if (block.type === "text") this.#writeText(block.text);
    if (block.type !== "tool_use") return;
    const call = { index: this.#toolCallCount, input: block.input, hasArguments: false };
    this.#toolCallCount += 1;
    this.#openToolCalls.set(index, call);
    const { id = "", name = "" } = block;
    this.#writeChunk({
      tool_calls: [{ index: call.index, id, type: "function", function: { name, arguments: "" } }],
    });
  }

  #writeText(text: string | undefined): void {
    if (text !== undefined && text !== "") this.#writeChunk({ content: text });
  }

  #writeArguments(blockIndex: number, json: string | undefined): void {
    const call = this.#openToolCalls.get(blockIndex);
    // A block that is not the client's to run (a server tool's) has deltas as well, but no open call.
    if (call === undefined || json === undefined || json === "") return;
    call.hasArguments = true;
    this.#writeChunk({ tool_calls: [{ index: call.index, function: { arguments: json } }] });
  }

  #stopBlock(blockIndex: number): void {
    const call = this.#openToolCalls.get(blockIndex);
    if (call === undefined) return;
    // A tool without parameters gets no JSON at all from Anthropic; OpenAI's clients parse what they have gathered,
    // and "" is not JSON.
    if (!call.hasArguments) this.#writeArguments(blockIndex, JSON.stringify(call.input ?? {}));
    this.#openToolCalls.delete(blockIndex);
  }

  #writeFinish(stop: AnthropicStop): void {
    this.#hasFinishReason = true;
    const refusal = refusalOf(stop);
    this.#writeChunk(refusal === null ? {} : { refusal }, stop);
  }

  #stop(): void {
    if (!this.#hasFinishReason) this.#writeFinish({});
    if (this.#includeUsage) this.#write({ ...this.#chunk([]), usage: toChatUsage(this.#usage ?? {}) });
    this.#output += formatSse({ data: CHAT_STREAM_DONE });
    this.#isComplete = true;
  }

  #addUsage(usage: AnthropicUsage | undefined): void {
    if (usage === undefined) return;
    // Counts are cumulative; one that a later event leaves out or nulls keeps its earlier value.
    const known = Object.entries(usage).filter(([, count]) => (count ?? null) !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) };
  }

  #writeChunk(delta: ChatDelta, stop: AnthropicStop | null = null): void {
    const finish_reason = stop === null ? null : toFinishReason(stop);
    this.#write(this.#chunk([{ index: 0, delta, logprobs: null, finish_reason }]));
  }

  #chunk(choices: ChatCompletionChunk["choices"]): ChatCompletionChunk {
    return {
      id: this.#id,
      object: "chat.completion.chunk",
      created: this.#created,
      model: this.#model ?? "",
      choices,
      ...(this.#includeUsage ? { usage: null } : {}),
    };
  }

  #write(chunk: ChatCompletionChunk): void {
    this.#output += formatSse({ data: JSON.stringify(chunk) });
  }
}

function parseEvent(data: string): AnthropicStreamEvent {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    value = null;
  }
  // The payload names its own type, so the event's name is not needed; proxies are known to lose it.
  if (isJsonObject(value) && typeof value["type"] === "string")
    return value as unknown as AnthropicStreamEvent;
  throw new TranslationError(
    "stream",
    "The provider's stream holds an event that is not Anthropic's: check its format.",
  );
}
