// Collects the chunks of a body. Small chunks are copied into blocks: a list of millions of one-byte chunks would take a
// hundred times the memory of the body.
import { freeBuffer, freeReceived, LARGE_BUFFER_BYTES } from "./free-memory.ts";

const BLOCK_BYTES = 64 * 1024;
/** Blocks grow with what has arrived: thousands of connections may have a few bytes each. */
const MIN_BLOCK_BYTES = 128;

/** What is left of the memory for all bodies. */
interface Room {
  /** Whether there is so much that a part of it may be used twice for a moment. */
  readonly isAmple: boolean;
}

const AMPLE_ROOM: Room = { isAmple: true };

export class ChunkCollector {
  /** The size of all chunks together; null if it is unknown. */
  readonly #expectedBytes: number | null;
  readonly #room: Room;
  readonly #chunks: Uint8Array[] = [];
  /** All bytes so far, in memory for the expected bytes; null if there is none yet. */
  #whole: Uint8Array | null = null;
  /** The block that is being filled; null if there is none. */
  #block: Uint8Array | null = null;
  #blockUsed = 0;
  #size = 0;

  /** Chunks of LARGE_BUFFER_BYTES belong to the collector: it frees their memory. `expectedBytes` may be exceeded. */
  constructor(expectedBytes: number | null = null, room: Room = AMPLE_ROOM) {
    this.#expectedBytes = expectedBytes;
    this.#room = room;
  }

  /** Bytes added so far. */
  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    if (this.#isWorthWhole(size)) this.#addToWhole(chunk);
    else this.#addToChunks(chunk);
    this.#size = size;
  }

  /** Returns all bytes and forgets them. */
  take(): Uint8Array {
    this.#closeBlock();
    const whole = this.#whole ?? (this.#chunks.length === 1 ? this.#chunks[0] : undefined);
    if (whole !== undefined) {
      const taken = whole.byteLength === this.#size ? whole : whole.subarray(0, this.#size);
      this.#chunks.length = 0;
      this.#forget();
      return taken;
    }
    const joined = Buffer.concat(this.#chunks, this.#size);
    this.clear();
    return joined;
  }

  /** Forgets all bytes and frees their memory. */
  clear(): void {
    this.#closeBlock();
    for (const { buffer } of this.#chunks) freeBuffer(buffer);
    if (this.#whole !== null) freeBuffer(this.#whole.buffer);
    this.#forget();
  }

  /**
   * Whether to allocate the expected bytes: at least half of them have arrived, so that a client cannot make the gateway allocate much by
   * announcing a large body. Chunks are copied while they are in the cache of the CPU, and their memory is used for the next ones. It
   * stays allocated for up to a second if there are none, so without ample room the chunks are kept.
   */
  #isWorthWhole(size: number): boolean {
    const expected = this.#expectedBytes;
    if (expected === null || size > expected) return false;
    if (expected <= BLOCK_BYTES || this.#whole !== null) return true;
    return size * 2 >= expected && this.#room.isAmple;
  }

  #addToWhole(chunk: Uint8Array): void {
    moveInto((this.#whole ??= this.#allocateWhole()), chunk, this.#size);
  }

  /** Returns memory for the expected bytes that begins with those so far. */
  #allocateWhole(): Uint8Array {
    const whole = Buffer.allocUnsafeSlow(this.#expectedBytes ?? 0);
    this.#closeBlock();
    let at = 0;
    for (const chunk of this.#chunks) {
      const { byteLength } = chunk;
      moveInto(whole, chunk, at);
      at += byteLength;
    }
    this.#chunks.length = 0;
    return whole;
  }

  #addToChunks(chunk: Uint8Array): void {
    if (this.#whole !== null) {
      this.#chunks.push(this.#whole.subarray(0, this.#size));
      this.#whole = null;
    }
    if (chunk.byteLength >= LARGE_BUFFER_BYTES) {
      this.#closeBlock();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#block !== null && this.#blockUsed + chunk.byteLength > this.#block.byteLength)
      this.#closeBlock();
    this.#block ??= new Uint8Array(this.#nextBlockBytes(chunk.byteLength));
    this.#block.set(chunk, this.#blockUsed);
    this.#blockUsed += chunk.byteLength;
  }

  #nextBlockBytes(needed: number): number {
    return Math.max(needed, MIN_BLOCK_BYTES, Math.min(this.#size, BLOCK_BYTES));
  }

  #closeBlock(): void {
    if (this.#block !== null) this.#chunks.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = null;
    this.#blockUsed = 0;
  }

  #forget(): void {
    this.#chunks.length = 0;
    this.#whole = null;
    this.#size = 0;
  }
}

function moveInto(target: Uint8Array, chunk: Uint8Array, at: number): void {
  target.set(chunk, at);
  freeReceived(chunk);
}
