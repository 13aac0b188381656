// Reads a body in pieces of bounded size, and continues in another turn of the event loop when the work on them takes long: a socket may
// deliver half a megabyte at once, and events that have arrived can all be read without waiting for anything.
import { ownTurn, TurnMeter } from "../base/own-turn.ts";
import type { BodyReader } from "./body-reader.ts";

/** Events of 100 bytes that are translated, 160 in a piece, take about 1 ms. */
const PIECE_BYTES = 16 * 1024;

/** Calls `read` with bytes that are in memory, piece by piece. */
export async function readInPieces(bytes: Uint8Array, read: (piece: Uint8Array) => void): Promise<void> {
  const meter = new TurnMeter();
  for (let start = 0; start < bytes.byteLength; start += PIECE_BYTES) {
    const piece = bytes.subarray(start, start + PIECE_BYTES);
    read(piece);
    const pause = meter.add(piece.byteLength);
    if (pause !== null) await pause;
  }
}

export class PacedReader implements BodyReader {
  readonly #source: BodyReader;
  readonly #meter = new TurnMeter();
  /** What was received after the last piece. */
  #rest: Uint8Array | null = null;
  /** The size of the last piece, whose work is done when the next one is read. */
  #readBytes = 0;

  constructor(source: BodyReader) {
    this.#source = source;
  }

  next(): Promise<Uint8Array | null> {
    const pause = this.#readBytes === 0 ? null : this.#meter.add(this.#readBytes);
    return pause === null ? this.#read() : pause.then(() => this.#read());
  }

  peek(): Promise<Uint8Array | null> {
    return this.#rest === null ? this.#source.peek() : Promise.resolve(this.#rest);
  }

  cancel(): void {
    this.#rest = null;
    this.#source.cancel();
  }

  #read(): Promise<Uint8Array | null> {
    const rest = this.#rest;
    return rest === null ? this.#source.next().then(this.#receive) : Promise.resolve(this.#divide(rest));
  }

  /** Several bursts may arrive in one turn, and their readers continue together: each waits for a turn that has time. */
  readonly #receive = (bytes: Uint8Array | null): Uint8Array | null | Promise<Uint8Array | null> => {
    if (bytes === null || bytes.byteLength <= PIECE_BYTES) return this.#divide(bytes);
    return ownTurn().then(() => this.#divide(bytes));
  };

  /** Returns the first piece, and keeps the rest. */
  #divide(bytes: Uint8Array | null): Uint8Array | null {
    const isDivided = bytes !== null && bytes.byteLength > PIECE_BYTES;
    const piece = isDivided ? bytes.subarray(0, PIECE_BYTES) : bytes;
    this.#rest = isDivided ? bytes.subarray(PIECE_BYTES) : null;
    this.#readBytes = piece?.byteLength ?? 0;
    return piece;
  }
}
