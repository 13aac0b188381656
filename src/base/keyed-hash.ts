// A keyed hash of texts: without the key, no one can find two texts with the same hash. Short texts are hashed with SHA-256, at 0.5 ns per byte. Longer
// ones are compressed before that (text-compressor.ts), at 0.12 ns. For the longest it is the authentication code of AES-GCM, which takes 0.04 ns per byte but
// 0.5 µs per text, and 2 µs in a busy process, because it creates objects.
import { createCipheriv } from "node:crypto";
import { copyBytes } from "./byte-search.ts";
import type { Digest } from "./digest-table.ts";
import { COMPRESSION_KEY_BYTES, MAX_TEXT_BYTES, TextCompressor } from "./text-compressor.ts";

const KEY_BYTES = 32;
const HASH_BYTES = 32;
/** Shorter texts are hashed with SHA-256. */
const COMPRESSED_BYTES = 512;
/** Texts from this size on are hashed with AES-GCM. */
const LONG_BYTES = MAX_TEXT_BYTES;
/**
 * A nonce must not be used twice where authentication codes become known: two of them reveal the key. These never leave the process. With one
 * nonce, equal texts have equal codes, and different texts of n bytes the same with a probability of n / 16 in 2^128.
 */
const NONCE = new Uint8Array(12);

/** Shared by all hashes, which are synchronous: the key and the text have to be in one array. */
const scratchBuffer = new Uint8Array(KEY_BYTES + COMPRESSED_BYTES);
let keyInScratch: Uint8Array | null = null;
const hashBytes = new Uint8Array(HASH_BYTES);
const digest = new Int32Array(hashBytes.buffer, 0, 4);

/** Created with the first text that it is used for. Null where the runtime does not support it. */
let sharedCompressor: TextCompressor | null | undefined;

export class KeyedHash {
  readonly #shortKey: Uint8Array;
  readonly #longKey: Uint8Array;
  readonly #compressedKey: Uint8Array;
  #compressor: TextCompressor | null | undefined;

  /**
   * Hashes tell nothing about those with another secret or name. `compressor` is for tests: by default one of this thread with a random key, so that
   * hashes are valid in this thread only.
   */
  constructor(secret: Uint8Array, name: string, compressor?: TextCompressor | null) {
    this.#shortKey = deriveKey(secret, `short ${name}`);
    this.#longKey = deriveKey(secret, `long ${name}`);
    this.#compressedKey = deriveKey(secret, `compressed ${name}`);
    this.#compressor = compressor;
  }

  /** Returns the hash of the bytes from `start` up to `end`. It is valid until the next call. */
  of(bytes: Uint8Array, start: number, end: number): Digest {
    const length = end - start;
    if (length < COMPRESSED_BYTES) this.#hashShort(bytes, start, end);
    else if (length >= LONG_BYTES || !this.#hashCompressed(bytes, start, end))
      this.#hashLong(bytes.subarray(start, end));
    return digest;
  }

  #hashShort(bytes: Uint8Array, start: number, end: number): void {
    if (keyInScratch !== this.#shortKey) scratchBuffer.set((keyInScratch = this.#shortKey));
    copyBytes(bytes, scratchBuffer, KEY_BYTES, start, end);
    Bun.SHA256.hash(scratchBuffer.subarray(0, KEY_BYTES + end - start), hashBytes);
  }

  /** Returns false if there is no compressor. */
  #hashCompressed(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#compressor === undefined) this.#compressor = compressorOfThread();
    const compressor = this.#compressor;
    if (compressor === null) return false;
    compressor.prefix.set(this.#compressedKey);
    Bun.SHA256.hash(compressor.compress(bytes, start, end), hashBytes);
    return true;
  }

  #hashLong(text: Uint8Array): void {
    const cipher = createCipheriv("aes-256-gcm", this.#longKey, NONCE);
    cipher.setAAD(text);
    cipher.final();
    hashBytes.set(cipher.getAuthTag());
  }
}

function compressorOfThread(): TextCompressor | null {
  if (sharedCompressor === undefined)
    sharedCompressor = TextCompressor.create(crypto.getRandomValues(new Uint8Array(COMPRESSION_KEY_BYTES)));
  return sharedCompressor;
}

function deriveKey(secret: Uint8Array, name: string): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  Bun.SHA256.hash(Buffer.concat([secret, Buffer.from(name)]), key);
  return key;
}
