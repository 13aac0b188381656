// Translates an Anthropic message stream to an OpenAI chat stream while it arrives.
// It is complete only with message_stop, so that a cut stream never looks complete.
import type { JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import type { ChatDelta } from "../openai/wire-types.ts";
import { StreamedUsage } from "../chat-usage.ts";
import { EventStreamDecoder, foreignEvent, parseEvent } from "../event-stream-decoder.ts";
import { requireObject } from "../read-fields.ts";
import { decodeError, refusalOf, toFinishReason, toReasoningDetail } from "./decode-response.ts";
import { argumentsOf } from "./tool-arguments.ts";
import { anthropicUsage } from "./usage.ts";

const API = "Anthropic's messages";

/** A tool_use block whose content_block_stop has not arrived yet. */
interface OpenToolCall {
  /** Index among the tool calls, which differs from the index among the blocks. */
  readonly index: number;
  readonly input: unknown;
  hasArguments: boolean;
}

/** A thinking block whose content_block_stop has not arrived yet. Its parts are kept for the detail, which is sent as a whole. */
interface OpenThinking {
  readonly type: unknown;
  readonly data: unknown;
  thinking: string;
  signature: string;
}

export class MessageStreamDecoder extends EventStreamDecoder {
  /** By the index of their block. */
  readonly #openToolCalls = new Map<unknown, OpenToolCall>();
  readonly #openThinking = new Map<unknown, OpenThinking>();
  #toolCallCount = 0;
  readonly #usage = new StreamedUsage(anthropicUsage);
  #hasFinishReason = false;

  protected override decode(data: string): void {
    const event = parseEvent(data, API);
    switch (event["type"]) {
      case "message_start":
        this.#startMessage(requireObject(event["message"], "message"));
        return;
      case "content_block_start":
        this.#startBlock(event["index"], requireObject(event["content_block"], "content_block"));
        return;
      case "content_block_delta":
        this.#decodeBlockDelta(event["index"], requireObject(event["delta"], "delta"));
        return;
      case "content_block_stop":
        this.#stopBlock(event["index"]);
        return;
      case "message_delta":
        this.#usage.add(event["usage"]);
        this.#decodeMessageDelta(requireObject(event["delta"], "delta"));
        return;
      case "message_stop":
        this.#stopMessage();
        return;
      case "error":
        this.fail(decodeError(event, 500));
        return;
      case undefined:
        throw foreignEvent(API);
      default:
      // `ping` and unknown types: Anthropic adds event types over time and asks clients to ignore those they do not know.
    }
  }

  #startMessage(message: JsonObject): void {
    this.id = textOrEmpty(message["id"]);
    this.model = textOrEmpty(message["model"]);
    this.#usage.add(message["usage"]);
    this.#writeChunk({ role: "assistant", content: "" });
  }

  #startBlock(blockIndex: unknown, block: JsonObject): void {
    const { type, id, name, input, text } = block;
    if (type === "text") this.#writeText(text);
    if (type === "thinking" || type === "redacted_thinking") this.#startThinking(blockIndex, block);
    if (type !== "tool_use") return;
    const index = this.#toolCallCount++;
    this.#openToolCalls.set(blockIndex, { index, input, hasArguments: false });
    this.#writeChunk({
      tool_calls: [
        {
          index,
          id: textOrEmpty(id),
          type: "function",
          function: { name: textOrEmpty(name), arguments: "" },
        },
      ],
    });
  }

  #startThinking(blockIndex: unknown, { type, thinking, signature, data }: JsonObject): void {
    this.#openThinking.set(blockIndex, { type, data, thinking: "", signature: textOrEmpty(signature) });
    this.#writeThinking(blockIndex, textOrEmpty(thinking));
  }

  #decodeBlockDelta(blockIndex: unknown, delta: JsonObject): void {
    switch (delta["type"]) {
      case "text_delta":
        this.#writeText(delta["text"]);
        break;
      case "input_json_delta":
        this.#writeArguments(blockIndex, textOrEmpty(delta["partial_json"]));
        break;
      case "thinking_delta":
        this.#writeThinking(blockIndex, textOrEmpty(delta["thinking"]));
        break;
      case "signature_delta": {
        const block = this.#openThinking.get(blockIndex);
        if (block !== undefined) block.signature += textOrEmpty(delta["signature"]);
        break;
      }
      default:
    }
  }

  #writeThinking(blockIndex: unknown, text: string): void {
    if (text === "") return;
    const block = this.#openThinking.get(blockIndex);
    if (block !== undefined) block.thinking += text;
    this.#writeChunk({ reasoning_content: text });
  }

  #writeText(text: unknown): void {
    if (typeof text === "string" && text !== "") this.#writeChunk({ content: text });
  }

  #writeArguments(blockIndex: unknown, json: string): void {
    const call = this.#openToolCalls.get(blockIndex);
    // Blocks of server tools have deltas as well, but no open call, because the client cannot run those tools.
    if (call === undefined || json === "") return;
    call.hasArguments = true;
    this.#writeChunk({ tool_calls: [{ index: call.index, function: { arguments: json } }] });
  }

  #stopBlock(blockIndex: unknown): void {
    const thinking = this.#openThinking.get(blockIndex);
    if (thinking !== undefined) {
      this.#openThinking.delete(blockIndex);
      const detail = toReasoningDetail({ ...thinking });
      if (detail !== null) this.#writeChunk({ reasoning_details: [detail] });
    }
    const call = this.#openToolCalls.get(blockIndex);
    if (call === undefined) return;
    // Anthropic sends no JSON at all for a tool without parameters. OpenAI's clients parse the arguments, and "" is not JSON.
    if (!call.hasArguments) this.#writeArguments(blockIndex, argumentsOf(call.input));
    this.#openToolCalls.delete(blockIndex);
  }

  #decodeMessageDelta(delta: JsonObject): void {
    if ((delta["stop_reason"] ?? null) !== null) this.#writeFinishReason(delta);
  }

  #writeFinishReason(stop: JsonObject): void {
    this.#hasFinishReason = true;
    const refusal = refusalOf(stop);
    this.#writeChunk(refusal === null ? {} : { refusal }, stop);
  }

  #stopMessage(): void {
    if (!this.#hasFinishReason) this.#writeFinishReason({});
    this.sink.chunk({ ...this.chunkWith([]), usage: this.#usage.chatUsageOrNone });
    this.complete();
  }

  #writeChunk(delta: ChatDelta, stop: JsonObject | null = null): void {
    const finish_reason = stop === null ? null : toFinishReason(stop);
    this.sink.chunk(this.chunkWith([{ index: 0, delta, logprobs: null, finish_reason }]));
  }
}
