// Searches encoded bodies for ids of stored objects. Such bodies are forwarded as they are, so ids in them cannot be opened.
import { parseContentEncoding } from "../../http/content-encoding.ts";
import { decodePrefix } from "../../http/decode-prefix.ts";
import { mayContainIds, type SearchedBody } from "./find-ids.ts";

const MAX_DECODED_BYTES = 4 * 1024 * 1024;

/**
 * Whether the body may contain ids, as it is or decoded. True if it has more than 4 MiB or an unknown encoding. Of an invalid
 * body everything before the invalid part is searched, since a provider may read that.
 */
export async function mayContainEncodedIds(
  { bytes, operation }: SearchedBody,
  contentEncoding: string,
): Promise<boolean> {
  const encoding = parseContentEncoding(contentEncoding);
  if (typeof encoding === "string" || mayContainIds({ bytes, operation })) return true;
  const decoded = await decodePrefix(bytes, encoding, { isWhole: true, maxBytes: MAX_DECODED_BYTES });
  return decoded.end === "cut" || mayContainIds({ bytes: decoded.bytes, operation });
}
