// Reads data URLs, in which chat requests carry images and files.

export interface DataUrl {
  /** In lower case. */
  readonly mediaType: string;
  /** In base64. */
  readonly data: string;
}

const MAX_HEADER_LENGTH = 256;
const HEADER = /^data:([^;,\s]+)(?:;[^;,]+)*;base64$/i;

/** Returns null if the URL is no data URL with a media type and base64. */
export function parseDataUrl(url: string): DataUrl | null {
  // Only the part before the comma is matched, because matching megabytes of base64 would be slow.
  const comma = url.indexOf(",");
  if (comma === -1 || comma > MAX_HEADER_LENGTH) return null;
  const [, mediaType] = HEADER.exec(url.slice(0, comma)) ?? [];
  return mediaType === undefined ? null : { mediaType: mediaType.toLowerCase(), data: url.slice(comma + 1) };
}

/** As `parseDataUrl`, for images. Returns null for other media types. */
export function parseImageUrl(url: string): DataUrl | null {
  const parsed = parseDataUrl(url);
  if (parsed?.mediaType.startsWith("image/") !== true) return null;
  // A common misspelling, which OpenAI accepts and other providers reject.
  return parsed.mediaType === "image/jpg" ? { ...parsed, mediaType: "image/jpeg" } : parsed;
}
