// Translates a stream of the Responses API to a chat stream while it arrives. It is complete only with response.completed or
// response.incomplete, so that a cut stream never looks complete.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { EventStreamDecoder, foreignEvent, parseEvent } from "../event-stream-decoder.ts";
import { textOrEmpty } from "../json-values.ts";
import { decodeError } from "../openai/decode-response.ts";
import type { ChatDelta, ChatFinishReason } from "../openai/wire-types.ts";
import type { ChatStreamSink, DecodeOptions } from "../translator.ts";
import {
  PARAGRAPH,
  partsOf,
  reasoningTextOf,
  toChatUsage,
  toDetail,
  toFinishReason,
} from "./decode-response.ts";

const API = "the Responses API";

interface OpenCall {
  /** Index among the calls, which differs from the index among the items. */
  readonly index: number;
  readonly isCustom: boolean;
  hasInput: boolean;
  isEnded: boolean;
}

/** In the hub format calls of custom tools are calls of functions with one field, `input`. */
const CUSTOM_INPUT_START = '{"input":"';
const CUSTOM_INPUT_END = '"}';

export class ResponseStreamDecoder extends EventStreamDecoder {
  readonly #targetTag: string;
  /** By output index. */
  readonly #calls = new Map<unknown, OpenCall>();
  /** Output indexes of messages whose text or refusal has begun. */
  readonly #messages = new Set<unknown>();
  /** Output indexes of reasoning items whose text has begun. */
  readonly #reasoning = new Set<unknown>();
  /** Output indexes of reasoning items that have ended. */
  readonly #endedReasoning = new Set<unknown>();
  #startsParagraph = false;
  #isStarted = false;

  constructor(options: DecodeOptions, sink: ChatStreamSink) {
    super(options, sink);
    this.#targetTag = options.targetTag;
  }

  protected override decode(data: string): void {
    // Azure and others end the stream as chat streams end, after the last event.
    if (data === "[DONE]") return;
    const event = parseEvent(data, API);
    if (typeof event["type"] !== "string") throw foreignEvent(API);
    const { type, delta, item, response, output_index: index } = event;
    switch (type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        this.#start(response);
        return;
      case "response.output_text.delta":
        this.#writeText(index, textOrEmpty(delta));
        return;
      case "response.refusal.delta":
        this.#writeRefusal(index, textOrEmpty(delta));
        return;
      case "response.reasoning_summary_part.added":
        this.#startsParagraph = true;
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#writeReasoning(index, textOrEmpty(delta));
        return;
      case "response.output_item.added":
        if (isJsonObject(item)) this.#startItem(index, item);
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        this.#writeInput(index, textOrEmpty(delta));
        return;
      case "response.output_item.done":
        if (isJsonObject(item)) this.#endItem(index, item);
        return;
      default:
        this.#decodeEnd(event);
    }
  }

