// Identifiers: record ids, request ids, API keys, and their hashes.
import { randomBytes } from "node:crypto";
import { sha256 } from "./sha256.ts";

const VALID_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;
const API_KEY = /^gw_[A-Za-z0-9_-]{43}$/;

/** Returns a UUIDv7. Within a process, later ids sort after earlier ones, so `ORDER BY id` is "oldest first". */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** Returns the client's request id if it is safe in a log line and a header, else a new one. */
export function requestIdFrom(given: string | null): string {
  return given !== null && VALID_REQUEST_ID.test(given) ? given : newId();
}

/** Returns `gw_` and 256 random bits as 43 base64url characters. */
export function newApiKey(): string {
  return `gw_${randomBytes(32).toString("base64url")}`;
}

export function looksLikeApiKey(text: string): boolean {
  return API_KEY.test(text);
}

/**
 * Returns `admin_` and the form of an API key, which no log line shows and no provider receives, wherever it is found in a text.
 */
export function newAdminToken(): string {
  return `admin_${newApiKey()}`;
}

/** Returns the part of an admin token that may be shown, to distinguish tokens. */
export function adminTokenPrefix(token: string): string {
  return token.slice(0, "admin_gw_".length + 6);
}

/** One SHA-256 is enough: a key has 256 random bits, which cannot be guessed, so a slow password hash adds nothing. */
export function hashApiKey(key: string): string {
  return sha256(key);
}

/** Returns the part of a key that may be shown, to distinguish keys. */
export function apiKeyPrefix(key: string): string {
  return key.slice(0, 9);
}
