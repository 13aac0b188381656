// Encoders for every supported content encoding, shared by the tests of this folder.
import * as zlib from "node:zlib";

const { constants } = zlib;

export const ENCODERS: [name: string, header: string, encode: (bytes: Uint8Array) => Buffer][] = [
  ["gzip", "gzip", zlib.gzipSync],
  ["x-gzip", "x-gzip", zlib.gzipSync],
  ["deflate", "deflate", zlib.deflateSync],
  ["deflate without zlib header", "deflate", zlib.deflateRawSync],
  [
    "br",
    "br",
    (bytes) => zlib.brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  ],
  ["zstd", "zstd", zlib.zstdCompressSync],
  [
    "zstd with checksum",
    "zstd",
    (bytes) => zlib.zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  ],
];

/** An 8 MB window is the largest that RFC 9659 allows; this frame needs 16 MB. */
export const ZSTD_WINDOW_TOO_LARGE = zlib.zstdCompressSync(Buffer.alloc(20 << 20), {
  params: { [constants.ZSTD_c_windowLog]: 24 },
});

export const TEXT = Buffer.from("a response, and more of it. ".repeat(5000));

/** Splits bytes into pieces of `size`. */
export function inPieces(bytes: Uint8Array, size = 1000): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
  return pieces;
}
