// Reads a chat stream. The stream is complete only with [DONE], so that a cut stream never looks complete.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { SseParser } from "../sse.ts";
import { TranslationError } from "../translation-error.ts";
import type { ChatStreamSink, DecodeOptions, StreamDecoder, StreamEnding } from "../translator.ts";
import { decodeError } from "./decode-response.ts";
import { CHAT_STREAM_DONE, type ChatCompletionChunk } from "./wire-types.ts";

export class ChatStreamDecoder implements StreamDecoder {
  readonly #parser: SseParser;
  readonly #sink: ChatStreamSink;
  #ending: StreamEnding = "truncated";

  constructor({ maxEventBytes }: DecodeOptions, sink: ChatStreamSink) {
    this.#parser = new SseParser(maxEventBytes);
    this.#sink = sink;
  }

  push(bytes: Uint8Array): void {
    for (const { data } of this.#parser.push(bytes)) {
      if (this.#ending !== "truncated") break;
      this.#decode(data);
    }
  }

  ending(): StreamEnding {
    return this.#ending;
  }

  #decode(data: string): void {
    if (data === CHAT_STREAM_DONE) {
      this.#ending = "complete";
      this.#sink.done();
      return;
    }
    const event = parseEvent(data);
    if (isChunk(event)) this.#sink.chunk(event);
    else if (isJsonObject(event["error"])) {
      this.#ending = "error";
      this.#sink.error(decodeError(event, 500));
    }
    // Azure and others send events of their own, for example the results of content filters.
  }
}

function isChunk(event: JsonObject): event is ChatCompletionChunk & JsonObject {
  return Array.isArray(event["choices"]);
}

function parseEvent(data: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  throw new TranslationError(
    "stream",
    "The provider's stream contains an event that is not in OpenAI's chat format. Check the target's format.",
  );
}
