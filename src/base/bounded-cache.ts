// A map of bounded size that evicts the least recently used entries.

/**
 * Keeps at least the `capacity` most recently used entries, and at most twice as many. Entries live in two generations:
 * when the young one is full it becomes the old one, and the previous old one is evicted. A hit in the young generation
 * costs one Map lookup; an exact LRU, which moves every hit to the end of a Map, was measured at four times that cost.
 */
export class BoundedCache<K, V extends object | string | number | boolean | null> {
  readonly #capacity: number;
  readonly #onEvict: ((value: V) => void) | null;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** `onEvict` is called with every value that is evicted for lack of space. */
  constructor(capacity: number, onEvict: ((value: V) => void) | null = null) {
    this.#capacity = capacity;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.#add(key, old);
    return old;
  }

  set(key: K, value: V): void {
    if (this.#young.has(key)) this.#young.set(key, value);
    else this.#add(key, value);
  }

  delete(key: K): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Removes every entry without calling `onEvict`. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }

  *values(): Generator<V> {
    yield* this.#young.values();
    yield* this.#old.values();
  }

  #add(key: K, value: V): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#capacity) {
      const evicted = this.#old;
      this.#old = this.#young;
      this.#young = new Map();
      if (this.#onEvict !== null) for (const each of evicted.values()) this.#onEvict(each);
    }
    this.#young.set(key, value);
  }
}
