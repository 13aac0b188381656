// Whether a request asks its provider to keep a part of it for later requests, which some charge at a higher price.
import { indexOfBytes } from "../base/byte-search.ts";

/** Fields of Anthropic's and Bedrock's APIs, and how their first letters may be spelled with escape sequences. */
const MARKS = ["cache_control", "cachePoint", "\\u005", "\\u006", "\\u007"].map((text) => Buffer.from(text));

/** Returns true for some requests that do not, such as one with a text about such fields. */
export function mayWriteCache(body: Uint8Array | null): boolean {
  return body !== null && MARKS.some((mark) => indexOfBytes(body, mark, 0) >= 0);
}
