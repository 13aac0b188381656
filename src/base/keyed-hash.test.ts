// Tests of the keyed hash: it depends on the key and on every byte, also of texts that are hashed in several pieces.
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { deriveKey, keyedHash } from "./keyed-hash.ts";

const PIECE = 64 * 1024;
const key = new Uint8Array(32).fill(3);
const hashOf = (bytes: Uint8Array, start = 0, end = bytes.length) =>
  Buffer.from(keyedHash(key, bytes, start, end).slice().buffer).toString("hex");

/** The definition: each piece is hashed with the key, the length of the text, and the digest of the pieces before. */
function naiveHashOf(bytes: Buffer): string {
  const length = Buffer.alloc(8);
  length.writeDoubleBE(bytes.length);
  let before = Buffer.alloc(0);
  let at = 0;
  do {
    const piece = bytes.subarray(at, at + PIECE);
    before = createHash("sha256").update(key).update(length).update(before).update(piece).digest();
    at += PIECE;
  } while (at < bytes.length);
  return before.toString("hex");
}

const LENGTHS = [0, 1, 63, 64, 1000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 5];

test.each(LENGTHS)("%d bytes have the hash of the definition, at any place of an array", (length) => {
  const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 7919) % 256));
  expect(hashOf(bytes)).toBe(naiveHashOf(bytes));
  const within = Buffer.concat([Buffer.from("abc"), bytes, Buffer.from("def")]);
  expect(hashOf(within, 3, 3 + length)).toBe(hashOf(bytes));
});

test("every byte of a text counts", () => {
  const bytes = Buffer.alloc(2 * PIECE + 100, 0x61);
  const hash = hashOf(bytes);
  for (const at of [0, 1, 1000, PIECE - 1, PIECE, 2 * PIECE - 1, 2 * PIECE, bytes.length - 1]) {
    bytes[at] = 0x62;
    expect(hashOf(bytes)).not.toBe(hash);
    bytes[at] = 0x61;
  }
  expect(hashOf(bytes)).toBe(hash);
});

test("other keys have other hashes, also of the same array", () => {
  const bytes = Buffer.from("a text");
  const secret = new Uint8Array(32).fill(1);
  const hashes = ["one", "other", "one "].map((name) =>
    String(keyedHash(deriveKey(secret, name), bytes, 0, bytes.length)),
  );
  hashes.push(String(keyedHash(deriveKey(new Uint8Array(32), "one"), bytes, 0, bytes.length)));
  expect(new Set(hashes).size).toBe(4);
});
