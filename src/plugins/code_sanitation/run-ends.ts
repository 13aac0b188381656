// Where the beginnings of bodies end that are remembered as clean (clean-texts.ts). The next turn of a conversation begins with the same sections: this tells
// with which of them, so that only one beginning has to be hashed. Only the hash decides whether it is known.

/** A power of two. */
const SLOTS = 4096;
/** The bytes that tell an end from other places of a body, before the quote and the brace with which all end. */
const LAST_BYTES = 8;
const END_BYTES = 2;

/** Of one instance of the plugin, like its memory: 8 KiB, once a beginning is remembered. An end may replace an earlier one. */
export class RunEnds {
  #tags: Uint16Array | null = null;

  /** Records that the beginning of a body up to `end` is remembered. */
  add(bytes: Uint8Array, end: number): void {
    const key = keyOf(bytes, end);
    this.#tags ??= new Uint16Array(SLOTS);
    this.#tags[slotOf(key)] = tagOf(key);
  }

  /** Returns whether a beginning of this length with these last bytes was recorded, or, rarely, another one. */
  has(bytes: Uint8Array, end: number): boolean {
    if (this.#tags === null) return false;
    const key = keyOf(bytes, end);
    return this.#tags[slotOf(key)] === tagOf(key);
  }
}

function keyOf(bytes: Uint8Array, end: number): number {
  let key = end;
  const last = end - END_BYTES;
  for (let at = last - LAST_BYTES; at < last; at++) key = Math.imul(key, 31) + (bytes[at] ?? 0);
  return Math.imul(key ^ (key >>> 15), 0x9e3779b1);
}

function slotOf(key: number): number {
  return (key >>> 16) & (SLOTS - 1);
}

/** Not 0, which is the tag of an unused slot. */
function tagOf(key: number): number {
  return (key & 0xffff) | 1;
}
