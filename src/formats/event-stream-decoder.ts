// What the decoders of all formats share: the events of a stream, how it ended, and the chunks that it becomes.
import { MAX_EVENT_ITEMS, parseBounded } from "../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { ChatCompletionChunk, ChatErrorBody } from "./openai/wire-types.ts";
import { SseParser } from "./sse.ts";
import { TranslationError } from "./translation-error.ts";
import type { ChatStreamSink, DecodeOptions, StreamDecoder, StreamEnding } from "./translator.ts";

const MAX_NAME = 512;

export abstract class EventStreamDecoder implements StreamDecoder {
  protected readonly sink: ChatStreamSink;
  protected id = "";
  protected model = "";
  readonly #parser: SseParser;
  readonly #createdAt: number;
  #ending: StreamEnding = "truncated";

  constructor({ maxEventBytes, createdAt }: DecodeOptions, sink: ChatStreamSink) {
    this.#parser = new SseParser(maxEventBytes);
    this.#createdAt = createdAt;
    this.sink = sink;
  }

  push(bytes: Uint8Array): void {
    for (const { data } of this.#parser.push(bytes)) {
      if (this.#ending !== "truncated") break;
      this.decode(data);
    }
  }

  ending(): StreamEnding {
    if (this.#ending === "truncated" && !this.#parser.hasIncompleteEvent) this.endOfBody();
    return this.#ending;
  }

  /** Decodes the data of one event. */
  protected abstract decode(data: string): void;

  /** Called if the body ended after a complete event that was not the last of the format. */
  protected endOfBody(): void {
    // Most formats have a last event.
  }

  protected complete(): void {
    this.#ending = "complete";
    this.sink.done();
  }

  protected fail(body: ChatErrorBody): void {
    this.#ending = "error";
    this.sink.error(body);
  }

  /** Every chunk repeats the id and the model, whatever their length. */
  protected chunkWith(
    choices: ChatCompletionChunk["choices"],
    created: number = this.#createdAt,
  ): ChatCompletionChunk {
    const [id, model] = [this.id.slice(0, MAX_NAME), this.model.slice(0, MAX_NAME)];
    return { id, object: "chat.completion.chunk", created, model, choices };
  }
}

/** Returns the data of an event as a JSON object. `api` names the format in the error message. */
export function parseEvent(data: string, api: string): JsonObject {
  let value: unknown;
  try {
    value = parseBounded(data, MAX_EVENT_ITEMS);
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  throw foreignEvent(api);
}

export function foreignEvent(api: string): TranslationError {
  return new TranslationError(
    "stream",
    `The provider's stream contains an event that is not in the format of ${api}. Check the target's format.`,
  );
}
