// The events of a client with which it asks OpenAI's Realtime API for a response, and the error events that the gateway returns.
import { JsonScanner } from "../../base/json-scanner.ts";
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { typeOfStatus } from "./encode-error.ts";

export interface ResponseRequest {
  /** The client's id of the event; null if it has none. */
  readonly eventId: string | null;
  /** Null if the event does not limit the output, or in a way that is not understood. */
  readonly maxOutputTokens: number | null;
}

const CREATE = "response.create";
/** A string of JSON may have any of its characters in this form. */
const ESCAPE = "\\u";
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const MAX_ID_LENGTH = 512;
const MAX_TOKENS = 100_000_000;

const EVENT_MEMBERS = ["type", "response", "event_id"];
/** The second one is that of the beta. */
const LIMITS = ["max_output_tokens", "max_response_output_tokens"];
const eventScanner = new JsonScanner(EVENT_MEMBERS);
const responseScanner = new JsonScanner(LIMITS);
const decoder = new TextDecoder();

/**
 * Returns null if the message asks for no response, and "invalid" if servers could read it differently: it is no valid JSON, or a
 * member that decides occurs twice, or in another case.
 */
export function responseRequestIn(message: string | Uint8Array): ResponseRequest | "invalid" | null {
  const text = eventTextOf(message);
  if (!text.includes(CREATE) && !text.includes(ESCAPE)) return null;
  const bytes = Buffer.from(text);
  const scanned = eventScanner.scan(bytes, MAX_EVENT_ITEMS);
  if (scanned === "other") return null;
  if (scanned !== "object" || isAmbiguous(eventScanner)) return "invalid";
  const [type, response, eventId] = EVENT_MEMBERS.map((_, at) => valueOf(bytes, eventScanner, at));
  if (type === undefined || JSON.parse(type.toString()) !== CREATE) return null;
  const id: unknown = eventId === undefined ? null : JSON.parse(eventId.toString());
  const maxOutputTokens = response?.[0] === OPEN_BRACE ? limitIn(response) : null;
  if (maxOutputTokens === "invalid") return "invalid";
  return { eventId: typeof id === "string" && id.length <= MAX_ID_LENGTH ? id : null, maxOutputTokens };
}

/** Returns a valid event with another id, in a message of the same kind. */
export function withEventId(message: string | Uint8Array, id: string): string | Uint8Array {
  const bytes = Buffer.from(eventTextOf(message));
  eventScanner.scan(bytes, MAX_EVENT_ITEMS);
  const at = EVENT_MEMBERS.indexOf("event_id");
  const found = eventScanner.startOf(at);
  const start = found < 0 ? bytes.indexOf(OPEN_BRACE) + 1 : found;
  const end = found < 0 ? start : eventScanner.endOf(at);
  const value = JSON.stringify(id);
  const inserted = Buffer.from(found < 0 ? `"event_id":${value},` : value);
  const changed = Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(end)]);
  return typeof message === "string" ? changed.toString() : changed;
}

/** Servers that ignore case take a variant for the member. */
function isAmbiguous({ duplicate, variant }: JsonScanner): boolean {
  return duplicate !== null || variant !== null;
}

/** Of two limits the larger one counts. One that is no whole number, as `"inf"`, is none. */
function limitIn(response: Buffer): number | "invalid" | null {
  responseScanner.scan(response);
  if (isAmbiguous(responseScanner)) return "invalid";
  let limit: number | null = null;
  for (const at of LIMITS.keys()) {
    const json = valueOf(response, responseScanner, at)?.toString();
    if (json === undefined || json === "null") continue;
    const count: unknown = JSON.parse(json);
    if (typeof count !== "number" || !Number.isInteger(count) || count <= 0 || count > MAX_TOKENS)
      return null;
    limit = Math.max(limit ?? 0, count);
  }
  return limit;
}

function valueOf(bytes: Buffer, scanner: JsonScanner, at: number): Buffer | undefined {
  const start = scanner.startOf(at);
  return start < 0 ? undefined : bytes.subarray(start, scanner.endOf(at));
}

/** Returns the text of an event. Servers may send and read JSON in binary messages, too; other bytes, such as audio, are not decoded. */
export function eventTextOf(message: string | Uint8Array): string {
  if (typeof message === "string") return message;
  let at = 0;
  while ((message[at] ?? OPEN_BRACE) <= SPACE) at++;
  return message[at] === OPEN_BRACE ? decoder.decode(message) : "";
}

interface RejectedEvent {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  /** That of the client's event. */
  readonly eventId: string | null;
}

/** Returns the event with which the API rejects an event of the client. `id` is that of the new event. */
export function realtimeError(id: string, { code, message, status, eventId }: RejectedEvent): string {
  const error = { type: typeOfStatus(status), code, message, param: null, event_id: eventId };
  return JSON.stringify({ type: "error", event_id: id, error });
}
