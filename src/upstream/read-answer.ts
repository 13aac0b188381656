// Reads an answer under its idle deadline: chunk by chunk, or whole and bounded.
import { abortReason } from "./send.ts";
import { UpstreamFault } from "./upstream-fault.ts";

interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>;
}

/** The chunks of an answer. Every wait is bounded by the idle deadline; whatever ends it early is an UpstreamFault. */
export class AnswerReader {
  readonly #reader: ChunkReader;
  readonly #abort: AbortController;
  readonly #idle: Timer;
  // The clock counts only while the provider is waited for: a client that reads slowly is not the provider's fault.
  #isWaiting = false;
  #peeked: Uint8Array | null | undefined;

  constructor(body: ReadableStream<Uint8Array>, idleMs: number, abort: AbortController) {
    this.#reader = body.getReader() as unknown as ChunkReader;
    this.#abort = abort;
    this.#idle = setTimeout(() => {
      if (this.#isWaiting) abort.abort(new UpstreamFault("idle_timeout"));
    }, idleMs);
  }

  /** Waits for the first chunk without taking it: until it is there, another provider can still be asked. */
  async peek(): Promise<void> {
    this.#peeked = await this.next();
  }

  /** The next chunk, or null at the end. */
  async next(): Promise<Uint8Array | null> {
    const peeked = this.#peeked;
    if (peeked !== undefined) {
      this.#peeked = undefined;
      return peeked;
    }
    this.#idle.refresh();
    this.#isWaiting = true;
    try {
      const { done, value } = await this.#reader.read();
      this.#isWaiting = false;
      if (!done && value !== undefined) return value;
      clearTimeout(this.#idle);
      return null;
    } catch (cause) {
      clearTimeout(this.#idle);
      if (this.#abort.signal.aborted) throw abortReason(this.#abort);
      throw new UpstreamFault("cut", cause);
    }
  }

  /** Ends the provider's work. */
  cancel(): void {
    clearTimeout(this.#idle);
    this.#abort.abort();
  }
}

/** Reads an answer whose declared length is small, at half the cost of its chunks. */
export async function readDeclared(
  response: Response,
  idleMs: number,
  abort: AbortController,
): Promise<Uint8Array> {
  const idle = setTimeout(() => abort.abort(new UpstreamFault("idle_timeout")), idleMs);
  try {
    return await response.bytes();
  } catch (cause) {
    throw abort.signal.aborted ? abortReason(abort) : new UpstreamFault("cut", cause);
  } finally {
    clearTimeout(idle);
  }
}

/** Reads a whole answer. More than `maxBytes` is a fault: what must be read must be bounded. */
export async function readWhole(reader: AnswerReader, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = await reader.next();
    if (chunk === null)
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
    size += chunk.byteLength;
    if (size > maxBytes) {
      reader.cancel();
      throw new UpstreamFault("cut", new Error(`the answer is larger than ${maxBytes} bytes`));
    }
    chunks.push(chunk);
  }
}
