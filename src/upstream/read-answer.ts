// Reads an answer whole and bounded, or with its encoding undone, where something here must look into it.
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { BodyReader } from "./incoming-answer.ts";
import { UpstreamFault } from "./upstream-fault.ts";

/** Reads a whole answer. More than `maxBytes` is a fault: what must be read must be bounded. */
export async function readWhole(reader: BodyReader, maxBytes: number): Promise<Uint8Array> {
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

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/** The body without its encoding, at the reader's pace; the reader itself where it has none. */
export function decodedReader(reader: BodyReader, encoding: string | null): BodyReader {
  const coding = encoding?.trim().toLowerCase() ?? "identity";
  if (coding === "identity" || coding === "") return reader;
  if (!Object.hasOwn(DECODERS, coding)) {
    reader.cancel();
    throw new UpstreamFault("invalid", new Error(`the encoding ${coding} cannot be read here`));
  }
  return new DecodedReader(reader, DECODERS[coding as keyof typeof DECODERS]());
}

class DecodedReader implements BodyReader {
  readonly #reader: BodyReader;
  readonly #decoder: ReturnType<typeof createGunzip>;
  readonly #decoded: AsyncIterator<Buffer, undefined>;
  #fault: unknown = null;
  #peeked: Uint8Array | null | undefined;

  constructor(reader: BodyReader, decoder: ReturnType<typeof createGunzip>) {
    this.#reader = reader;
    this.#decoder = decoder;
    this.#decoded = decoder[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    void this.#pump();
  }

  async next(): Promise<Uint8Array | null> {
    const peeked = this.#peeked;
    if (peeked !== undefined) {
      this.#peeked = undefined;
      return peeked;
    }
    try {
      const { done, value } = await this.#decoded.next();
      return done === true ? null : value;
    } catch (cause) {
      this.#reader.cancel();
      if (this.#fault instanceof UpstreamFault) throw this.#fault;
      throw new UpstreamFault("cut", cause);
    }
  }

  async peek(): Promise<void> {
    this.#peeked = await this.next();
  }

  cancel(): void {
    this.#reader.cancel();
    this.#decoder.destroy();
  }

  async #pump(): Promise<void> {
    try {
      for (;;) {
        const chunk = await this.#reader.next();
        if (chunk === null) break;
        if (!this.#decoder.write(chunk)) await drained(this.#decoder);
        if (this.#decoder.destroyed) return;
      }
      this.#decoder.end();
    } catch (fault) {
      this.#fault = fault;
      this.#decoder.destroy(fault as Error);
    }
  }
}

function drained(decoder: ReturnType<typeof createGunzip>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      decoder.off("drain", done).off("close", done);
      resolve();
    };
    decoder.on("drain", done).on("close", done);
  });
}
