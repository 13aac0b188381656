// Splits an event stream into its events without changing a byte, so that each can be held, counted, or sent as it arrived.
import { SseTooLargeError } from "./sse.ts";

const LF = 0x0a;
const CR = 0x0d;
const NO_BYTES = new Uint8Array(0);
const MAX_BLOCK_BYTES = 4 * 1024 * 1024;
const INITIAL_CAPACITY = 1024;

export class EventBlocks {
  /** The bytes of the incomplete event. Doubles when it is full, so that bytes arriving one at a time take linear time. */
  #buffer = new Uint8Array(INITIAL_CAPACITY);
  #length = 0;
  /** Whether the line that the next byte belongs to is empty so far. */
  #isLineEmpty = true;
  /** Whether the last byte was a carriage return: a line feed after it belongs to the same line end. */
  #wasReturn = false;
  /** Whether a blank line has ended the event, and only a line feed may still belong to it. */
  #hasEnded = false;

  /** Returns the events that these bytes complete, each with the blank line at its end. */
  push(bytes: Uint8Array): Uint8Array[] {
    const blocks: Uint8Array[] = [];
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#hasEnded) {
        const end = this.#wasReturn && byte === LF ? at + 1 : at;
        blocks.push(this.#take(bytes.subarray(start, end)));
        start = end;
        if (end > at) continue;
      }
      this.#read(byte);
    }
    // After a carriage return, the line feed may still arrive.
    if (this.#hasEnded && !this.#wasReturn) {
      blocks.push(this.#take(bytes.subarray(start)));
      start = bytes.length;
    }
    this.#keep(bytes.subarray(start));
    return blocks;
  }

  /** Returns the bytes after the last complete event. */
  end(): Uint8Array {
    return this.#take(NO_BYTES);
  }

  #read(byte: number | undefined): void {
    const isSecondHalf = byte === LF && this.#wasReturn;
    this.#wasReturn = byte === CR;
    if (isSecondHalf) return;
    if (byte !== LF && byte !== CR) {
      this.#isLineEmpty = false;
      return;
    }
    if (this.#isLineEmpty) this.#hasEnded = true;
    this.#isLineEmpty = true;
  }

  #take(rest: Uint8Array): Uint8Array {
    this.#hasEnded = this.#wasReturn = false;
    if (this.#length === 0) return rest;
    const block = new Uint8Array(this.#length + rest.length);
    block.set(this.#buffer.subarray(0, this.#length));
    block.set(rest, this.#length);
    this.#length = 0;
    return block;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > MAX_BLOCK_BYTES) throw new SseTooLargeError(MAX_BLOCK_BYTES);
    if (length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(length, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }
}
