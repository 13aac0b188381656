// Every encoding is undone, piece by piece; what is cut short, no such encoding, or unknown is a fault.
import { describe, expect, test } from "bun:test";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { decode, encodingOf } from "./decode-response.ts";
import type { BodyReader } from "./upstream-response.ts";
import { UpstreamError } from "./upstream-error.ts";

const ENCODERS: [encoding: string, encode: (bytes: Uint8Array) => Buffer][] = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
];
const TEXT = Buffer.from("an answer, and more of it. ".repeat(5000));

/** A source of these pieces, which then ends or breaks. */
function source(pieces: readonly Uint8Array[], error: UpstreamError | null = null): BodyReader {
  let at = 0;
  return {
    next: () => {
      const piece = pieces[at++];
      if (piece !== undefined) return Promise.resolve(piece);
      return error === null ? Promise.resolve(null) : Promise.reject(error);
    },
    peek: () => Promise.resolve(null),
    cancel: () => undefined,
  };
}

function inPieces(bytes: Uint8Array, size = 1000): BodyReader {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
  return source(pieces);
}

async function read(reader: BodyReader): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let piece = await reader.next(); piece !== null; piece = await reader.next()) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function faultOf(reader: BodyReader): Promise<unknown> {
  return read(reader).then(
    () => null,
    (error: unknown) => error,
  );
}

describe.each(ENCODERS)("%s", (encoding, encode) => {
  test("comes back as it was", async () => {
    expect((await read(decode(inPieces(encode(TEXT)), encoding))).equals(TEXT)).toBe(true);
  });

  test("cut short is a fault, not an end", async () => {
    expect(await faultOf(decode(inPieces(encode(TEXT).subarray(0, -5)), encoding))).toMatchObject({
      kind: "cut",
    });
  });

  test("what is none of it is a fault", async () => {
    expect(await faultOf(decode(inPieces(Buffer.from("plain text")), encoding))).toMatchObject({
      kind: "cut",
    });
  });

  test("a source that breaks is a fault", async () => {
    const error = new UpstreamError("idle_timeout");
    const broken = source([encode(TEXT).subarray(0, 20)], error);
    expect(await faultOf(decode(broken, encoding))).toBe(error);
  });

  test("looking at the first piece does not take it", async () => {
    const reader = decode(inPieces(encode(TEXT)), encoding);
    await reader.peek();
    expect((await read(reader)).equals(TEXT)).toBe(true);
  });

  test("a bomb comes in small pieces, and only as far as it is read", async () => {
    const bomb = encode(Buffer.alloc(128 << 20));
    const before = process.memoryUsage.rss();
    const reader = decode(inPieces(bomb, bomb.length), encoding);
    for (let piece = 0; piece < 10; piece++)
      expect((await reader.next())!.byteLength).toBeLessThanOrEqual(1 << 16);
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 << 20);
    reader.cancel();
  });
});

test.each(["zstd", "lzma", "gzip, gzip", "gzip, br", "constructor", "chunked"])(
  "%s is not known",
  (encoding) => {
    expect(() => decode(inPieces(TEXT), encoding)).toThrow(UpstreamError);
  },
);

test.each([
  [undefined, null],
  ["", null],
  ["identity", null],
  ["Identity", null],
  [" GZIP ", "gzip"],
])("Content-Encoding %p is %p", (value, encoding) => {
  const headers = value === undefined ? {} : { "Content-Encoding": value };
  expect(encodingOf(new Headers(headers))).toBe(encoding);
});
