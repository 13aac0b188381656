// Reads a chat stream. The stream is complete only with [DONE], so that a cut stream never looks complete.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { StreamedUsage } from "../chat-usage.ts";
import { EventStreamDecoder, parseEvent } from "../event-stream-decoder.ts";
import { textOrEmpty } from "../json-values.ts";
import {
  argumentsOf,
  contentOf,
  decodeError,
  failureOf,
  reasoningOf,
  toCallId,
  toFinishReason,
} from "./decode-response.ts";
import { openaiUsage } from "./usage.ts";
import { CHAT_STREAM_DONE, type ChatDelta } from "./wire-types.ts";

/** In the hub format calls of custom tools are calls of functions with one field, `input`. */
const CUSTOM_INPUT_START = '{"input":"';
const CUSTOM_INPUT_END = '"}';

type ToolCallDelta = NonNullable<ChatDelta["tool_calls"]>[number];

export class ChatStreamDecoder extends EventStreamDecoder {
  #created: number | undefined = undefined;
  /** The highest index of a tool call so far. */
  #lastCall = -1;
  /** Indexes of calls of custom tools, whose input becomes the field of an object. */
  readonly #customCalls = new Set<number>();
  /** Some providers report the usage so far with every chunk, or with the finish reason. */
  readonly #usage = new StreamedUsage(openaiUsage);

  protected override decode(data: string): void {
    if (data === CHAT_STREAM_DONE) {
      const usage = this.#usage.chatUsage;
      if (usage !== null) this.sink.chunk({ ...this.chunkWith([], this.#created), usage });
      this.complete();
      return;
    }
    const event = parseEvent(data, "OpenAI's chat completions");
    // OpenRouter sends errors in a chunk with a choice.
    if (isJsonObject(event["error"])) {
      this.fail(decodeError(event, 500));
    } else if (Array.isArray(event["choices"])) {
      this.#decodeChunk(event, event["choices"]);
    }
    // Azure and others send events of their own, for example the results of content filters.
  }

  #decodeChunk(event: JsonObject, choices: readonly unknown[]): void {
    this.id ||= textOrEmpty(event["id"]);
    this.model ||= textOrEmpty(event["model"]);
    if (typeof event["created"] === "number") this.#created ??= event["created"];
    this.#usage.add(event["usage"]);
    const [choice] = choices;
    if (!isJsonObject(choice)) return;
    const failed = failureOf(choice["finish_reason"]);
    if (failed !== null) {
      this.fail({ error: { message: failed, type: "server_error", param: null, code: "server_error" } });
      return;
    }
    const delta = isJsonObject(choice["delta"]) ? this.#decodeDelta(choice["delta"]) : {};
    const finish_reason = toFinishReason(choice["finish_reason"]);
    if (finish_reason !== null) this.#closeCustomCalls(delta);
    this.sink.chunk(this.chunkWith([{ index: 0, delta, logprobs: null, finish_reason }], this.#created));
  }

  #decodeDelta(delta: JsonObject): ChatDelta {
    const decoded: ChatDelta = {};
    if (delta["role"] === "assistant") decoded.role = "assistant";
    const content = contentOf(delta["content"]);
    if (content !== null) decoded.content = content;
    if (typeof delta["refusal"] === "string") decoded.refusal = delta["refusal"];
    const reasoning = reasoningOf(delta);
    if (reasoning !== "") decoded.reasoning_content = reasoning;
    const calls = this.#decodeCalls(delta);
    if (calls.length > 0) decoded.tool_calls = calls;
    return decoded;
  }

  #decodeCalls({ tool_calls: calls, function_call: legacy }: JsonObject): ToolCallDelta[] {
    const decoded: ToolCallDelta[] = [];
    if (Array.isArray(calls)) {
      for (const call of calls)
        if (isJsonObject(call)) decoded.push(this.#decodeCall(call, this.#indexOf(call)));
      // The field that OpenAI has replaced by `tool_calls`.
    } else if (isJsonObject(legacy)) {
      decoded.push(this.#decodeCall({ function: legacy }, 0));
    }
    return decoded;
  }

  /** Gemini's compatible endpoint sends whole calls without an index. */
  #indexOf({ index, id }: JsonObject): number {
    if (typeof index === "number") return index;
    return typeof id === "string" && id !== "" ? this.#lastCall + 1 : Math.max(this.#lastCall, 0);
  }

  #decodeCall(call: JsonObject, index: number): ToolCallDelta {
    const { function: called, custom } = call;
    const definition = isJsonObject(called) ? called : isJsonObject(custom) ? custom : {};
    const isCustom = definition === custom;
    const text = isCustom
      ? JSON.stringify(textOrEmpty(definition["input"])).slice(1, -1)
      : argumentsOf(definition["arguments"]);
    if (index <= this.#lastCall) return { index, function: { arguments: text } };
    this.#lastCall = index;
    const name = textOrEmpty(definition["name"]);
    const id = textOrEmpty(call["id"]) || toCallId(this.id, index);
    if (isCustom) this.#customCalls.add(index);
    const json = isCustom ? CUSTOM_INPUT_START + text : text;
    return { index, id, type: "function", function: { name, arguments: json } };
  }

  #closeCustomCalls(delta: ChatDelta): void {
    for (const index of this.#customCalls)
      (delta.tool_calls ??= []).push({ index, function: { arguments: CUSTOM_INPUT_END } });
    this.#customCalls.clear();
  }
}
