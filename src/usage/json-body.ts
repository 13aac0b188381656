// Response bodies that are JSON and no stream of events: where their usage is, and how many tokens they have if they are cut.
import { parseBounded } from "../base/bounded-json.ts";
import { hasByteOrderMark, indexOfBytes, utf8Between } from "../base/byte-search.ts";
import { objectsIn } from "../formats/json-values.ts";
import { containsMedia } from "../formats/media.ts";
import { tokensOfText } from "../formats/text-tokens.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import { decodeBody, parseContentEncoding, type ContentEncoding } from "../http/content-encoding.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";

const OPENING_BRACE = 0x7b;
const [OPENING_BRACKET, CLOSING_BRACKET] = [0x5b, 0x5d];
const CHOICES = Buffer.from('"choices"');
/** Parsing more would keep other requests waiting. */
const MAX_PARSED_BYTES = 256 * 1024;
/** Estimating more of a cut body would keep other requests waiting. */
const MAX_ESTIMATED_BYTES = 64 * 1024;
/** Encodings reduce text to about a third, and a token has about four characters. */
const TOKENS_PER_ENCODED_BYTE = 0.75;

/** Returns null if the body has no encoding, cannot be decoded, or is no JSON object or array. */
export function decodeJson(body: Uint8Array, response: UpstreamResponse): Uint8Array | null {
  const encoding = parseContentEncoding(response.headers.get("content-encoding"));
  const decoded = typeof encoding === "string" ? null : decodeBody(body, encoding);
  return decoded !== null && startsJson(decoded) ? decoded : null;
}

/** Whether the first byte that is not white space opens a JSON object or array. */
export function startsJson(bytes: Uint8Array): boolean {
  const first = firstByteOf(bytes);
  return first === OPENING_BRACE || first === OPENING_BRACKET;
}

export function startsArray(bytes: Uint8Array): boolean {
  return firstByteOf(bytes) === OPENING_BRACKET;
}

/** Returns the first byte that is not white space. Some servers write a byte order mark before it. */
function firstByteOf(bytes: Uint8Array): number | undefined {
  let at = hasByteOrderMark(bytes) ? 3 : 0;
  while ((bytes[at] ?? OPENING_BRACE) <= 0x20) at++;
  return bytes[at];
}

/** Returns a body up to the end of its last object: some streams are arrays of events, of which the last one has the final usage. */
export function lastObjectIn(body: Uint8Array): Uint8Array {
  let end = body.byteLength;
  while (end > 0 && (body[end - 1] ?? 0) <= 0x20) end--;
  return body[end - 1] === CLOSING_BRACKET ? body.subarray(0, end - 1) : body;
}

/** Returns the tokens of the text in a whole body; 0 if the response is none of a model that generates text. */
export function textTokensOf(json: Uint8Array, reader: UsageReader, isChat: boolean): number {
  if (!isChat && indexOfBytes(json, CHOICES, 0) < 0) return 0;
  const text = json.byteLength > MAX_PARSED_BYTES ? null : textOf(json, reader);
  return text === null ? estimateRelayed([json], json.byteLength, "identity") : tokensOfText(text);
}

/** Returns null for a body that cannot be parsed, such as an array of events that was cut. */
function textOf(json: Uint8Array, reader: UsageReader): string | null {
  try {
    const body = parseBounded(utf8Between(json, hasByteOrderMark(json) ? 3 : 0, json.byteLength));
    return objectsIn(Array.isArray(body) ? body : [body])
      .map(reader.textOfBody)
      .join("");
  } catch {
    return null;
  }
}

/** Returns the tokens that relayed bytes have about, whatever else than text is in them; 0 for audio and images. `chunks` are the last ones. */
export function estimateRelayed(
  chunks: readonly Uint8Array[],
  totalBytes: number,
  encoding: ContentEncoding | "identity",
): number {
  if (encoding !== "identity") return Math.ceil(totalBytes * TOKENS_PER_ENCODED_BYTE);
  const last = Buffer.concat(chunks).subarray(-MAX_ESTIMATED_BYTES);
  const text = last.toString();
  if (last.byteLength === 0 || containsMedia(text)) return 0;
  return Math.ceil((tokensOfText(text) * totalBytes) / last.byteLength);
}
