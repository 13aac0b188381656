// Translates a whole response to the format of the client. Runs on the event loop and in worker threads.
import { parseBounded } from "../base/bounded-json.ts";
import { GatehouseError } from "../base/errors.ts";
import { parseExact, stringifyExact } from "../base/exact-json.ts";
import { isJsonObject } from "../base/json.ts";
import type { FormatName } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { stopCompletion } from "../formats/stop-sequences.ts";
import { isEmptyValue } from "../formats/stream-opening.ts";
import { StreamTranslation } from "../formats/stream-translation.ts";
import type {
  DecodeOptions,
  InboundTranslator,
  OutboundTranslator,
  ResponseContext,
} from "../formats/translator.ts";

export interface WholeResponse {
  /** The format of the target. */
  readonly from: FormatName;
  /** The format of the client. */
  readonly to: FormatName;
  readonly status: number;
  readonly body: Uint8Array;
  /** Whether the body is an event stream. */
  readonly isStream: boolean;
  readonly options: DecodeOptions;
  readonly context: ResponseContext;
  readonly requestId: string;
}

const NO_BYTES = new Uint8Array(0);

/** Returns null for a stream without an end. Throws a GatehouseError if the body does not have the format. */
export function translateWhole(response: WholeResponse): Uint8Array | string | null {
  const { outbound } = formatNamed(response.from);
  const { inbound } = formatNamed(response.to);
  if (inbound === null) throw new Error(`the format ${response.to} has no translator for clients`);
  return response.isStream
    ? translateStream(outbound, inbound, response)
    : translateJson(outbound, inbound, response);
}

function translateStream(
  outbound: OutboundTranslator,
  inbound: InboundTranslator,
  { body, options, context }: WholeResponse,
): Uint8Array | null {
  const translation = new StreamTranslation(outbound, inbound, options, context);
  const translated = translation.push(body) ?? NO_BYTES;
  return translation.ending() === "truncated"
    ? null
    : Buffer.concat([translated, translation.takeRest() ?? NO_BYTES]);
}

function translateJson(
  outbound: OutboundTranslator,
  inbound: InboundTranslator,
  { body, status, options, context, requestId }: WholeResponse,
): string {
  const value = parsedBy((text) => parseExact(text), body);
  if (status >= 400)
    return JSON.stringify(inbound.encodeError(outbound.decodeError(value, status), status, requestId));
  const completion = outbound.decodeResponse(value, options);
  if (completion === null) throw new GatehouseError("upstream_bad_answer", problemOf(value, status));
  const { emulatedStop } = context;
  const stopped = emulatedStop === undefined ? completion : stopCompletion(completion, emulatedStop);
  return stringifyExact(inbound.encodeResponse(stopped, context));
}

/** Returns why a body is no response. Some providers report errors with status 200. */
function problemOf(body: unknown, status: number): string {
  const error = isJsonObject(body) ? body["error"] : null;
  if (isEmptyValue(error))
    return "The provider's response is not in the target's format. Check the target's format.";
  const message = isJsonObject(error) ? error["message"] : error;
  const text = typeof message === "string" ? message : "";
  return `The provider responded with status ${status} and an error. ${text}`.trim();
}

/** Returns null if the body is not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  return parsedBy((text) => parseBounded(text), bytes);
}

function parsedBy(parse: (text: string) => unknown, bytes: Uint8Array): unknown {
  try {
    return parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
