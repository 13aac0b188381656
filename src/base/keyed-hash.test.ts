// Tests of the keyed hash: it depends on the key, the length and every byte of short and long texts.
import { expect, test } from "bun:test";
import { createCipheriv, createHash } from "node:crypto";
import { naiveCompression } from "../../test/support/naive-compression.ts";
import { KeyedHash } from "./keyed-hash.ts";
import { COMPRESSION_KEY_BYTES, TextCompressor } from "./text-compressor.ts";

const COMPRESSED = 512;
const LONG = 16 * 1024;
const secret = new Uint8Array(32).fill(3);
const compressionKey = Uint8Array.from({ length: COMPRESSION_KEY_BYTES }, (_, index) => index * 31);
const compressor = TextCompressor.create(compressionKey);
const hash = new KeyedHash(secret, "name", compressor);
const withoutCompressor = new KeyedHash(secret, "name", null);
const hashOf = (bytes: Uint8Array, start = 0, end = bytes.length, by = hash) =>
  [...by.of(bytes, start, end)].map((word) => word.toString(16)).join(" ");

const keyOf = (name: string) => createHash("sha256").update(secret).update(`${name} name`).digest();
const firstWords = (digest: Buffer) =>
  [0, 4, 8, 12].map((at) => digest.readInt32LE(at).toString(16)).join(" ");

/** The definitions: SHA-256 over key and text, the same over key, length and compressed text, and the authentication code of AES-GCM without a plain text. */
function shortHashOf(bytes: Buffer): string {
  return firstWords(createHash("sha256").update(keyOf("short")).update(bytes).digest());
}

function compressedHashOf(bytes: Buffer): string {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  const compressed = naiveCompression(compressionKey, bytes);
  const hasher = createHash("sha256").update(keyOf("compressed")).update(length).update(compressed);
  return firstWords(hasher.digest());
}

function longHashOf(bytes: Buffer): string {
  const cipher = createCipheriv("aes-256-gcm", keyOf("long"), Buffer.alloc(12)).setAAD(bytes);
  cipher.final();
  return firstWords(cipher.getAuthTag());
}

function naiveHashOf(bytes: Buffer): string {
  if (bytes.length < COMPRESSED) return shortHashOf(bytes);
  return bytes.length < LONG ? compressedHashOf(bytes) : longHashOf(bytes);
}

const LENGTHS = [0, 1, 64, COMPRESSED - 1, COMPRESSED, 4097, LONG - 1, LONG, LONG + 1, 65_536, 1_000_003];

test.each(LENGTHS)("%d bytes have the hash of the definition, at any place of an array", (length) => {
  const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 7919) % 256));
  expect(hashOf(bytes)).toBe(naiveHashOf(bytes));
  const within = Buffer.concat([Buffer.from("abc"), bytes, Buffer.from("def")]);
  expect(hashOf(within, 3, 3 + length)).toBe(hashOf(bytes));
});

test.each([COMPRESSED, 5000, LONG])("without a compressor, %d bytes are hashed with AES-GCM", (length) => {
  const bytes = Buffer.alloc(length, "a text");
  expect(hashOf(bytes, 0, length, withoutCompressor)).toBe(longHashOf(bytes));
});

test.each([500, 5000, 200_000])(
  "every byte of a text of %d bytes counts, and so does its length",
  (length) => {
    const bytes = Buffer.alloc(length, 0x61);
    const expected = hashOf(bytes);
    for (const at of [0, 1, length >> 1, length - 1]) {
      bytes[at] = 0x62;
      expect(hashOf(bytes)).not.toBe(expected);
      bytes[at] = 0x61;
    }
    expect(hashOf(bytes)).toBe(expected);
    // Compression and AES-GCM pad texts with zeros.
    const zeros = Buffer.alloc(length + 16);
    expect(new Set([0, 1, 15, 16].map((more) => hashOf(zeros, 0, length + more))).size).toBe(4);
  },
);

test.each([6, 6000, 60_000])("other secrets and names have other hashes of %d bytes", (length) => {
  const bytes = Buffer.alloc(length, "a text");
  const others = ["name", "other", "name "].map((name) => new KeyedHash(secret, name, compressor));
  others.push(new KeyedHash(new Uint8Array(32), "name", compressor));
  const hashes = others.map((other) => hashOf(bytes, 0, length, other));
  expect(new Set(hashes).size).toBe(4);
  expect(hashes[0]).toBe(hashOf(bytes));
});
