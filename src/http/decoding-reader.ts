// Decodes a body in bounded pieces and at the reader's pace, since a kilobyte can decode to gigabytes.
import { pipeline, Readable } from "node:stream";
import type { BodyReader } from "./body-reader.ts";
import type { ContentEncoding } from "./content-encoding.ts";

/** Maximum size of a decoded piece. */
const CHUNK_SIZE = 64 * 1024;

export class DecodingReader implements BodyReader {
  readonly #source: BodyReader;
  readonly #encoding: ContentEncoding;
  readonly #wrapError: (cause: unknown) => Error;
  #decoded: Readable | null = null;
  #pieces: AsyncIterator<unknown> | null = null;
  #peeked: Uint8Array | null | undefined;

  /** `wrapError` converts an error of the source or the decoder into the error that `next` rejects with. */
  constructor(source: BodyReader, encoding: ContentEncoding, wrapError: (cause: unknown) => Error) {
    this.#source = source;
    this.#encoding = encoding;
    this.#wrapError = wrapError;
  }

  async next(): Promise<Uint8Array | null> {
    const peeked = this.#peeked;
    if (peeked !== undefined) {
      this.#peeked = undefined;
      return peeked;
    }
    try {
      this.#pieces ??= await this.#start();
      const piece: IteratorResult<unknown, unknown> = await this.#pieces.next();
      return piece.value instanceof Uint8Array ? piece.value : null;
    } catch (cause) {
      this.#source.cancel();
      throw this.#wrapError(cause);
    }
  }

  async peek(): Promise<Uint8Array | null> {
    return (this.#peeked = await this.next());
  }

  cancel(): void {
    this.#source.cancel();
    this.#decoded?.destroy();
  }

  async #start(): Promise<AsyncIterator<unknown>> {
    const first = (await this.#source.next()) ?? new Uint8Array(0);
    const decoder = this.#encoding.createDecoder(first[0] ?? 0, { chunkSize: CHUNK_SIZE });
    // The iterator reports errors, so the callback of the pipeline ignores them.
    this.#decoded = pipeline(Readable.from(this.#encodedPieces(first)), decoder, () => undefined);
    return this.#decoded[Symbol.asyncIterator]();
  }

  async *#encodedPieces(first: Uint8Array): AsyncGenerator<Uint8Array> {
    const check = this.#encoding.createTruncationCheck?.();
    for (let piece: Uint8Array | null = first; piece !== null; piece = await this.#source.next()) {
      check?.push(piece);
      yield piece;
    }
    if (check?.isComplete === false) throw new Error("the encoded body is truncated");
  }
}
