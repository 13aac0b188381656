// Reads a request body into memory, bounded in size and in time, whether its length was declared or not.
import { unwatchDeadline, watchDeadline, type Deadline } from "./coarse-deadlines.ts";
import { GatehouseError } from "./errors.ts";

/** Every PACE_BYTES of a body, and its end, must come within PACE_MS of the ones before. */
const PACE_MS = 60_000;
const PACE_BYTES = 64 * 1024;

export async function readBody(request: Request, maxBytes: number, paceMs = PACE_MS): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array(0);
  const pace = new Pace(paceMs);
  try {
    // The runtime holds a sender to the length it declared, and reads it at half the cost of a stream.
    if (declared !== null && Number(declared) <= PACE_BYTES) return await pace.bound(request.bytes());
    return await readChunks(request.body, maxBytes, pace);
  } finally {
    pace.end();
  }
}

/** The time that the next piece of a body has. */
class Pace implements Deadline {
  dueAt: number;
  readonly #paceMs: number;
  #reject: (fault: GatehouseError) => void = () => undefined;

  constructor(paceMs: number) {
    this.#paceMs = paceMs;
    this.dueAt = performance.now() + paceMs;
    watchDeadline(this);
  }

  /** What is waited for, or the fault that it took too long. */
  bound<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  renew(): void {
    this.dueAt = performance.now() + this.#paceMs;
  }

  expire(): void {
    this.end();
    this.#reject(tooSlow());
  }

  end(): void {
    unwatchDeadline(this);
  }
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  pace: Pace,
): Promise<Uint8Array> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let pacedSize = 0;
  try {
    for (;;) {
      const { done, value } = await pace.bound(reader.read());
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
      if (size - pacedSize < PACE_BYTES) continue;
      pacedSize = size;
      pace.renew();
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
}

function tooLarge(maxBytes: number): GatehouseError {
  return new GatehouseError("body_too_large", `The body is larger than ${maxBytes} bytes (MAX_BODY_BYTES).`);
}

/** What else might come on this connection would be the rest of this body. */
function tooSlow(): GatehouseError {
  return new GatehouseError("request_timeout", "The body stopped coming, or came too slowly.", {
    headers: { Connection: "close" },
  });
}
