// Reads a body to its end, up to a size limit, for code that needs all of it.
import type { BodyReader } from "../http/body-reader.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Rejects with an UpstreamError if the body is larger than `maxBytes`. `chunks` gets what has arrived, also of a body that is cut. */
export async function readWholeBody(
  reader: BodyReader,
  maxBytes: number,
  chunks: Uint8Array[] = [],
): Promise<Uint8Array> {
  let size = 0;
  for (;;) {
    const chunk = await reader.next();
    if (chunk === null)
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
    size += chunk.byteLength;
    if (size > maxBytes) {
      reader.cancel();
      throw new UpstreamError("cut", new Error(`the body is larger than ${maxBytes} bytes`));
    }
    chunks.push(chunk);
  }
}

/** Reads a body of no interest, so that its connection can be used again, up to a size limit. */
export async function discardBody(reader: BodyReader, maxBytes: number): Promise<void> {
  for (let size = 0; size <= maxBytes;) {
    const bytes = await reader.next();
    if (bytes === null) return;
    size += bytes.byteLength;
  }
}
