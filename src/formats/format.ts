// The interface of a wire format: everything the gateway knows about the requests and responses of one API.
import type { JsonObject } from "../base/json.ts";
import type { ReadableFields } from "../base/readable-fields.ts";
import type { ContentReader } from "./content-reader.ts";
import type { FormatName } from "./format-names.ts";
import type { GatewayError } from "./gateway-error.ts";
import type { ModelListEncoder } from "./model-list.ts";
import type { DetailsReader } from "./response-details.ts";
import type { OpeningOf } from "./stream-opening.ts";
import type { TextReader } from "./text-channels.ts";
import type { InboundTranslator, OutboundTranslator } from "./translator.ts";
import type { UsageReader } from "./usage-reader.ts";

export interface Format {
  readonly name: FormatName;
  /** The end of the path of the chat endpoint, after the prefix of the provider's API. */
  readonly chatTail: string;
  /**
   * Returns the path to send, for formats whose path names the model or says whether the response is a stream: `path` may
   * contain `{model}`, and the result may have a query. Throws a TranslationError if the model cannot be part of a path.
   * Null for formats whose path is fixed.
   */
  readonly completePath: ((path: string, model: string | null, wantsStream: boolean) => string) | null;
  /** Whether the path is a chat endpoint of this format, whatever its prefix. */
  readonly isChatPath: (path: string) => boolean;
  /** Whether the path is an endpoint of this format other than chat that takes messages. Such requests are not translated. */
  readonly isOtherMessagesPath: (path: string) => boolean;
  /** Whether a request, other than to a chat endpoint, comes from a client of this format. */
  readonly isFromClient: (path: string, headers: ReadableFields) => boolean;
  /** Headers that requests must have, in lower case, with the value to send if neither client nor target sets one. */
  readonly requiredHeaders: readonly (readonly [name: string, value: string])[];
  /** Start of the names of headers, in lower case, that only servers of this format understand; null if there are none. */
  readonly ownHeaderPrefix: string | null;
  /** Null if clients of this format get no translation: their requests go only to targets of the same format. */
  readonly inbound: InboundTranslator | null;
  readonly outbound: OutboundTranslator;
  /** Returns the body of an error response in this format. */
  readonly encodeError: (error: GatewayError) => object;
  /** Lists the gateway's models for clients of this format. */
  readonly models: ModelListEncoder;
  /** Reads token usage from responses. */
  readonly usage: UsageReader;
  /** Reads what spans report of responses. */
  readonly details: DetailsReader;
  /** Recognizes events with content in streams. */
  readonly content: ContentReader;
  /** Finds the generated texts in responses. */
  readonly texts: TextReader;
  /** Says what the first events of a stream mean. */
  readonly openingOf: OpeningOf;
  /** Whether a complete response has no content, because the provider's content filter has rejected the request or the response. */
  readonly isFiltered: (body: JsonObject) => boolean;
  /** Whether the provider stores the response of a request that does not say whether to. */
  readonly storesByDefault: boolean;
  /** Null if streams of this format always report their usage. */
  readonly streamUsageOption: StreamUsageOption | null;
}

/** A request option without which a format's streams do not report usage. */
export interface StreamUsageOption {
  /** Whether the gateway may add the option to a stream request: it is unset or off. `options` is its `stream_options`. */
  readonly canAdd: (options: unknown) => boolean;
  /** Returns `body` with the option; every other byte stays as it was. */
  readonly add: (body: Uint8Array, options: unknown) => Uint8Array;
  /** Field names that an error response mentions if the provider rejects the option. */
  readonly fieldNames: readonly string[];
}
