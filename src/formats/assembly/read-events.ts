// What the assemblies of all formats share: reading the data of events, and writing events.
import { MAX_EVENT_ITEMS, parseBounded } from "../../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { formatSse, type SseEvent } from "../sse.ts";

/** Returns the data of an event. Throws if it is no JSON object. */
export function objectIn({ data }: SseEvent): JsonObject {
  const value: unknown = parseBounded(data, MAX_EVENT_ITEMS);
  if (!isJsonObject(value)) throw new Error("the data of an event is no object");
  return value;
}

/** Returns the objects in a list; empty if it is no list. Throws if it contains anything else. */
export function objectsIn(value: unknown): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.map((each: unknown) => {
    if (!isJsonObject(each)) throw new Error("a list contains something else than objects");
    return each;
  });
}

/** Sets a field that may be named `__proto__` by a provider. */
export function setField(object: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

export function namedEvent(event: string, data: JsonObject): string {
  return formatSse({ event, data: JSON.stringify(data) });
}

export function plainEvent(data: JsonObject): string {
  return formatSse({ data: JSON.stringify(data) });
}

/** Responses that are kept are shorter. */
const MAX_STREAM_LENGTH = 32 * 1024 * 1024;

/** Returns the stream with one more event. Throws if it is too long: each event repeats fields of the response, whatever their length. */
export function withEvent(stream: string, event: string): string {
  if (stream.length + event.length > MAX_STREAM_LENGTH) throw new Error("the stream is too long");
  return stream + event;
}
