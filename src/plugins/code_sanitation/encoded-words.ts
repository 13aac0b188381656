// Encoded words (RFC 2047) in the header fields of a part: clients write file names in this way that are not ASCII, and some servers decode any
// parameter.
import { isInspectedCharset } from "../../sdk/index.ts";

/** Adjacent words form one text. */
const WORD = /=\?([\w-]+)(?:\*[\w-]*)?\?([bq])\?([^?\s]*)\?=(?:\s+(?==\?))?/gi;

/** Returns the fields with their encoded words decoded; the same fields if there are none, and null if one has a charset that is not inspected. */
export function decodeWords(fields: string): string | null {
  if (!fields.includes("=?")) return fields;
  let isKnown = true;
  const decoded = fields.replaceAll(WORD, (_, charset: string, encoding: string, text: string) => {
    isKnown &&= isInspectedCharset(charset);
    const bytes = encoding.toLowerCase() === "b" ? Buffer.from(text, "base64") : quotedBytes(text);
    return bytes.toString(/^utf/i.test(charset) ? "utf8" : "latin1");
  });
  return isKnown ? decoded : null;
}

function quotedBytes(text: string): Buffer {
  const characters = text
    .replaceAll("_", " ")
    .replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(characters, "latin1");
}
