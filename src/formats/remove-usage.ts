// Removes the token counts from responses, as providers send them that do not report any.
import { isJsonObject, parseObject, type JsonObject } from "../base/json.ts";

/** The keys of usage objects, and of the objects that may contain one in a stream. */
const USAGE_KEYS = ["usage", "usageMetadata"];
const PARENT_KEYS = ["message", "response"];
const DATA = /(?<=^|[\r\n])data: ?([^\r\n]*)/;

/** Returns a body without usage; the same text if it is no JSON object. */
export function bodyWithoutUsage(text: string): string {
  const body = parseObject(text);
  return body === null ? text : JSON.stringify(withoutUsage(body));
}

/** Returns a server-sent event without usage; an empty text if the event reports nothing else. */
export function eventWithoutUsage(event: string): string {
  const data = DATA.exec(event)?.[1];
  const object = data === undefined ? null : parseObject(data);
  if (object === null) return event;
  const { choices } = object;
  if (isJsonObject(object["usage"]) && Array.isArray(choices) && choices.length === 0) return "";
  return event.replace(DATA, () => `data: ${JSON.stringify(withoutUsage(object))}`);
}

function withoutUsage(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (USAGE_KEYS.includes(key)) continue;
    copy[key] = PARENT_KEYS.includes(key) && isJsonObject(value) ? withoutUsage(value) : value;
  }
  return copy;
}
