// Decodes the first bytes of an encoded body, for display. The work is done in the thread pool of the runtime.
import type { ContentEncoding } from "./content-encoding.ts";

/** Maximum size of a decoded piece; more than the limit is decoded by at most one piece. */
const CHUNK_SIZE = 4096;

interface PrefixOptions {
  /** Whether the bytes are the whole encoded body; if not, an early end is expected. */
  readonly isWhole: boolean;
  /** Output limit, since a kilobyte can decode to gigabytes. */
  readonly maxBytes: number;
}

interface DecodedPrefix {
  readonly bytes: Buffer;
  /** `cut`: there is more than was passed or than the limit allows. `invalid`: the rest cannot be decoded. */
  readonly end: "complete" | "cut" | "invalid";
}

/** Never rejects. */
export async function decodePrefix(
  encoded: Uint8Array,
  encoding: ContentEncoding,
  { isWhole, maxBytes }: PrefixOptions,
): Promise<DecodedPrefix> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const decoder = encoding.createDecoder(encoded[0] ?? 0, { chunkSize: CHUNK_SIZE });
  const { promise, resolve } = Promise.withResolvers<DecodedPrefix["end"]>();
  decoder.on("error", () => resolve("invalid"));
  decoder.on("end", () => resolve(isTruncated(encoded, encoding) ? "invalid" : "complete"));
  decoder.on("data", (piece: Uint8Array) => {
    pieces.push(piece);
    length += piece.byteLength;
    if (length > maxBytes) resolve("cut");
  });
  // Ended in a second step: with the end of the input, a decoder that fails would withhold what it has decoded last.
  decoder.write(encoded, (error) => {
    if (error !== null && error !== undefined) return;
    if (isWhole) decoder.end();
    else resolve("cut");
  });
  const end = await promise;
  decoder.destroy();
  return { bytes: Buffer.concat(pieces).subarray(0, maxBytes), end };
}

function isTruncated(encoded: Uint8Array, { createTruncationCheck }: ContentEncoding): boolean {
  const check = createTruncationCheck?.();
  check?.push(encoded);
  return check?.isComplete === false;
}
