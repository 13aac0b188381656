// Tests of the compression of texts: results are those of the definition, wherever a text is located and whatever was compressed before.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { naiveCompression } from "../../test/support/naive-compression.ts";
import { COMPRESSION_KEY_BYTES, MAX_TEXT_BYTES, PREFIX_BYTES, TextCompressor } from "./text-compressor.ts";

function compressorOf(key: Uint8Array): TextCompressor {
  const compressor = TextCompressor.create(key);
  if (compressor === null) throw new Error("WebAssembly with SIMD is not available");
  return compressor;
}

const key = Uint8Array.from({ length: COMPRESSION_KEY_BYTES }, (_, index) => (index * 7919) >> 4);
const compressor = compressorOf(key);

function expectedResult(ofKey: Uint8Array, text: Uint8Array): number[] {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return [...Buffer.alloc(PREFIX_BYTES), ...length, ...naiveCompression(ofKey, text)];
}

const lengths = fc.oneof(
  fc.nat({ max: 200 }),
  fc.constantFrom(0, 31, 32, 33, 4095, 4096, 4097, 8192, MAX_TEXT_BYTES - 1, MAX_TEXT_BYTES),
  fc.nat({ max: MAX_TEXT_BYTES }),
);

test("results are those of the definition", () => {
  fc.assert(
    fc.property(lengths, fc.nat({ max: 50 }), fc.nat(), (length, start, seed) => {
      const bytes = Uint8Array.from({ length: start + length + 40 }, (_, index) => (seed * index) >> 3);
      const text = bytes.subarray(start, start + length);
      expect([...compressor.compress(bytes, start, start + length)]).toEqual(expectedResult(key, text));
    }),
    { numRuns: 150 },
  );
});

test.each([0x00, 0xff])("sums and products wrap as in the definition: a key of bytes %d", (byte) => {
  const ofKey = new Uint8Array(COMPRESSION_KEY_BYTES).fill(byte);
  const text = new Uint8Array(5000).fill(0xff);
  const result = compressorOf(ofKey).compress(text, 0, text.length);
  expect([...result]).toEqual(expectedResult(ofKey, text));
});

test("the prefix is the start of every result", () => {
  const own = compressorOf(key);
  own.prefix.fill(7);
  const result = own.compress(new Uint8Array(100), 0, 100);
  expect([...result.subarray(0, PREFIX_BYTES)]).toEqual(Array.from({ length: PREFIX_BYTES }, () => 7));
});

test("a text that is too long is refused", () => {
  const bytes = new Uint8Array(MAX_TEXT_BYTES + 1);
  expect(() => compressor.compress(bytes, 0, bytes.length)).toThrow(
    "a text of 16385 bytes is longer than 16384 bytes",
  );
});
