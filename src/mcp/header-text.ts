// Values of MCP header fields: text that HTTP cannot carry as it is travels in Base64, with a marker.

const PREFIX = "=?base64?";
const SUFFIX = "?=";
/** Visible ASCII, with spaces inside. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const CANONICAL = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the value of a header field for any text. */
export function headerText(text: string): string {
  const isMarked = text.startsWith(PREFIX) && text.endsWith(SUFFIX);
  return PLAIN.test(text) && !isMarked ? text : PREFIX + Buffer.from(text).toString("base64") + SUFFIX;
}

/** Returns the text of a header field; null if it is marked as Base64 and is not. */
export function readHeaderText(value: string): string | null {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length)
    return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  if (!CANONICAL.test(encoded)) return null;
  try {
    return decoder.decode(Buffer.from(encoded, "base64"));
  } catch {
    return null;
  }
}
