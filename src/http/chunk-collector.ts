// Collects the chunks of a body. Small chunks are copied into blocks: a list of millions of one-byte chunks would take a
// hundred times the memory of the body.

const BLOCK_BYTES = 64 * 1024;
/** Chunks from this size on are kept as they are. */
const LARGE_CHUNK_BYTES = 16 * 1024;

export class ChunkCollector {
  readonly #chunks: Uint8Array[] = [];
  /** The block that is being filled; null if there is none. */
  #block: Uint8Array | null = null;
  #blockUsed = 0;
  #size = 0;

  /** Bytes added so far. */
  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (chunk.byteLength >= LARGE_CHUNK_BYTES) {
      this.#closeBlock();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#blockUsed + chunk.byteLength > BLOCK_BYTES) this.#closeBlock();
    this.#block ??= new Uint8Array(BLOCK_BYTES);
    this.#block.set(chunk, this.#blockUsed);
    this.#blockUsed += chunk.byteLength;
  }

  /** Returns all bytes and forgets them. */
  take(): Uint8Array {
    this.#closeBlock();
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined) {
      this.#chunks.length = 0;
      this.clear();
      return first;
    }
    const whole = Buffer.concat(this.#chunks, this.#size);
    this.clear();
    return whole;
  }

  /** Forgets all bytes and frees their memory now: the garbage collector may leave hundreds of megabytes for a while. */
  clear(): void {
    this.#closeBlock();
    // Two chunks may share their memory.
    for (const { buffer } of this.#chunks)
      if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
    this.#chunks.length = 0;
    this.#block = null;
    this.#blockUsed = 0;
    this.#size = 0;
  }

  #closeBlock(): void {
    if (this.#block !== null) this.#chunks.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = null;
    this.#blockUsed = 0;
  }
}
