// Numbers of placeholders that are the same in all requests of a conversation. They are derived from the
// values with a key that only the gateway knows: others cannot find out a value by trying.

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Half of the digits of a number. */
const DIGITS = 10;

/** The digits of each number. */
export const KEYED_DIGITS = 2 * DIGITS;

/**
 * Returns a number with 64 bits of the HMAC-SHA-256 of the value. `attempt` counts the numbers of a value
 * that were taken.
 */
export type NumberOfValue = (type: string, value: string, attempt: number) => string;

/**
 * `key` consists of at most 64 ASCII characters. The HMAC of RFC 2104 is computed from two digests: a request
 * may have a million values, and an object for each HMAC takes three times as long.
 */
export function numbersOfValues(key: string): NumberOfValue {
  const inner = padded(key, 0x36);
  const outer = Buffer.concat([Buffer.from(padded(key, 0x5c)), Buffer.alloc(DIGEST_BYTES)]);
  const digest = outer.subarray(BLOCK_BYTES);
  const result = new Uint8Array(DIGEST_BYTES);
  const view = new DataView(result.buffer);
  return (type, value, attempt) => {
    // JSON distinguishes lone surrogates, which UTF-8 does not.
    Bun.SHA256.hash(inner + JSON.stringify([type, value, attempt]), digest);
    Bun.SHA256.hash(outer, result);
    // The first half has no leading zero.
    const half = 10 ** (DIGITS - 1) + view.getUint32(0);
    return `${half}${String(view.getUint32(4)).padStart(DIGITS, "0")}`;
  };
}

/** The result has one byte per character in UTF-8. */
function padded(key: string, mask: number): string {
  const bytes = Buffer.alloc(BLOCK_BYTES, mask);
  for (let at = 0; at < key.length; at++) bytes[at] = key.charCodeAt(at) ^ mask;
  return bytes.toString("latin1");
}
