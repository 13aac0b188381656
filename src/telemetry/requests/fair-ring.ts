// A bounded collection in which each group has a fair share: if it is full, the oldest item of the group that holds the most items
// is removed. Every operation takes constant time, amortized.

/** Items before `head` are removed; they are cut off when they are half of the array. */
class Group<T> {
  readonly key: string | null;
  #items: (T | undefined)[] = [];
  #head = 0;

  constructor(key: string | null) {
    this.key = key;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  removeOldest(): T | undefined {
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head * 2 < this.#items.length) return item;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
    return item;
  }

  *newestFirst(): Generator<T> {
    for (let at = this.#items.length - 1; at >= this.#head; at--) {
      const item = this.#items[at];
      if (item !== undefined) yield item;
    }
  }
}

export class FairRing<T extends object | number> {
  readonly #capacity: number;
  readonly #groups = new Map<string | null, Group<T>>();
  /** The groups that hold this number of items, in the order in which they reached it. */
  readonly #bySize: Set<Group<T>>[] = [];
  #size = 0;
  #largestSize = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Returns the item that was removed; undefined if there was room. */
  add(key: string | null, item: T): T | undefined {
    let group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, (group = new Group(key)));
    const before = group.size;
    group.push(item);
    // The usual case of a full ring: the only largest group gets one more.
    const isOnlyLargest = before === this.#largestSize && this.#bySize[before]?.size === 1;
    if (isOnlyLargest && this.#size === this.#capacity) return group.removeOldest();
    this.#size++;
    this.#move(group, before);
    if (before === this.#largestSize) this.#largestSize++;
    return this.#size > this.#capacity ? this.#removeOne() : undefined;
  }

  /** Returns the items of a group. The ring must not change during the iteration. */
  newestFirst(key: string | null): Iterable<T> {
    return this.#groups.get(key)?.newestFirst() ?? [];
  }

  /** Returns the items of all groups, newest first within each. The ring must not change during the iteration. */
  *ofAllGroups(): Generator<T> {
    for (const group of this.#groups.values()) yield* group.newestFirst();
  }

  /** Of several groups of the same size, the one that has had it longest loses its oldest item. */
  #removeOne(): T | undefined {
    const [group] = this.#bySize[this.#largestSize] ?? [];
    if (group === undefined) return undefined;
    const item = group.removeOldest();
    this.#size--;
    this.#move(group, this.#largestSize);
    if (this.#bySize[this.#largestSize]?.size === 0) this.#largestSize--;
    if (group.size === 0) this.#groups.delete(group.key);
    return item;
  }

  #move(group: Group<T>, from: number): void {
    this.#bySize[from]?.delete(group);
    if (group.size > 0) (this.#bySize[group.size] ??= new Set()).add(group);
  }
}
