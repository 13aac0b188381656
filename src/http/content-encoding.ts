// Undoes the encoding of an answer, aside and bounded, to read its usage; and puts a stream back into its encoding
// where a chunk was taken out of it.
import zlib from "node:zlib";

/** What is read of an encoded answer that comes whole. */
export const MAX_DECODED_BYTES = 4 * 1024 * 1024;
/** A few bytes may stand for very many. */
const MAX_DECODED_CHUNK_BYTES = 32 * 1024 * 1024;

export interface Encoding {
  readonly decodeWhole: (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  readonly createDecoder: () => Transform;
  readonly createEncoder: () => Transform;
  /** Makes an encoder hand out all that it has, so that a client can read every event as it comes. */
  readonly flush: number;
}

/** The part of zlib's streams that is used. */
interface Transform {
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  once(event: "end", listener: () => void): unknown;
  write(bytes: Uint8Array, done: () => void): unknown;
  flush(kind: number, done: () => void): void;
  end(): unknown;
  destroy(): unknown;
}

const { constants } = zlib;

const GZIP: Encoding = {
  decodeWhole: (bytes, options) => zlib.gunzipSync(bytes, options),
  createDecoder: () => zlib.createGunzip(),
  createEncoder: () => zlib.createGzip(),
  flush: constants.Z_SYNC_FLUSH,
};

const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  [
    "deflate",
    {
      // Some send it without the wrapping that it should have.
      decodeWhole: (bytes, options) =>
        (((bytes[0] ?? 0) & 0x0f) === 8 ? zlib.inflateSync : zlib.inflateRawSync)(bytes, options),
      createDecoder: () => zlib.createInflate(),
      createEncoder: () => zlib.createDeflate(),
      flush: constants.Z_SYNC_FLUSH,
    },
  ],
  [
    "br",
    {
      decodeWhole: (bytes, options) => zlib.brotliDecompressSync(bytes, options),
      createDecoder: () => zlib.createBrotliDecompress(),
      // Nobody waits for the last percent of a stream.
      createEncoder: () => zlib.createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
      flush: constants.BROTLI_OPERATION_FLUSH,
    },
  ],
  [
    "zstd",
    {
      decodeWhole: (bytes, options) => zlib.zstdDecompressSync(bytes, options),
      createDecoder: () => zlib.createZstdDecompress(),
      createEncoder: () => zlib.createZstdCompress(),
      flush: constants.ZSTD_e_flush,
    },
  ],
]);

/** The encoding that a header names: null where the bytes are plain, undefined where they cannot be read here. */
export function encodingOf(header: string | null): Encoding | null | undefined {
  const name = header?.trim().toLowerCase() ?? "";
  return name === "" || name === "identity" ? null : ENCODINGS.get(name);
}

/** Null where it cannot be decoded, or is too large. */
export function decodeWhole(bytes: Uint8Array, encoding: Encoding): Uint8Array | null {
  try {
    return encoding.decodeWhole(bytes, { maxOutputLength: MAX_DECODED_BYTES });
  } catch {
    return null;
  }
}

/** Reads an encoded stream as it comes and, where `changes`, writes it anew in the same encoding. */
export class StreamRecoder {
  readonly #decoder: Transform;
  readonly #encoder: Transform | null;
  readonly #flush: number;
  #fault: Error | null = null;
  #decoded: Uint8Array[] = [];
  #decodedBytes = 0;
  #encoded: Uint8Array[] = [];

  constructor(encoding: Encoding, changes: boolean) {
    this.#flush = encoding.flush;
    this.#decoder = encoding.createDecoder();
    this.#decoder.on("data", (bytes) => {
      this.#decodedBytes += bytes.byteLength;
      if (this.#decodedBytes > MAX_DECODED_CHUNK_BYTES) this.#fail(new Error("decodes to too much"));
      else this.#decoded.push(bytes);
    });
    this.#decoder.on("error", (error) => this.#fail(error));
    this.#encoder = changes ? encoding.createEncoder() : null;
    this.#encoder?.on("data", (bytes) => this.#encoded.push(bytes));
    this.#encoder?.on("error", (error) => this.#fail(error));
  }

  /** Rejects where the bytes are not what their header says. */
  async decode(bytes: Uint8Array): Promise<Uint8Array> {
    await this.#settled((done) => this.#decoder.write(bytes, done));
    const decoded = Buffer.concat(this.#decoded);
    this.#decoded = [];
    this.#decodedBytes = 0;
    return decoded;
  }

  /** These bytes, encoded, ready to be decoded as soon as they arrive. */
  async encode(bytes: Uint8Array): Promise<Uint8Array> {
    const encoder = this.#encoder;
    if (encoder === null || bytes.byteLength === 0) return new Uint8Array(0);
    await this.#settled((done) => {
      encoder.write(bytes, () => undefined);
      encoder.flush(this.#flush, done);
    });
    return this.#takeEncoded();
  }

  /** How an encoded stream ends. */
  async end(): Promise<Uint8Array> {
    const encoder = this.#encoder;
    if (encoder === null) return new Uint8Array(0);
    await this.#settled((done) => {
      encoder.once("end", done);
      encoder.end();
    });
    return this.#takeEncoded();
  }

  destroy(): void {
    this.#fail(new Error("let go"));
    this.#decoder.destroy();
    this.#encoder?.destroy();
  }

  #takeEncoded(): Uint8Array {
    const encoded = Buffer.concat(this.#encoded);
    this.#encoded = [];
    return encoded;
  }

  #onFault: ((error: Error) => void) | null = null;

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#decoded = [];
    this.#onFault?.(this.#fault);
  }

  #settled(start: (done: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#fault !== null) {
        reject(this.#fault);
        return;
      }
      this.#onFault = reject;
      start(() => {
        if (this.#fault === null) resolve();
        else reject(this.#fault);
      });
    });
  }
}
