// Tests of the keyed hash: it depends on the key, the length and every byte of short and long texts.
import { expect, test } from "bun:test";
import { createCipheriv, createHash } from "node:crypto";
import { KeyedHash } from "./keyed-hash.ts";

const LONG = 1024;
const secret = new Uint8Array(32).fill(3);
const hash = new KeyedHash(secret, "name");
const hashOf = (bytes: Uint8Array, start = 0, end = bytes.length, by = hash) =>
  [...by.of(bytes, start, end)].map((word) => word.toString(16)).join(" ");

/** The definition: SHA-256 over key and text, or the authentication code of AES-GCM without a plain text. */
function naiveHashOf(bytes: Buffer): string {
  const isLong = bytes.length >= LONG;
  const key = createHash("sha256")
    .update(secret)
    .update(isLong ? "long name" : "short name")
    .digest();
  let digest = createHash("sha256").update(key).update(bytes).digest();
  if (isLong) {
    const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(12)).setAAD(bytes);
    cipher.final();
    digest = cipher.getAuthTag();
  }
  return [0, 4, 8, 12].map((at) => digest.readInt32LE(at).toString(16)).join(" ");
}

const LENGTHS = [0, 1, 63, 64, LONG - 1, LONG, LONG + 1, 65_535, 65_536, 1_000_003];

test.each(LENGTHS)("%d bytes have the hash of the definition, at any place of an array", (length) => {
  const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 7919) % 256));
  expect(hashOf(bytes)).toBe(naiveHashOf(bytes));
  const within = Buffer.concat([Buffer.from("abc"), bytes, Buffer.from("def")]);
  expect(hashOf(within, 3, 3 + length)).toBe(hashOf(bytes));
});

test.each([500, 200_000])("every byte of a text of %d bytes counts, and so does its length", (length) => {
  const bytes = Buffer.alloc(length, 0x61);
  const expected = hashOf(bytes);
  for (const at of [0, 1, length >> 1, length - 1]) {
    bytes[at] = 0x62;
    expect(hashOf(bytes)).not.toBe(expected);
    bytes[at] = 0x61;
  }
  expect(hashOf(bytes)).toBe(expected);
  // AES-GCM pads texts with zeros.
  const zeros = Buffer.alloc(length + 16);
  expect(new Set([0, 1, 15, 16].map((more) => hashOf(zeros, 0, length + more))).size).toBe(4);
});

test.each([6, 6000])("other secrets and names have other hashes of %d bytes", (length) => {
  const bytes = Buffer.alloc(length, "a text");
  const others = ["name", "other", "name "].map((name) => new KeyedHash(secret, name));
  others.push(new KeyedHash(new Uint8Array(32), "name"));
  const hashes = others.map((other) => hashOf(bytes, 0, length, other));
  expect(new Set(hashes).size).toBe(4);
  expect(hashes[0]).toBe(hashOf(bytes));
});
