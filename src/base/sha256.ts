// SHA-256 of a text, for keys that must not reveal what they are made from.

/** Reused for every hash: a hash object for each text was measured at five times the cost. */
const scratchBuffer = new Uint8Array(32);

/** Returns 43 base64url characters. */
export function sha256(text: string): string {
  Bun.SHA256.hash(text, scratchBuffer);
  return scratchBuffer.toBase64({ alphabet: "base64url", omitPadding: true });
}
