// Recognizes media types in Content-Type fields. Repeated fields are joined with commas, and some servers take the last one, or search for a
// word: a body counts as a form if any server may read it as one.

const EVENT_STREAM = /^\s*text\/event-stream\s*(?:;|$)/i;
const URL_ENCODED = /urlencoded/i;
const MULTIPART = /multipart/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Whether a Content-Type is that of server-sent events, in any case and with any parameters. */
export function isEventStreamType(type: string | null): boolean {
  return type !== null && EVENT_STREAM.test(type);
}

export function isUrlEncoded(type: string | null): boolean {
  return type !== null && URL_ENCODED.test(type);
}

export function isMultipart(type: string | null): boolean {
  return type !== null && MULTIPART.test(type);
}

export function isJsonType(type: string | null): boolean {
  return type === "application/json" || (type !== null && JSON_TYPE.test(type));
}
