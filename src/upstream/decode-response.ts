// Undoes the encoding of an answer that must be read here, piece by bounded piece and at the reader's pace: a kilobyte can
// hold gigabytes.
import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { ResponseHeaders } from "./response-headers.ts";
import type { BodyReader } from "./upstream-response.ts";
import { UpstreamError } from "./upstream-error.ts";

const PIECE = { chunkSize: 64 * 1024 };

/** Not zstd: the runtime takes one that was cut short for whole. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(PIECE),
  "x-gzip": () => createGunzip(PIECE),
  deflate: () => createInflate(PIECE),
  br: () => createBrotliDecompress(PIECE),
};

/** The encoding of an answer; null where it has none. */
export function encodingOf(headers: Pick<ResponseHeaders, "get">): string | null {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase();
  return encoding === undefined || encoding === "" || encoding === "identity" ? null : encoding;
}

/** Plain bytes were asked for: an encoding that is not known, or a pile of them, is a fault of the provider. */
export function decode(reader: BodyReader, encoding: string): BodyReader {
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]?.() : undefined;
  if (decoder !== undefined) return new DecodedReader(reader, decoder);
  reader.cancel();
  throw new UpstreamError("invalid", new Error(`the encoding ${encoding} cannot be undone here`));
}

class DecodedReader implements BodyReader {
  readonly #reader: BodyReader;
  readonly #decoder: Transform;
  readonly #pieces: AsyncIterator<Uint8Array, undefined>;
  #peeked: Uint8Array | null | undefined;

  constructor(reader: BodyReader, decoder: Transform) {
    this.#reader = reader;
    // Whoever reads is told of a fault by the decoder itself.
    this.#decoder = pipeline(Readable.from(encodedPieces(reader)), decoder, () => undefined);
    this.#pieces = this.#decoder[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  }

  async next(): Promise<Uint8Array | null> {
    const peeked = this.#peeked;
    if (peeked !== undefined) {
      this.#peeked = undefined;
      return peeked;
    }
    try {
      const { done, value } = await this.#pieces.next();
      return done === true ? null : value;
    } catch (cause) {
      this.#reader.cancel();
      throw cause instanceof UpstreamError ? cause : new UpstreamError("cut", cause);
    }
  }

  async peek(): Promise<Uint8Array | null> {
    return (this.#peeked = await this.next());
  }

  cancel(): void {
    this.#reader.cancel();
    this.#decoder.destroy();
  }
}

async function* encodedPieces(reader: BodyReader): AsyncGenerator<Uint8Array> {
  for (let piece = await reader.next(); piece !== null; piece = await reader.next()) yield piece;
}
