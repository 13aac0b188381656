// How many parts the sink of a chunked body gets, and that bytes and order stay the same, wherever the bytes are split.
import { expect, test } from "bun:test";
import { ChunkedBody } from "./chunked-body.ts";

function encode(chunks: readonly Buffer[]): Buffer {
  const lines = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...lines, Buffer.from("0\r\n\r\n")]);
}

function decode(bytes: Buffer, splitAt: number): { readonly parts: Uint8Array[]; readonly rest: number } {
  const parts: Uint8Array[] = [];
  const body = new ChunkedBody({ onBody: (part) => void parts.push(new Uint8Array(part)) });
  body.begin();
  let at = body.push(bytes.subarray(0, splitAt), 0);
  if (at === splitAt) at += body.push(bytes.subarray(splitAt), 0);
  expect(body.isEnded).toBe(true);
  return { parts, rest: bytes.length - at };
}

test("chunks of one byte that arrive together reach the sink together", () => {
  const chunks = Array.from({ length: 10_000 }, (_, index) => Buffer.from([index % 256]));
  const { parts } = decode(encode(chunks), 0);
  expect(parts).toHaveLength(1);
  expect(Buffer.concat(parts).equals(Buffer.concat(chunks))).toBe(true);
});

test.each([
  ["small", [1, 2, 17, 300, 4096]],
  ["large", [5000, 9000]],
  ["small and large", [3, 5000, 1, 1, 4096, 4097, 20, 20]],
  ["one", [7]],
])("%s chunks keep their bytes and order, wherever they are split", (_, sizes) => {
  const chunks = sizes.map((size, index) => Buffer.alloc(size, index + 1));
  const encoded = encode(chunks);
  const next = Buffer.from("GET / HTTP/1.1");
  for (let splitAt = 0; splitAt <= encoded.length; splitAt += encoded.length > 1000 ? 97 : 1) {
    const { parts, rest } = decode(Buffer.concat([encoded, next]), splitAt);
    expect(Buffer.concat(parts).equals(Buffer.concat(chunks))).toBe(true);
    expect(rest).toBe(next.length);
  }
});

test("what precedes an error reaches the sink", () => {
  const parts: Uint8Array[] = [];
  const body = new ChunkedBody({ onBody: (part) => void parts.push(part) });
  body.begin();
  expect(() => body.push(Buffer.from("1\r\na\r\n2\r\nbc\r\nx\r\n"), 0)).toThrow("invalid chunk size");
  expect(Buffer.concat(parts).toString()).toBe("abc");
});
