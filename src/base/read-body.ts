// Reads a request body into memory, bounded in size and in silence, whether its length was declared or not.
import { GatehouseError } from "./errors.ts";

const SILENCE_MS = 60_000;

export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array(0);
  let timer: Timer | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new GatehouseError("request_timeout", "The body stopped coming.")),
      SILENCE_MS,
    );
  });
  try {
    // The runtime holds a sender to the length it declared, and reads it at half the cost of a stream.
    if (declared !== null) return await Promise.race([request.bytes(), silence]);
    return await readChunks(request.body, maxBytes, silence, () => timer?.refresh());
  } finally {
    clearTimeout(timer);
  }
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  silence: Promise<never>,
  onChunk: () => void,
): Promise<Uint8Array> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), silence]);
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
      onChunk();
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
}

function tooLarge(maxBytes: number): GatehouseError {
  return new GatehouseError("body_too_large", `The body is larger than ${maxBytes} bytes (MAX_BODY_BYTES).`);
}
