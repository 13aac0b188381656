// The Content-Encoding header, and decoding of whole bodies.
import { describe, expect, test } from "bun:test";
import { decodeBody, parseContentEncoding, type ContentEncoding } from "./content-encoding.ts";
import { ENCODERS, TEXT, ZSTD_WINDOW_TOO_LARGE } from "./encodings.fixture.ts";

function encodingNamed(header: string): ContentEncoding {
  const encoding = parseContentEncoding(header);
  if (typeof encoding === "string") throw new Error(encoding);
  return encoding;
}

test.each([null, "", "identity", " Identity "])("Content-Encoding %j is identity", (header) => {
  expect(parseContentEncoding(header)).toBe("identity");
});

test.each(["lzma", "gzip, gzip", "gzip, br", "constructor", "chunked"])(
  "Content-Encoding %j is unsupported",
  (header) => {
    expect(parseContentEncoding(header)).toBe("unsupported");
  },
);

test("names are case-insensitive, and x-gzip is gzip", () => {
  expect(encodingNamed(" GZIP ")).toBe(encodingNamed("gzip"));
  expect(encodingNamed("x-gzip")).toBe(encodingNamed("gzip"));
});

describe.each(ENCODERS)("%s", (_, header, encode) => {
  const encoding = encodingNamed(header);

  test("is decoded to the original bytes", () => {
    for (const bytes of [Buffer.alloc(0), TEXT])
      expect(Buffer.compare(decodeBody(encode(bytes), encoding)!, bytes)).toBe(0);
  });

  test("is null if truncated, not encoded, or larger than 4 MiB", () => {
    const encoded = encode(TEXT);
    for (const missing of [1, 5, 20, encoded.length])
      expect(decodeBody(encoded.subarray(0, -missing), encoding)).toBeNull();
    expect(decodeBody(Buffer.from("plain text"), encoding)).toBeNull();
    expect(decodeBody(encode(Buffer.alloc(5 << 20)), encoding)).toBeNull();
  });
});

test("a zstd window of more than 8 MB is rejected", () => {
  const unlimited = { maxOutputLength: 64 << 20 };
  expect(() => encodingNamed("zstd").decode(ZSTD_WINDOW_TOO_LARGE, unlimited)).toThrow();
});
