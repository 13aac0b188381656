// The interfaces of translations. All of them go through the hub format, OpenAI chat completions: a request is decoded from
// the client's format and encoded for the target's, a response is decoded from the target's format and encoded for the client.
// chat-extensions.ts lists what the hub format has in addition to OpenAI's.
import type { JsonObject } from "../base/json.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatErrorBody, ChatRequest } from "./openai/wire-types.ts";
import type { ClientTool } from "./responses/client-tools.ts";
import type { TranslationReport } from "./translation-report.ts";

/** For the format of a client. */
export interface InboundTranslator {
  /** Returns the request in the hub format. Throws a TranslationError if it cannot be translated. */
  readonly decodeRequest: (body: JsonObject, report: TranslationReport) => ChatRequest;
  /** The names of fields, by their names in the hub format, where they differ. */
  readonly fieldNames: ReadonlyMap<string, string>;
  /**
   * Returns what the translation of the response has to know of the request. That of a large request must stay small: it is
   * sent between threads, and used on the event loop.
   */
  readonly contextOf: (body: JsonObject, isLarge?: boolean) => ResponseContext;
  /** Returns a request for a target of the same format without the reasoning that the gateway wrote for other formats. */
  readonly withoutForeignReasoning: ((body: JsonObject) => JsonObject) | null;
  readonly encodeResponse: (completion: ChatCompletion, context: ResponseContext) => object;
  /** `requestId` is the gateway's id of the request. */
  readonly encodeError: (body: ChatErrorBody, status: number, requestId: string) => object;
  readonly encodeStream: (context: ResponseContext) => StreamEncoder;
  /**
   * Whether the client refers to the items of earlier responses, which are not stored. Absent: no client
   * does.
   */
  readonly refersToItems?: (userAgent: string | null) => boolean;
}

/** For the format of a target. */
export interface OutboundTranslator {
  /**
   * Whether the body is already a request in this format, to be forwarded unchanged. If the path of the client is the one of
   * chat completions (`isChatPath`), a body that is valid in both formats is a chat request.
   */
  readonly isRequest: (body: JsonObject, isChatPath?: boolean) => boolean;
  /** Whether the encoded request depends on the target and not only on its format. */
  readonly dependsOnTarget: boolean;
  /** Returns the request in this format. Throws a TranslationError if the format cannot express it. Does not change `request`. */
  readonly encodeRequest: (request: ChatRequest, options: EncodeOptions) => object;
  /**
   * For formats whose encoded requests may have a summary of the reasoning that the client did not request
   * as such.
   */
  readonly summary?: {
    /** The name of the field in errors, and in the list of what was dropped. */
    readonly field: string;
    readonly isIn: (request: object) => boolean;
    /** Returns an encoded request without the field. */
    readonly remove: (body: Uint8Array) => Uint8Array;
  };
  /**
   * Returns a successful response in the hub format, or null if `body` is not a response in this format. Throws a
   * GatehouseError if the body says that the response failed.
   */
  readonly decodeResponse: (body: unknown, options: DecodeOptions) => ChatCompletion | null;
  /** Returns an error response in the hub format. `body` is null if it was not JSON. */
  readonly decodeError: (body: unknown, status: number) => ChatErrorBody;
  /** Returns after how many seconds to retry, for formats whose errors say so in the body instead of Retry-After. */
  readonly retryAfterOf?: (body: unknown) => number | null;
  /** Starts the translation of one event stream. */
  readonly decodeStream: (options: DecodeOptions, sink: ChatStreamSink) => StreamDecoder;
}

interface EncodeOptions {
  readonly report: TranslationReport;
  /** Identifies the target. Encrypted reasoning goes back only to the target that created it. */
  readonly targetTag: string;
}

export interface DecodeOptions {
  /** Unix time in seconds. All chunks of a stream carry the same value. */
  readonly createdAt: number;
  readonly targetTag: string;
  /** Limit for one server-sent event. */
  readonly maxEventBytes?: number;
}

/** Kept until the response ends, after the request body has been released. A worker thread must be able to receive it. */
export interface ResponseContext {
  /** The requested model. */
  readonly model: string | null;
  /** Whether the client of a chat stream requested its usage. */
  readonly includeUsage: boolean;
  /** Names of the tools whose input is text instead of JSON. Other formats get them as functions with one field, `input`. */
  readonly customTools: readonly string[];
  /** The tools of a Responses request whose calls are no plain function calls, by the name of the function. */
  readonly clientTools?: ReadonlyMap<string, ClientTool>;
  /** The tools of a messages request whose names were shortened, by the shorter name. */
  readonly renamedTools?: ReadonlyMap<string, string>;
  /** Whether the client may believe that the items of the response are stored, and refer to them. */
  readonly mayCopyItems?: boolean;
  /** Whether the response gets copies of its items, because this client refers to them. */
  readonly copiesItems?: boolean;
  /**
   * The stop sequences that the target does not have, and that end the text of the response; absent if
   * there are none.
   */
  readonly emulatedStop?: readonly string[];
  /** The fields of the request that the format repeats in its responses; null if it repeats none. */
  readonly repeatedFields: JsonObject | null;
}

/** For requests that are no JSON object. */
export const NO_CONTEXT: ResponseContext = {
  model: null,
  includeUsage: false,
  customTools: [],
  repeatedFields: null,
};

/** Receives a stream in the hub format. */
export interface ChatStreamSink {
  chunk(chunk: ChatCompletionChunk): void;
  /** The provider reported an error. Nothing follows. */
  error(body: ChatErrorBody): void;
  /** The stream is complete: its format's last event has arrived. Nothing follows. */
  done(): void;
}

export interface StreamDecoder {
  /** Passes to the sink what `bytes` complete. Throws if the stream is invalid. */
  push(bytes: Uint8Array): void;
  /**
   * Call once at the end of the stream, not if it was cut. Formats without a last event pass the end to the sink here.
   */
  ending(): StreamEnding;
}

/** Writes a stream in the format of the client. It writes the format's last event only if `done` is called. */
export interface StreamEncoder extends ChatStreamSink {
  /** Returns the text written since the last call. */
  take(): string;
}

/** How a stream ended: with the format's last event, with an error event, or without either. */
export type StreamEnding = "complete" | "error" | "truncated";
