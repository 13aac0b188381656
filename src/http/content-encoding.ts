// The content encodings (RFC 9110, section 8.4) that the gateway decodes and encodes, the parser of the
// Content-Encoding header, and decoding of whole bodies. Streams: decoding-reader.ts and stream-recoder.ts.
import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { isCompleteZstd, ZstdFrames } from "./zstd-frames.ts";

/** Output limit for a whole body, since a kilobyte can decode to gigabytes. */
const MAX_DECODED_BYTES = 4 * 1024 * 1024;

type ZlibStream = Transform & zlib.Zlib;

export interface ContentEncoding {
  /** Throws if the bytes are invalid, truncated, or decode to more than `maxOutputLength`. */
  readonly decode: (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  /** `firstByte` is the first byte of the encoded body. `chunkSize` limits the size of a decoded piece. */
  readonly createDecoder: (firstByte: number, options?: { chunkSize: number }) => ZlibStream;
  readonly createEncoder: () => ZlibStream;
  /** Argument of `flush` that makes an encoder output everything it has, so that a client can decode each event. */
  readonly flush: number;
  /** Present if the decoder does not report truncated input itself. */
  readonly createTruncationCheck?: () => TruncationCheck;
}

export interface TruncationCheck {
  push(bytes: Uint8Array): void;
  readonly isComplete: boolean;
}

const { constants } = zlib;

const GZIP: ContentEncoding = {
  decode: (bytes, options) => zlib.gunzipSync(bytes, options),
  createDecoder: (_, options) => zlib.createGunzip(options),
  createEncoder: () => zlib.createGzip(),
  flush: constants.Z_SYNC_FLUSH,
};

// RFC 9110, section 8.4.1.2: some servers send "deflate" without the zlib header that it must have.
const DEFLATE: ContentEncoding = {
  decode: (bytes, options) =>
    hasZlibHeader(bytes[0] ?? 0) ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options),
  createDecoder: (firstByte, options) =>
    hasZlibHeader(firstByte) ? zlib.createInflate(options) : zlib.createInflateRaw(options),
  createEncoder: () => zlib.createDeflate(),
  flush: constants.Z_SYNC_FLUSH,
};

const BROTLI: ContentEncoding = {
  decode: (bytes, options) => zlib.brotliDecompressSync(bytes, options),
  createDecoder: (_, options) => zlib.createBrotliDecompress(options),
  // The default quality of 11 takes too long for a stream.
  createEncoder: () => zlib.createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  flush: constants.BROTLI_OPERATION_FLUSH,
};

/** RFC 9659: a zstd content encoding has a window of at most 8 MB. Without the limit, a decoder may take 128 MB. */
const ZSTD_WINDOW = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

const ZSTD: ContentEncoding = {
  decode: (bytes, options) => {
    if (!isCompleteZstd(bytes)) throw new Error("the zstd data is truncated");
    return zlib.zstdDecompressSync(bytes, { ...options, ...ZSTD_WINDOW });
  },
  createDecoder: (_, options) => zlib.createZstdDecompress({ ...options, ...ZSTD_WINDOW }),
  createEncoder: () => zlib.createZstdCompress(),
  flush: constants.ZSTD_e_flush,
  createTruncationCheck: () => new ZstdFrames(),
};

const ENCODINGS: ReadonlyMap<string, ContentEncoding> = new Map([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  ["deflate", DEFLATE],
  ["br", BROTLI],
  ["zstd", ZSTD],
]);

/** Parses a Content-Encoding header. More than one encoding is "unsupported": no provider sends that. */
export function parseContentEncoding(header: string | null): ContentEncoding | "identity" | "unsupported" {
  const name = header?.trim().toLowerCase() ?? "";
  return name === "" || name === "identity" ? "identity" : (ENCODINGS.get(name) ?? "unsupported");
}

/** Decodes a whole body. Returns null if it is invalid, truncated, or decodes to more than 4 MiB. */
export function decodeBody(bytes: Uint8Array, encoding: ContentEncoding): Uint8Array | null {
  try {
    return encoding.decode(bytes, { maxOutputLength: MAX_DECODED_BYTES });
  } catch {
    return null;
  }
}

/** The low four bits of a zlib header are the compression method, and 8 is the only one (RFC 1950, section 2.2). */
function hasZlibHeader(firstByte: number): boolean {
  return (firstByte & 0x0f) === 8;
}