  #decodeEnd({ type, response, ...event }: JsonObject): void {
    const body = isJsonObject(response) ? response : {};
    switch (type) {
      case "response.completed":
      case "response.incomplete":
        this.#completeWith(body, type);
        return;
      case "response.failed":
        this.#failWith(body["error"]);
        return;
      case "error":
        // The fields of the error are those of the event, or are in an object, as in chat streams.
        this.#failWith(isJsonObject(event["error"]) ? event["error"] : event);
        return;
      default:
      // Events without content, and types that were added later.
    }
  }

  #start(response: unknown): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (isJsonObject(response)) {
      this.id = textOrEmpty(response["id"]);
      this.model = textOrEmpty(response["model"]);
    }
    this.#writeChunk({ role: "assistant", content: "" });
  }

  #writeText(outputIndex: unknown, text: string): void {
    if (text === "") return;
    this.#messages.add(outputIndex);
    this.#write({ content: text });
  }

  #writeRefusal(outputIndex: unknown, refusal: string): void {
    if (refusal === "") return;
    this.#messages.add(outputIndex);
    this.#write({ refusal });
  }

  #writeReasoning(outputIndex: unknown, text: string): void {
    if (text === "") return;
    const separator = this.#reasoning.size > 0 && this.#startsParagraph ? PARAGRAPH : "";
    this.#reasoning.add(outputIndex);
    this.#startsParagraph = false;
    this.#write({ reasoning_content: separator + text });
  }

  #startItem(outputIndex: unknown, { type, call_id, name }: JsonObject): void {
    if (type === "reasoning") this.#startsParagraph = true;
    const isCustom = type === "custom_tool_call";
    if ((!isCustom && type !== "function_call") || this.#calls.has(outputIndex)) return;
    const index = this.#calls.size;
    this.#calls.set(outputIndex, { index, isCustom, hasInput: false, isEnded: false });
    const json = isCustom ? CUSTOM_INPUT_START : "";
    this.#write({
      tool_calls: [
        {
          index,
          id: textOrEmpty(call_id),
          type: "function",
          function: { name: textOrEmpty(name), arguments: json },
        },
      ],
    });
  }

  #writeInput(outputIndex: unknown, input: string): void {
    const call = this.#calls.get(outputIndex);
    if (call === undefined || input === "") return;
    call.hasInput = true;
    this.#writeArguments(call, call.isCustom ? JSON.stringify(input).slice(1, -1) : input);
  }

  #writeArguments({ index }: OpenCall, json: string): void {
    this.#writeChunk({ tool_calls: [{ index, function: { arguments: json } }] });
  }

  #endItem(outputIndex: unknown, item: JsonObject): void {
    switch (item["type"]) {
      case "reasoning":
        this.#endReasoning(outputIndex, item);
        return;
      case "message":
        this.#endMessage(outputIndex, item);
        return;
      case "function_call":
      case "custom_tool_call":
        this.#endCall(outputIndex, item);
        return;
      default:
    }
  }

  /** Some servers send nothing before the complete response. */
  #writeOutput({ output }: JsonObject): void {
    if (this.#reasoning.size > 0 || this.#messages.size > 0 || this.#calls.size > 0) return;
    for (const [index, item] of partsOf(output).entries()) this.#endItem(index, item);
  }

  /** Reasoning that is encrypted has no text, so that only its index says whether it was written. */
  #endReasoning(outputIndex: unknown, item: JsonObject): void {
    if (this.#endedReasoning.has(outputIndex)) return;
    this.#endedReasoning.add(outputIndex);
    if (!this.#reasoning.has(outputIndex)) this.#writeReasoning(outputIndex, reasoningTextOf(item));
    this.#startsParagraph = true;
    const detail = toDetail(item, this.#targetTag);
    if (detail !== null) this.#write({ reasoning_details: [detail] });
  }

  /** Some servers send texts and arguments only with the complete item. */
  #endMessage(outputIndex: unknown, item: JsonObject): void {
    if (this.#messages.has(outputIndex)) return;
    for (const part of partsOf(item["content"])) {
      this.#writeText(outputIndex, part["type"] === "output_text" ? textOrEmpty(part["text"]) : "");
      this.#writeRefusal(outputIndex, part["type"] === "refusal" ? textOrEmpty(part["refusal"]) : "");
    }
  }

  #endCall(outputIndex: unknown, item: JsonObject): void {
    this.#startItem(outputIndex, item);
    const call = this.#calls.get(outputIndex);
    if (call === undefined || call.isEnded) return;
    call.isEnded = true;
    const input = textOrEmpty(call.isCustom ? item["input"] : item["arguments"]);
    if (!call.hasInput) this.#writeInput(outputIndex, input);
    if (call.isCustom) this.#writeArguments(call, CUSTOM_INPUT_END);
  }

  #completeWith(response: JsonObject, type: string): void {
    this.#start(response);
    this.#writeOutput(response);
    const status = type === "response.incomplete" ? "incomplete" : "completed";
    this.#writeChunk({}, toFinishReason({ ...response, status }, this.#calls.size > 0));
    this.sink.chunk({ ...this.chunkWith([]), usage: toChatUsage(response["usage"]) });
    this.complete();
  }

  #failWith(error: unknown): void {
    const body = decodeError(
      { error: isJsonObject(error) ? { type: errorTypeOf(error), ...error } : error },
      500,
    );
    this.fail(body);
  }

  #write(delta: ChatDelta): void {
    this.#start(null);
    this.#writeChunk(delta);
  }

  #writeChunk(delta: ChatDelta, finish_reason: ChatFinishReason | null = null): void {
    this.sink.chunk(this.chunkWith([{ index: 0, delta, logprobs: null, finish_reason }]));
  }
}

/** Errors in streams have a code, but no type. */
function errorTypeOf({ code }: JsonObject): string {
  if (code === "rate_limit_exceeded") return "rate_limit_error";
  if (code === "insufficient_quota") return "insufficient_quota";
  return typeof code === "string" && /^(?:context_|invalid_)/.test(code)
    ? "invalid_request_error"
    : "server_error";
}
