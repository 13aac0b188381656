// Checks of the values that plugins set. The errors are written for plugin authors and name no value that may be secret.
import { findFieldName, type FieldName } from "../http/header-fields.ts";
import type { TokenLimitState } from "../sdk/index.ts";

/** Returns the name in lower case. */
export function checkHeaderName(name: string): string {
  return checkFieldName(name).lower;
}

export function checkFieldName(name: string): FieldName {
  const found = findFieldName(name);
  if (found === null) throw new Error(`"${name}" is not a valid header name`);
  return found;
}

export function checkHeaderValue(value: string): string {
  if (typeof value !== "string" || hasLineBreakOrNul(value))
    throw new Error("a header value must be a string without line breaks and NUL characters");
  return value;
}

/** A loop, because most values are a few characters long: a regular expression takes several times as long. */
function hasLineBreakOrNul(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code === 0x0d || code === 0x0a || code === 0) return true;
  }
  return false;
}

/** Returns a copy of the numbers: they are written into header fields later, and a plugin may change its object. */
export function checkLimit({
  limit,
  remaining,
  resetAt,
  window,
}: TokenLimitState): Omit<TokenLimitState, "name"> {
  if (typeof limit !== "number" || typeof remaining !== "number" || typeof resetAt !== "number")
    throw new Error("limit, remaining and resetAt of a limit must be numbers");
  if (window === undefined) return { limit, remaining, resetAt };
  if (typeof window !== "number") throw new Error("the window of a limit must be a number");
  return { limit, remaining, resetAt, window };
}

export function checkStatus(status: number): number {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new Error(`a status must be a whole number from 200 to 599, got ${String(status)}`);
  return status;
}

/** `what` starts the sentence of the error, as in "a body". */
export function checkBytes(what: string, value: string | Uint8Array, maxBytes: number): Uint8Array {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  if (!(bytes instanceof Uint8Array))
    throw new Error(`${what} must be a string or a Uint8Array, got ${typeof value}`);
  checkSize(what, bytes.byteLength, maxBytes);
  return bytes;
}

export function checkSize(what: string, byteLength: number, maxBytes: number): void {
  if (byteLength > maxBytes)
    throw new Error(`${what} must not be larger than ${maxBytes} bytes (MAX_BODY_BYTES), got ${byteLength}`);
}
