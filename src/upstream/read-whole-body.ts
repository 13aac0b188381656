// Reads an answer whole and bounded, where something here must look into it.
import type { BodyReader } from "../http/body-reader.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Reads a whole answer. More than `maxBytes` is a fault: what must be read must be bounded. */
export async function readWholeBody(reader: BodyReader, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = await reader.next();
    if (chunk === null)
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
    size += chunk.byteLength;
    if (size > maxBytes) {
      reader.cancel();
      throw new UpstreamError("cut", new Error(`the answer is larger than ${maxBytes} bytes`));
    }
    chunks.push(chunk);
  }
}
