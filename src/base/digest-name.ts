// Names of keys in Redis. A SHA-256 truncated to 128 bits limits their size, and clients cannot construct collisions.

const DIGEST_BYTES = 16;
const scratchBuffer = new Uint8Array(32);
const scratchDigest = scratchBuffer.subarray(0, DIGEST_BYTES);

/** Returns the digest of a key of any length as 22 characters. */
export function digestName(key: string): string {
  Bun.SHA256.hash(key, scratchBuffer);
  return scratchDigest.toBase64({ alphabet: "base64url", omitPadding: true });
}
