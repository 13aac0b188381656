// Searches and decodes any Uint8Array with Buffer's methods. Uint8Array itself can only search for single bytes, and
// creating a Buffer view for each search would cost more than the search.

interface BufferMethods {
  readonly indexOf: (this: Uint8Array, needle: Uint8Array | number, from: number) => number;
  readonly lastIndexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
  readonly copy: (this: Uint8Array, target: Uint8Array, at: number, from: number, to: number) => number;
  readonly toString: (this: Uint8Array, encoding: "latin1" | "utf8", from: number, to: number) => string;
}

const methods: BufferMethods = Buffer.alloc(0);
const { copy, indexOf, lastIndexOf, toString } = methods;

export function indexOfBytes(bytes: Uint8Array, needle: Uint8Array, from: number): number {
  return indexOf.call(bytes, needle, from);
}

/** Returns the index of the first such byte from `from` on, or -1. Takes half the time of Uint8Array's own method. */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  return indexOf.call(bytes, byte, from);
}

export function lastIndexOfBytes(bytes: Uint8Array, needle: Uint8Array, from: number): number {
  return lastIndexOf.call(bytes, needle, from);
}

/** Copies the bytes from `from` to `to`, exclusive, into `target` from `at` on. Unlike `set`, it needs no view of them. */
export function copyBytes(bytes: Uint8Array, target: Uint8Array, at: number, from: number, to: number): void {
  copy.call(bytes, target, at, from, to);
}

/** Decodes the bytes from `from` to `to`, exclusive. Keeps byte order marks; invalid sequences become U+FFFD. */
export function utf8Between(bytes: Uint8Array, from: number, to: number): string {
  return toString.call(bytes, "utf8", from, to);
}

/** Decodes the bytes from `from` to the end, one character per byte. */
export function latin1From(bytes: Uint8Array, from: number): string {
  return toString.call(bytes, "latin1", from, bytes.byteLength);
}

/** Whether the byte order mark of UTF-8 is at this place. */
export function hasByteOrderMark(bytes: Uint8Array, at = 0): boolean {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf;
}
