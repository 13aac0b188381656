// Decodes an encoded stream as it arrives and, if its content is changed on the way, encodes it again.
import type { ContentEncoding, TruncationCheck } from "./content-encoding.ts";

/** Output limit for one piece of a stream, since a few bytes can decode to gigabytes. */
const MAX_DECODED_BYTES = 32 * 1024 * 1024;

type Decoder = ReturnType<ContentEncoding["createDecoder"]>;
type Encoder = ReturnType<ContentEncoding["createEncoder"]>;

export class StreamRecoder {
  readonly #encoding: ContentEncoding;
  readonly #encoder: Encoder | null;
  readonly #truncationCheck: TruncationCheck | undefined;
  /** Created for the first piece, whose first byte shows whether "deflate" has a zlib header. */
  #decoder: Decoder | null = null;
  #error: Error | null = null;
  #rejectPending: ((error: Error) => void) | null = null;
  #decoded: Uint8Array[] = [];
  #decodedBytes = 0;
  #encoded: Uint8Array[] = [];

  /** `encodes`: whether `encode` and `end` will be called. */
  constructor(encoding: ContentEncoding, encodes: boolean) {
    this.#encoding = encoding;
    this.#truncationCheck = encoding.createTruncationCheck?.();
    this.#encoder = encodes ? encoding.createEncoder() : null;
    this.#encoder?.on("data", (bytes: Uint8Array) => this.#encoded.push(bytes));
    this.#encoder?.on("error", (error) => this.#fail(error));
  }

  /** Decodes the next piece of the stream. Rejects if it is invalid or decodes to more than 32 MiB. */
  async decode(bytes: Uint8Array): Promise<Uint8Array> {
    const decoder = (this.#decoder ??= this.#createDecoder(bytes[0] ?? 0));
    this.#truncationCheck?.push(bytes);
    await this.#run((done) => decoder.write(bytes, done));
    const decoded = Buffer.concat(this.#decoded);
    this.#decoded = [];
    this.#decodedBytes = 0;
    return decoded;
  }

  /** Encodes and flushes these bytes, so that the client can decode them as soon as they arrive. */
  async encode(bytes: Uint8Array): Promise<Uint8Array> {
    const encoder = this.#encoder;
    if (encoder === null || bytes.byteLength === 0) return new Uint8Array(0);
    await this.#run((done) => {
      encoder.write(bytes);
      encoder.flush(this.#encoding.flush, done);
    });
    return this.#takeEncoded();
  }

  /** Returns the end of the encoded stream. Rejects if the decoded stream is truncated. */
  async end(): Promise<Uint8Array> {
    const [encoder, decoder] = [this.#encoder, this.#decoder];
    if (encoder === null || decoder === null) return new Uint8Array(0);
    await this.#run((done) => decoder.once("end", done).end());
    if (this.#truncationCheck?.isComplete === false) throw new Error("the encoded stream is truncated");
    await this.#run((done) => encoder.once("end", done).end());
    return this.#takeEncoded();
  }

  /** Releases the decoder and the encoder. Pending calls reject. */
  destroy(): void {
    this.#fail(new Error("the stream recoder is destroyed"));
    this.#decoder?.destroy();
    this.#encoder?.destroy();
  }

  #createDecoder(firstByte: number): Decoder {
    const decoder = this.#encoding.createDecoder(firstByte);
    decoder.on("data", (bytes: Uint8Array) => {
      this.#decodedBytes += bytes.byteLength;
      if (this.#decodedBytes > MAX_DECODED_BYTES)
        this.#fail(new Error(`a piece decodes to more than ${MAX_DECODED_BYTES} bytes`));
      else this.#decoded.push(bytes);
    });
    decoder.on("error", (error) => this.#fail(error));
    return decoder;
  }

  #takeEncoded(): Uint8Array {
    const encoded = Buffer.concat(this.#encoded);
    this.#encoded = [];
    return encoded;
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#decoded = [];
    this.#rejectPending?.(this.#error);
  }

  /** Resolves when `start` has called `done`, rejects when a decoder or encoder fails. */
  #run(start: (done: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#error !== null) {
        reject(this.#error);
        return;
      }
      this.#rejectPending = reject;
      start(() => {
        if (this.#error === null) resolve();
        else reject(this.#error);
      });
    });
  }
}
