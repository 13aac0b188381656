// Translates a Gemini stream to an OpenAI chat stream while it arrives. Each event is a whole response with the next parts.
// Gemini has no last event, and some models and proxies name a finish reason in every event. The stream is complete if its body
// ended after an event with a finish reason, so the finish reason is written at the end of the body.
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { parseExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { StreamedUsage } from "../chat-usage.ts";
import { EventStreamDecoder, foreignEvent } from "../event-stream-decoder.ts";
import { textOrEmpty } from "../json-values.ts";
import type { ChatDelta, ChatFinishReason } from "../openai/wire-types.ts";
import { decodeError, errorIn } from "./decode-error.ts";
import { CallIds, decodeParts, finishReason, type DecodedPart } from "./decode-response.ts";
import { endingOf, firstCandidate, type Ending } from "./ending.ts";
import { toReasoningDetail } from "./reasoning.ts";
import { geminiUsage } from "./usage.ts";

const API = "Gemini";

export class GeminiStreamDecoder extends EventStreamDecoder {
  /** Null before the first event. */
  #ids: CallIds | null = null;
  /** Counts of the stream so far. Each event has all counts known by then. */
  readonly #usage = new StreamedUsage(geminiUsage);
  #callCount = 0;
  #finish: Ending | null = null;

  protected override decode(data: string): void {
    const event = parseEvent(data);
    if (errorIn(event) !== null) {
      this.fail(decodeError(event, 500));
      return;
    }
    if (!isJsonObject(event)) throw foreignEvent(API);
    const ids = this.#ids ?? this.#start(event);
    this.#usage.add(event["usageMetadata"]);
    const candidate = firstCandidate(event);
    for (const part of decodeParts(candidate, ids)) this.#writeDelta(this.#deltaOf(part));
    this.#finish = endingOf(event, candidate) ?? this.#finish;
  }

  #start(event: JsonObject): CallIds {
    this.id = textOrEmpty(event["responseId"]);
    this.model = textOrEmpty(event["modelVersion"]);
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

  protected override endOfBody(): void {
    if (this.#finish === null) return;
    const { refusal } = this.#finish;
    this.#writeDelta(refusal === null ? {} : { refusal }, finishReason(this.#finish, this.#callCount > 0));
    this.sink.chunk({ ...this.chunkWith([]), usage: this.#usage.chatUsageOrNone });
    this.complete();
  }

  #writeDelta(delta: ChatDelta, finish_reason: ChatFinishReason | null = null): void {
    this.sink.chunk(this.chunkWith([{ index: 0, delta, logprobs: null, finish_reason }]));
  }
}

/** Errors arrive in a list, too. */
function parseEvent(data: string): unknown {
  try {
    return parseExact(data, MAX_EVENT_ITEMS);
  } catch {
    throw foreignEvent(API);
  }
}
