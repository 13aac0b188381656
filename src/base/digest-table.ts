// A table of bounded size from digests to small numbers. A full set of it drops one of its less recently used entries. Entries are words of
// one array: an object per entry would take five times the memory, and the garbage collector would visit each.

/** The words of a digest that are kept: 128 bits, so that two of 2^40 texts have the same ones with a probability of 2^-49. */
const DIGEST_WORDS = 4;
/** The digest, and 1 + the number; 0 in an unused entry. */
const ENTRY_WORDS = DIGEST_WORDS + 1;
/** The entries of a set, the most recently used first. A digest is kept in one set only. */
const WAYS = 8;
/**
 * One of the last entries of a full set is dropped, and the digest of the new one decides which. If always the last one were, texts that are
 * looked up in turn, one more than a set holds, would all be dropped before they are looked up again.
 */
const DROPPED_WAYS = 4;
const SET_WORDS = WAYS * ENTRY_WORDS;
/** Where the number of an entry is. */
const VALUE = DIGEST_WORDS;

export const MAX_VALUE = 0x7fff_fffe;
/** A table with at least one entry in four used grows rather than to drop an entry. Below, it is by chance that a set is full. */
const ENTRIES_PER_USED = 4;

/** The first words of a digest. */
export type Digest = Int32Array;

export class DigestTable {
  #words: Int32Array;
  /** The number of sets, a power of two, less 1. */
  #mask: number;
  #used = 0;

  /** `capacity`: a power of two, at least 8. */
  constructor(capacity: number) {
    this.#words = new Int32Array(capacity * ENTRY_WORDS);
    this.#mask = capacity / WAYS - 1;
  }

  get capacity(): number {
    return (this.#mask + 1) * WAYS;
  }

  /** Returns the number of a digest, or -1. */
  get(digest: Digest): number {
    const words = this.#words;
    const set = this.#setOf(digest);
    for (let at = set; at < set + SET_WORDS; at += ENTRY_WORDS) {
      if (words[at] !== digest[0] || words[at + 1] !== digest[1]) continue;
      if (words[at + 2] !== digest[2] || words[at + 3] !== digest[3]) continue;
      const stored = words[at + VALUE] ?? 0;
      if (at > set && stored !== 0) this.#putFirst(set, at, digest, stored);
      return stored - 1;
    }
    return -1;
  }

  /** Whether adding a digest would drop an entry although a larger table would have space for both. */
  isTooSmallFor(digest: Digest): boolean {
    const last = this.#setOf(digest) + SET_WORDS - ENTRY_WORDS;
    return this.#words[last + VALUE] !== 0 && this.#used * ENTRIES_PER_USED >= this.capacity;
  }

  /** `value`: a whole number from 0 to MAX_VALUE. */
  set(digest: Digest, value: number): void {
    if (this.get(digest) < 0) this.#add(digest, value + 1);
    else this.#words[this.#setOf(digest) + VALUE] = value + 1;
  }

  /** Keeps the entries that have space, as `constructor`. */
  resize(capacity: number): void {
    const { capacity: previous } = this;
    const words = this.#words;
    this.#words = new Int32Array(capacity * ENTRY_WORDS);
    this.#mask = capacity / WAYS - 1;
    this.#used = 0;
    // From the last way to the first, so that the most recently used of a set are kept.
    for (let way = WAYS - 1; way >= 0; way--)
      for (let entry = way; entry < previous; entry += WAYS) {
        const at = entry * ENTRY_WORDS;
        const stored = words[at + VALUE] ?? 0;
        if (stored !== 0) this.#add(words.subarray(at, at + DIGEST_WORDS), stored);
      }
  }

  #add(digest: Digest, stored: number): void {
    const set = this.#setOf(digest);
    const last = set + SET_WORDS - ENTRY_WORDS;
    const isFull = this.#words[last + VALUE] !== 0;
    if (!isFull) this.#used++;
    const dropped = isFull ? last - ((digest[1] ?? 0) & (DROPPED_WAYS - 1)) * ENTRY_WORDS : last;
    this.#putFirst(set, dropped, digest, stored);
  }

  /** Writes the first entry of a set, after moving the entries before `at` back by one. */
  #putFirst(set: number, at: number, digest: Digest, stored: number): void {
    const words = this.#words;
    words.copyWithin(set + ENTRY_WORDS, set, at);
    for (let index = 0; index < DIGEST_WORDS; index++) words[set + index] = digest[index] ?? 0;
    words[set + VALUE] = stored;
  }

  #setOf(digest: Digest): number {
    return ((digest[0] ?? 0) & this.#mask) * SET_WORDS;
  }
}
