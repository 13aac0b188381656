// Translates a Gemini stream to an OpenAI chat stream while it arrives. Each event is a whole response with the next parts.
// Gemini has no last event, and some models and proxies name a finish reason in every event. The stream is complete if its body
// ended after an event with a finish reason, so the finish reason is written at the end of the body.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ChatCompletionChunk, ChatDelta, ChatFinishReason } from "../openai/wire-types.ts";
import { SseParser } from "../sse.ts";
import { TranslationError } from "../translation-error.ts";
import type { ChatStreamSink, DecodeOptions, StreamDecoder, StreamEnding } from "../translator.ts";
import { decodeError, errorIn } from "./decode-error.ts";
import {
  CallIds,
  decodeParts,
  endingOf,
  finishReason,
  firstCandidate,
  textOf,
  toChatUsage,
  type DecodedPart,
  type Ending,
} from "./decode-response.ts";
import { toReasoningDetail } from "./reasoning.ts";

export class GeminiStreamDecoder implements StreamDecoder {
  readonly #parser: SseParser;
  readonly #sink: ChatStreamSink;
  readonly #createdAt: number;
  /** Null before the first event. */
  #ids: CallIds | null = null;
  #id = "";
  #model = "";
  /** Counts of the stream so far. Each event has all counts known by then. */
  #usage: JsonObject = {};
  #callCount = 0;
  #finish: Ending | null = null;
  #ending: StreamEnding = "truncated";

  constructor({ maxEventBytes, createdAt }: DecodeOptions, sink: ChatStreamSink) {
    this.#parser = new SseParser(maxEventBytes);
    this.#sink = sink;
    this.#createdAt = createdAt;
  }

  push(bytes: Uint8Array): void {
    for (const { data } of this.#parser.push(bytes)) {
      if (this.#ending !== "truncated") break;
      this.#decode(parseEvent(data));
    }
  }

  ending(): StreamEnding {
    if (this.#ending === "truncated" && this.#finish !== null && !this.#parser.hasIncompleteEvent) {
      this.#complete(this.#finish);
    }
    return this.#ending;
  }

  #decode(event: unknown): void {
    if (errorIn(event) !== null) {
      this.#ending = "error";
      this.#sink.error(decodeError(event, 500));
      return;
    }
    if (!isJsonObject(event)) throw notGemini();
    const ids = this.#ids ?? this.#start(event);
    if (isJsonObject(event["usageMetadata"])) this.#usage = { ...this.#usage, ...event["usageMetadata"] };
    const candidate = firstCandidate(event);
    for (const part of decodeParts(candidate, ids)) this.#writeDelta(this.#deltaOf(part));
    this.#finish = endingOf(event, candidate) ?? this.#finish;
  }

  #start(event: JsonObject): CallIds {
    this.#id = textOf(event["responseId"]);
    this.#model = textOf(event["modelVersion"]);
    this.#ids = new CallIds(event);
    this.#writeDelta({ role: "assistant", content: "" });
    return this.#ids;
  }

  #deltaOf(part: DecodedPart): ChatDelta {
    const { signature } = part;
    if (part.kind === "call") {
      const { call } = part;
      const delta: ChatDelta = { tool_calls: [{ index: this.#callCount++, ...call }] };
      return signature === null
        ? delta
        : { ...delta, reasoning_details: [toReasoningDetail(signature, call.id)] };
    }
    const delta: ChatDelta = {};
    if (part.text !== "") delta[part.kind === "thought" ? "reasoning_content" : "content"] = part.text;
    if (signature !== null) delta.reasoning_details = [toReasoningDetail(signature, null)];
    return delta;
  }

  #complete(finish: Ending): void {
    const { refusal } = finish;
    this.#writeDelta(refusal === null ? {} : { refusal }, finishReason(finish, this.#callCount > 0));
    this.#sink.chunk({ ...this.#chunkWith([]), usage: toChatUsage(this.#usage) });
    this.#ending = "complete";
    this.#sink.done();
  }

  #writeDelta(delta: ChatDelta, finish_reason: ChatFinishReason | null = null): void {
    this.#sink.chunk(this.#chunkWith([{ index: 0, delta, logprobs: null, finish_reason }]));
  }

  #chunkWith(choices: ChatCompletionChunk["choices"]): ChatCompletionChunk {
    return {
      id: this.#id,
      object: "chat.completion.chunk",
      created: this.#createdAt,
      model: this.#model,
      choices,
    };
  }
}

function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw notGemini();
  }
}

function notGemini(): TranslationError {
  return new TranslationError(
    "stream",
    "The provider's stream contains an event that is not in Gemini's format. Check the target's format.",
  );
}
