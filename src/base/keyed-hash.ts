// A keyed hash of texts (SHA-256 over a secret key, the length and the text): without the key, no one can find two texts with the same hash,
// also not of a part of it.
import type { Digest } from "./digest-table.ts";

const KEY_BYTES = 32;
const DIGEST_BYTES = 32;
/** The length of the text in bytes, as a double. */
const LENGTH_AT = KEY_BYTES;
const TEXT_AT = LENGTH_AT + 8;
/** A longer text is hashed piece by piece, each with the digest of the pieces before it. Bounds the scratch buffer. */
const PIECE_BYTES = 64 * 1024;

/** Shared by all hashes, which are synchronous: the key and the text have to be in one array. Created with the first hash. */
let scratchBuffer: DataView<ArrayBuffer> | null = null;
let scratchBytes = new Uint8Array(0);
let keyInScratch: Uint8Array | null = null;
const digestBytes = new Uint8Array(DIGEST_BYTES);
const digest = new Int32Array(digestBytes.buffer);

/** Returns a key that only those know who know `secret`, for a purpose that `name` names. */
export function deriveKey(secret: Uint8Array, name: string): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  Bun.SHA256.hash(Buffer.concat([secret, Buffer.from(name)]), key);
  return key;
}

/** `key`: 32 bytes. The result is valid until the next call. */
export function keyedHash(key: Uint8Array, bytes: Uint8Array, start: number, end: number): Digest {
  scratchBuffer ??= createScratchBuffer();
  if (keyInScratch !== key) scratchBytes.set((keyInScratch = key));
  scratchBuffer.setFloat64(LENGTH_AT, end - start);
  let at = start;
  let textAt = TEXT_AT;
  do {
    const next = Math.min(at + PIECE_BYTES, end);
    scratchBytes.set(bytes.subarray(at, next), textAt);
    Bun.SHA256.hash(scratchBytes.subarray(0, textAt + next - at), digestBytes);
    at = next;
    if (at < end) {
      scratchBytes.set(digestBytes, TEXT_AT);
      textAt = TEXT_AT + DIGEST_BYTES;
    }
  } while (at < end);
  return digest;
}

function createScratchBuffer(): DataView<ArrayBuffer> {
  scratchBytes = new Uint8Array(TEXT_AT + DIGEST_BYTES + PIECE_BYTES);
  return new DataView(scratchBytes.buffer);
}
