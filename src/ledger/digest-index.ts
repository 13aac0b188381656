// A hash table from key digests to slots, with linear probing.

/** Share of the table that is used at most. Linear probing becomes slow above it. */
const MAX_LOAD = 0.75;
const DIGEST_WORDS = 4;

// `?? 0` is for the type checker: all indexes are in bounds. It was measured to cost nothing, whereas a function for
// reading elements made decisions slower by a third.

export class DigestIndex {
  /** Slot + 1, or 0 if the place is empty. */
  readonly #places: Uint32Array;
  /** The digests of the slots, DIGEST_WORDS words each. */
  readonly #digests: Uint32Array;

  /** `capacity` divided by MAX_LOAD must be a power of two. */
  constructor(capacity: number) {
    this.#places = new Uint32Array(capacity / MAX_LOAD);
    this.#digests = new Uint32Array(capacity * DIGEST_WORDS);
  }

  /** Returns the slot of a digest, or -1. */
  find(digest: Uint32Array): number {
    return (this.#places[this.#placeOf(digest, 0)] ?? 0) - 1;
  }

  /** Adds a digest that is not in the table. */
  add(digest: Uint32Array, slot: number): void {
    this.#places[this.#placeOf(digest, 0)] = slot + 1;
    this.#digests.set(digest, slot * DIGEST_WORDS);
  }

  /** Adds the digest of a slot of another table. */
  copy(other: DigestIndex, from: number, slot: number): void {
    const start = from * DIGEST_WORDS;
    this.add(other.#digests.subarray(start, start + DIGEST_WORDS), slot);
  }

  /** Empties the place of a slot and moves up the following ones that linear probing could not find otherwise. */
  remove(slot: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let gap = this.#placeOf(this.#digests, slot * DIGEST_WORDS);
    for (let place = (gap + 1) & mask; places[place] !== 0; place = (place + 1) & mask) {
      const found = places[place] ?? 0;
      const home = (this.#digests[(found - 1) * DIGEST_WORDS] ?? 0) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      places[gap] = found;
      gap = place;
    }
    places[gap] = 0;
  }

  /** Returns the place of a digest, or the empty place for it. The digest starts at `digest[start]`. */
  #placeOf(digest: Uint32Array, start: number): number {
    const places = this.#places;
    const digests = this.#digests;
    const mask = places.length - 1;
    let place = (digest[start] ?? 0) & mask;
    for (;;) {
      const found = places[place] ?? 0;
      if (found === 0) return place;
      const at = (found - 1) * DIGEST_WORDS;
      if (
        digests[at] === digest[start] &&
        digests[at + 1] === digest[start + 1] &&
        digests[at + 2] === digest[start + 2] &&
        digests[at + 3] === digest[start + 3]
      )
        return place;
      place = (place + 1) & mask;
    }
  }
}
