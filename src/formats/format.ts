// The interface of a wire format: everything the gateway knows about the requests and responses of one API.
import type { JsonObject } from "../base/json.ts";
import type { ContentReader } from "./content-reader.ts";
import type { FormatName } from "./format-names.ts";
import type { ChatCompletion, ChatErrorBody, ChatRequest } from "./openai/wire-types.ts";
import type { GatewayError } from "./gateway-error.ts";
import type { DetailsReader } from "./response-details.ts";
import type { UsageReader } from "./usage-reader.ts";

export interface Format {
  readonly name: FormatName;
  /** Path of the chat endpoint for targets whose provider entry is for another format. */
  readonly chatPath: string;
  /** Whether the path is a chat endpoint of this format, whatever its prefix. */
  readonly isChatPath: (path: string) => boolean;
  /** Whether the path is an endpoint of this format other than chat that takes messages. Such requests are not translated. */
  readonly isOtherMessagesPath: (path: string) => boolean;
  /** Whether a request, other than to a chat endpoint, comes from a client of this format. */
  readonly isFromClient: (path: string, headers: Headers) => boolean;
  /** Headers that requests must have, in lower case, with the value to send if neither client nor target sets one. */
  readonly requiredHeaders: readonly (readonly [name: string, value: string])[];
  /** Null for the hub format, which needs no translation. */
  readonly translator: Translator | null;
  /** Returns the body of an error response in this format. */
  readonly encodeError: (error: GatewayError) => object;
  /** Reads token usage from responses. */
  readonly usage: UsageReader;
  /** Reads what spans report of responses. */
  readonly details: DetailsReader;
  /** Recognizes events with content in streams. */
  readonly content: ContentReader;
  /** Null if streams of this format always report their usage. */
  readonly streamUsageOption: StreamUsageOption | null;
}

/** Translates between the hub format (OpenAI chat completions) and another format. */
export interface Translator {
  /** Whether the body is already a request in this format, to be forwarded unchanged. */
  readonly isRequest: (body: JsonObject) => boolean;
  /** Returns the request in this format. Throws a TranslationError if the format cannot express it. */
  readonly encodeRequest: (request: ChatRequest) => object;
  /** Returns a successful response in the hub format, or null if `body` is not a response in this format. */
  readonly decodeResponse: (body: unknown, createdAt: number) => ChatCompletion | null;
  /** Returns an error response in the hub format. `body` is null if it was not JSON. */
  readonly decodeError: (body: unknown, status: number) => ChatErrorBody;
  /** Starts the translation of one event stream to the hub format. */
  readonly decodeStream: (options: StreamDecoderOptions) => StreamDecoder;
}

export interface StreamDecoderOptions {
  /** Unix time in seconds. All chunks of a stream carry the same value. */
  readonly createdAt: number;
  /** Whether the client requested usage (`stream_options.include_usage`). */
  readonly includeUsage: boolean;
  /** Limit for one server-sent event. */
  readonly maxEventBytes?: number;
}

export interface StreamDecoder {
  /** Returns the translated events that `bytes` complete, or null if there are none. Throws if the stream is invalid. */
  push(bytes: Uint8Array): Uint8Array | null;
  /** Call at the end of the stream. */
  ending(): StreamEnding;
}

/** How a stream ended: with the format's last event, with an error event, or without either. */
export type StreamEnding = "complete" | "error" | "truncated";

/** A request option without which a format's streams do not report usage. */
export interface StreamUsageOption {
  /** Whether the gateway may add the option to a stream request: it is unset or off. `options` is its `stream_options`. */
  readonly canAdd: (options: unknown) => boolean;
  /** Returns `body` with the option; every other byte stays as it was. */
  readonly add: (body: Uint8Array, options: unknown) => Uint8Array;
  /** Field names that an error response mentions if the provider rejects the option. */
  readonly fieldNames: readonly string[];
}
