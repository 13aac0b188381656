// A table of bounded size from digests to small numbers. A full set of it drops one of its less recently used entries. Entries are words of
// arrays: an object per entry would take five times the memory, and the garbage collector would visit each.

/** The words of a digest that are kept: 128 bits, so that two of 2^40 texts have the same ones with a probability of 2^-49. */
const DIGEST_WORDS = 4;
/** The entries of a set. A digest is kept in one set only. */
const WAYS = 8;
/**
 * One of the last entries of a full set is dropped, and the digest of the new one decides which. If always the last one were, texts that are
 * looked up in turn, one more than a set holds, would all be dropped before they are looked up again.
 */
const DROPPED_WAYS = 4;
/** What #rest has of an entry: three words of the digest, and 1 + the number. */
const REST_WORDS = DIGEST_WORDS;
/** Where the number of an entry is in it. */
const VALUE = REST_WORDS - 1;

// An order has the ways of a set, the most recently used first, with WAY_BITS each, and above them how many are used.
const WAY_BITS = 3;
const WAY_MASK = WAYS - 1;
const COUNT_SHIFT = WAYS * WAY_BITS;
const ORDER_MASK = (1 << COUNT_SHIFT) - 1;

export const MAX_VALUE = 0x7fff_fffe;
/** A table with at least one entry in four used grows rather than to drop an entry. Below, it is by chance that a set is full. */
const ENTRIES_PER_USED = 4;

/** The first words of a digest. */
export type Digest = Int32Array;

export class DigestTable {
  /** The first word of each entry. Those of a set are in one cache line: looking up a new text, which is rarely in the cache, reads no other one. */
  #firsts: Int32Array;
  #rest: Int32Array;
  /** By set. Entries stay where they are. */
  #orders: Int32Array;
  /** The number of sets, a power of two, less 1. */
  #mask: number;
  #used = 0;

  /** `capacity`: a power of two, at least 8. */
  constructor(capacity: number) {
    this.#firsts = new Int32Array(capacity);
    this.#rest = new Int32Array(capacity * REST_WORDS);
    this.#orders = new Int32Array(capacity / WAYS);
    this.#mask = capacity / WAYS - 1;
  }

  get capacity(): number {
    return (this.#mask + 1) * WAYS;
  }

  /** Returns the number of a digest, or -1. */
  get(digest: Digest): number {
    const entry = this.#entryOf(digest);
    if (entry < 0) return -1;
    this.#putFirst(entry);
    return (this.#rest[entry * REST_WORDS + VALUE] ?? 0) - 1;
  }

  /** Whether adding a digest would drop an entry although a larger table would have space for both. */
  isTooSmallFor(digest: Digest): boolean {
    return this.#countOf(this.#setOf(digest)) === WAYS && this.#used * ENTRIES_PER_USED >= this.capacity;
  }

  /** `value`: a whole number from 0 to MAX_VALUE. */
  set(digest: Digest, value: number): void {
    const entry = this.#entryOf(digest);
    if (entry < 0) {
      this.#add(digest[0] ?? 0, digest[1] ?? 0, digest[2] ?? 0, digest[3] ?? 0, value + 1);
      return;
    }
    this.#putFirst(entry);
    this.#rest[entry * REST_WORDS + VALUE] = value + 1;
  }

  /** Keeps the entries that have space, as `constructor`. */
  resize(capacity: number): void {
    const firsts = this.#firsts;
    const rest = this.#rest;
    const orders = this.#orders;
    this.#firsts = new Int32Array(capacity);
    this.#rest = new Int32Array(capacity * REST_WORDS);
    this.#orders = new Int32Array(capacity / WAYS);
    this.#mask = capacity / WAYS - 1;
    this.#used = 0;
    // From the last place to the first, so that the most recently used of a set are kept.
    for (let place = WAYS - 1; place >= 0; place--)
      for (const [set, order] of orders.entries()) {
        if (place >= order >> COUNT_SHIFT) continue;
        const entry = set * WAYS + wayAt(order, place);
        const at = entry * REST_WORDS;
        this.#add(
          firsts[entry] ?? 0,
          rest[at] ?? 0,
          rest[at + 1] ?? 0,
          rest[at + 2] ?? 0,
          rest[at + VALUE] ?? 0,
        );
      }
  }

  /** Returns the entry of a digest, or -1. */
  #entryOf(digest: Digest): number {
    const first = digest[0] ?? 0;
    const set = this.#setOf(digest);
    const firsts = this.#firsts;
    const end = set * WAYS + this.#countOf(set);
    for (let entry = set * WAYS; entry < end; entry++)
      if (firsts[entry] === first && this.#hasRest(entry * REST_WORDS, digest)) return entry;
    return -1;
  }

  #hasRest(at: number, digest: Digest): boolean {
    const rest = this.#rest;
    return rest[at] === digest[1] && rest[at + 1] === digest[2] && rest[at + 2] === digest[3];
  }

  #add(first: number, second: number, third: number, fourth: number, stored: number): void {
    const set = first & this.#mask;
    const order = this.#orders[set] ?? 0;
    const count = order >> COUNT_SHIFT;
    const isFull = count === WAYS;
    // The ways are used in the order of their numbers.
    const place = isFull ? WAYS - 1 - (second & (DROPPED_WAYS - 1)) : count;
    const way = isFull ? wayAt(order, place) : count;
    this.#orders[set] = ((isFull ? count : count + 1) << COUNT_SHIFT) | withFirst(order, place, way);
    if (!isFull) this.#used++;
    const entry = set * WAYS + way;
    const at = entry * REST_WORDS;
    this.#firsts[entry] = first;
    this.#rest[at] = second;
    this.#rest[at + 1] = third;
    this.#rest[at + 2] = fourth;
    this.#rest[at + VALUE] = stored;
  }

  /** Makes an entry the most recently used one of its set. */
  #putFirst(entry: number): void {
    const set = entry >> WAY_BITS;
    const way = entry & WAY_MASK;
    const order = this.#orders[set] ?? 0;
    let place = 0;
    while (wayAt(order, place) !== way) place++;
    if (place > 0) this.#orders[set] = (order & ~ORDER_MASK) | withFirst(order, place, way);
  }

  #setOf(digest: Digest): number {
    return (digest[0] ?? 0) & this.#mask;
  }

  #countOf(set: number): number {
    return (this.#orders[set] ?? 0) >> COUNT_SHIFT;
  }
}

function wayAt(order: number, place: number): number {
  return (order >> (place * WAY_BITS)) & WAY_MASK;
}

/** Returns an order, without the count, in which the way at a place is the first one, after those before it were moved back by one. */
function withFirst(order: number, place: number, way: number): number {
  const before = order & ((1 << (place * WAY_BITS)) - 1);
  const after = order & ORDER_MASK & ~((1 << ((place + 1) * WAY_BITS)) - 1);
  return after | (before << WAY_BITS) | way;
}
