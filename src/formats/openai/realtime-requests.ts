// The events with which a client asks OpenAI's Realtime API for a response, or adds to its input, and the error events that the gateway
// returns.
import { JsonScanner } from "../../base/json-scanner.ts";
import { hasDuplicateMembers } from "../../base/duplicate-members.ts";
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { typeOfStatus } from "./encode-error.ts";
import { objectIn } from "./realtime-events.ts";

export interface ResponseRequest {
  /** The client's id of the event; null if it has none. */
  readonly eventId: string | null;
  /** Null if the event does not limit the output, or in a way that is not understood. */
  readonly maxOutputTokens: number | null;
  /** Whether the event names a limit of the output, also one that is not understood: then that of the session does not apply. */
  readonly namesLimit: boolean;
  /** Whether its input is that of the event and the settings of the session, without any item of the conversation. */
  readonly isAlone: boolean;
}

/** What was counted in the text of a large event. */
export interface CountedText {
  readonly characters: number;
  /** Estimated, of what it adds to the conversation. */
  readonly tokens: number;
  /** Those of each setting of the session. */
  readonly settings: readonly (readonly [name: string, tokens: number])[];
}

/** An event of the client, as far as the ledger reads it. */
export interface ClientEvent<Text = string | CountedText> {
  readonly text: Text;
  /** It has audio of the user. */
  readonly isAudio: boolean;
  /** Null if it asks for no response. */
  readonly request: ResponseRequest | null;
  /** The settings of the session that it changes; null if it changes none. */
  readonly session: { readonly maxOutputTokens: number | null } | null;
}

const CREATE = "response.create";
const APPEND = "input_audio_buffer.append";
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const BYTE_ORDER_MARK = "\ufeff";
/** In UTF-8 and UTF-16. */
const BYTE_ORDER_MARKS = [
  Buffer.from([0xef, 0xbb, 0xbf]),
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xfe, 0xff]),
];
const MAX_ID_LENGTH = 512;
const MAX_TOKENS = 100_000_000;

const EVENT_MEMBERS = ["type", "event_id", "response", "item", "session"];
/** The second one is that of the beta. */
const LIMITS = ["max_output_tokens", "max_response_output_tokens"];
const OWN_ITEMS = ["message", "function_call", "function_call_output"];
const eventScanner = new JsonScanner(EVENT_MEMBERS);
const settingsScanner = new JsonScanner([
  ...LIMITS,
  "conversation",
  "input",
  "instructions",
  "prompt",
  "tools",
]);
const decoder = new TextDecoder();

/**
 * Returns null if the message is no event, and "invalid" if servers could read it differently: it is no valid JSON, or a
 * member that the ledger reads occurs twice, or in another case.
 */
export function clientEventIn(message: string | Uint8Array): ClientEvent<string> | "invalid" | null {
  const text = eventTextOf(message);
  // Without a brace, no dialect of JSON has an object in it.
  if (!text.includes("{")) return null;
  const bytes = Buffer.from(text);
  const scanned = eventScanner.scan(bytes, MAX_EVENT_ITEMS);
  if (scanned === "other") return null;
  if (scanned !== "object" || isAmbiguous(eventScanner)) return "invalid";
  const [type, eventId, response, item, session] = EVENT_MEMBERS.map((_, at) =>
    valueOf(bytes, eventScanner, at),
  );
  const name: unknown = type === undefined ? null : JSON.parse(type.toString());
  if (name === APPEND) return { text, isAudio: true, request: null, session: null };
  const hasInput = (response ?? item ?? session) !== undefined;
  const event: unknown = hasInput ? JSON.parse(text) : null;
  if (hasInput && hasDuplicateMembers(text, event)) return "invalid";
  if ([response, session].some((settings) => settings !== undefined && areAmbiguous(settings)))
    return "invalid";
  const changed = objectIn(event, "session");
  const change = isJsonObject(changed) ? { maxOutputTokens: outputLimitOf(changed) } : null;
  if (name !== CREATE) return { text, isAudio: false, request: null, session: change };
  const id: unknown = eventId === undefined ? null : JSON.parse(eventId.toString());
  const known = objectIn(event, "response");
  const request = {
    eventId: typeof id === "string" && id.length <= MAX_ID_LENGTH ? id : null,
    maxOutputTokens: isJsonObject(known) ? outputLimitOf(known) : null,
    isAlone: isJsonObject(known) && isAlone(known),
    namesLimit: isJsonObject(known) && LIMITS.some((limit) => limit in known),
  };
  return { text, isAudio: false, request, session: null };
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

function areAmbiguous(settings: Buffer): boolean {
  settingsScanner.scan(settings);
  return isAmbiguous(settingsScanner);
}

/** An item that is named by its id is one of the conversation. */
function isAlone({ conversation, input }: JsonObject): boolean {
  const isOwn = (item: unknown) =>
    isJsonObject(item) && OWN_ITEMS.includes(String(item["type"])) && item["id"] === undefined;
  return conversation === "none" && Array.isArray(input) && input.every(isOwn);
}

/** Of two limits the larger one counts. One that is no whole number, as `"inf"`, is none. */
export function outputLimitOf(settings: JsonObject): number | null {
  let limit: number | null = null;
  for (const name of LIMITS) {
    const count = settings[name] ?? null;
    if (count === null) continue;
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
  if (typeof message === "string") return message.startsWith(BYTE_ORDER_MARK) ? message.slice(1) : message;
  let at = BYTE_ORDER_MARKS.find((mark) => mark.equals(message.subarray(0, mark.length)))?.length ?? 0;
  // UTF-16 has zeros beside the brace, so that its text is no valid JSON.
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
