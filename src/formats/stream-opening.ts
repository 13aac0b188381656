// What an event at the start of a stream means. Until the first content, another target can still serve the request.
import { MAX_EVENT_ITEMS, parseBounded } from "../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { SseParser, SseTooLargeError } from "./sse.ts";

/**
 * `quiet`: known to have no content. `filtered`: after quiet events, the end of a response that the provider's content filter has
 * rejected. Everything that is not known counts as content.
 */
export type Opening = "quiet" | "content" | "error" | "filtered";

/** Returns what an event of a format means. */
export type OpeningOf = (event: JsonObject) => Opening;

/** Whether a value holds nothing: null, an empty text or list. */
export function isEmptyValue(value: unknown): boolean {
  return (
    value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0)
  );
}

/** Reads the start of one stream, however it is split into chunks. */
export class StreamOpening {
  readonly #openingOf: OpeningOf;
  readonly #parser = new SseParser();

  constructor(openingOf: OpeningOf) {
    this.#openingOf = openingOf;
  }

  /** Returns what the stream has shown with the next bytes: the first that is not quiet. */
  push(bytes: Uint8Array): Opening {
    try {
      for (const { data } of this.#parser.push(bytes)) {
        const opening = this.#read(data);
        if (opening !== "quiet") return opening;
      }
      return "quiet";
    } catch (error) {
      // Nothing that large is known to have no content, for example an image in one event.
      if (error instanceof SseTooLargeError) return "content";
      throw error;
    }
  }

  #read(data: string): Opening {
    // The last event of a chat stream. After it, the stream ends without content.
    if (data === "" || data === "[DONE]") return "quiet";
    try {
      const event: unknown = parseBounded(data, MAX_EVENT_ITEMS);
      return isJsonObject(event) ? this.#openingOf(event) : "content";
    } catch {
      return "content";
    }
  }
}
