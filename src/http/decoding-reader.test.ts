// Decodes every encoding piece by piece. Truncated and invalid input is an error, not the end of the body.
import { describe, expect, test } from "bun:test";
import type { BodyReader } from "./body-reader.ts";
import { parseContentEncoding } from "./content-encoding.ts";
import { DecodingReader } from "./decoding-reader.ts";
import { ENCODERS, inPieces, TEXT, ZSTD_WINDOW_TOO_LARGE } from "./encodings.fixture.ts";

/** Returns these pieces, then ends or rejects. */
function sourceOf(pieces: readonly Uint8Array[], error: Error | null = null): BodyReader {
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

class WrappedError extends Error {
  override readonly name = "WrappedError";
}

function decode(source: BodyReader, header: string): DecodingReader {
  const encoding = parseContentEncoding(header);
  if (typeof encoding === "string") throw new Error(encoding);
  return new DecodingReader(source, encoding, (cause) => new WrappedError("wrapped", { cause }));
}

async function read(reader: BodyReader): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let piece = await reader.next(); piece !== null; piece = await reader.next()) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function errorOf(reader: BodyReader): Promise<unknown> {
  return read(reader).then(
    () => null,
    (error: unknown) => error,
  );
}

describe.each(ENCODERS)("%s", (_, header, encode) => {
  test("is decoded to the original bytes", async () => {
    const encoded = encode(TEXT);
    for (const size of [1, 1000, encoded.length])
      expect((await read(decode(sourceOf(inPieces(encoded, size)), header))).equals(TEXT)).toBe(true);
    expect(await read(decode(sourceOf([encode(Buffer.alloc(0))]), header))).toEqual(Buffer.alloc(0));
  });

  test.each([1, 5, 20])("truncated by %d bytes is an error", async (missing) => {
    const truncated = inPieces(encode(TEXT).subarray(0, -missing));
    expect(await errorOf(decode(sourceOf(truncated), header))).toBeInstanceOf(WrappedError);
  });

  test("without any byte is an error", async () => {
    expect(await errorOf(decode(sourceOf([]), header))).toBeInstanceOf(WrappedError);
  });

  test("that is not encoded is an error", async () => {
    const plain = sourceOf([Buffer.from("plain text")]);
    expect(await errorOf(decode(plain, header))).toBeInstanceOf(WrappedError);
  });

  test("whose source fails is the error of the source", async () => {
    const cause = new Error("idle timeout");
    const failing = sourceOf([encode(TEXT).subarray(0, 20)], cause);
    expect(await errorOf(decode(failing, header))).toMatchObject({ name: "WrappedError", cause });
  });

  test("peek does not consume the first piece", async () => {
    const reader = decode(sourceOf(inPieces(encode(TEXT))), header);
    await reader.peek();
    expect((await read(reader)).equals(TEXT)).toBe(true);
  });

  test("a decompression bomb is decoded in small pieces, and only as far as it is read", async () => {
    const bomb = encode(Buffer.alloc(128 << 20));
    const before = process.memoryUsage.rss();
    const reader = decode(sourceOf([bomb]), header);
    for (let piece = 0; piece < 10; piece++)
      expect((await reader.next())!.byteLength).toBeLessThanOrEqual(1 << 16);
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 << 20);
    reader.cancel();
  });
});

test("a zstd window of more than 8 MB is an error", async () => {
  expect(await errorOf(decode(sourceOf([ZSTD_WINDOW_TOO_LARGE]), "zstd"))).toBeInstanceOf(WrappedError);
});
