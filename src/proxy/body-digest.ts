// Digests of request bodies, by which what was computed from a body is found again. They are valid in this process only.
import { randomBytes } from "node:crypto";
import { KeyedHash } from "../base/keyed-hash.ts";

const SECRET_BYTES = 32;
const DIGEST_BYTES = 32;

const hash = new KeyedHash(randomBytes(SECRET_BYTES), "request bodies");
const scratchBuffer = new Uint8Array(DIGEST_BYTES);

/**
 * Returns a text that no two bodies share: without the secret, no client can find two. Plugins may show it, and the keyed hash of a long body
 * must not become known, so it is hashed again.
 */
export function digestOfBody(bytes: Uint8Array): string {
  Bun.SHA256.hash(hash.of(bytes, 0, bytes.byteLength), scratchBuffer);
  return scratchBuffer.toBase64({ alphabet: "base64url", omitPadding: true });
}
