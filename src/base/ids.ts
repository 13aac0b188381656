// Identifiers: record ids, request ids, API keys and their hashes.
import { randomBytes } from "node:crypto";

const SANE_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;
/** Where digests are written, read at once: an object for each would cost five times as much. */
const digest = new Uint8Array(32);
const API_KEY = /^gw_[A-Za-z0-9_-]{43}$/;

/** A time-ordered UUIDv7: within a process later ids sort after earlier ones, so "oldest first" is `ORDER BY id`. */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** The client's request id where it is harmless in a log line and a header, else a new one. */
export function requestIdFrom(given: string | null): string {
  return given !== null && SANE_REQUEST_ID.test(given) ? given : newId();
}

/** `gw_` and 256 random bits in 43 base64url characters. */
export function newApiKey(): string {
  return `gw_${randomBytes(32).toString("base64url")}`;
}

export function looksLikeApiKey(text: string): boolean {
  return API_KEY.test(text);
}

/** Keys are 256 random bits, so one SHA-256 is enough: there is nothing to guess that a slow hash would slow down. */
export function hashApiKey(key: string): string {
  Bun.SHA256.hash(key, digest);
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** The part of a key that may be shown, to tell keys apart. */
export function apiKeyPrefix(key: string): string {
  return key.slice(0, 9);
}
