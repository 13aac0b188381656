// Recognizes event streams that the provider declares as something else.
import { utf8Between } from "../base/byte-search.ts";

/** What lines of an event stream start with; the last one is that of a comment. */
const EVENT_FIELDS = ["data:", "event:", "id:", "retry:", ":"];
const START_BYTES = 64;

/** The first bytes may be part of the first line only. */
export function startsEvents(bytes: Uint8Array | null): boolean {
  if (bytes === null) return false;
  const start = utf8Between(bytes, 0, Math.min(START_BYTES, bytes.byteLength)).replace(/^\ufeff?[\r\n]*/, "");
  return EVENT_FIELDS.some((field) => start.startsWith(field) || field.startsWith(start));
}
