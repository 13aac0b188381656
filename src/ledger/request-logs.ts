// Logs of counted requests in memory: a hash table from key digest to slot, and a ring of timestamps per slot. The data is
// in a few typed arrays, because an object and a Map entry per key take over 200 bytes and increase garbage collection.
import { DigestIndex } from "./digest-index.ts";
import { MAX_EXACT_REQUESTS, Window } from "./window.ts";

/** Timestamps per slot in the shared array. A log with more gets a separate ring. */
const INLINE_ENTRIES = 2;
const [MIN_CAPACITY, SLOTS_PER_SWEEP, EVICTION_SAMPLE] = [96, 256, 16];
/** Rings up to the first size are not shrunk; those from the second on grow by a quarter instead of doubling: they are most of the memory. */
const [MIN_SHRINKABLE_RING, LARGE_RING] = [32, 1024];

// `?? 0` is for the type checker: all indexes are in bounds.
/**
 * A log keeps entries for the longest window used with it, so that no count is lost when an operator shortens a window and
 * extends it again. Since a larger limit was used with a key, or there were more than MAX_EXACT_REQUESTS entries because a window was
 * shortened, a Window replaces its entries, which counts requests in sub-buckets.
 *
 * When the newest entry is older than the longest window, the log is dropped.
 */
export class RequestLogs {
  readonly #maxKeys: number;
  #capacity = 0;
  #size = 0;
  /** Slots from here on were never used; unused slots below are in #free. */
  #used = 0;
  #free: number[] = [];
  #sweepPosition = 0;
  #index = new DigestIndex(0);
  /** Position of the oldest entry in the ring. */
  #heads = new Uint32Array(0);
  #counts = new Uint32Array(0);
  /** 1 for slots that have a log. */
  #isUsed = new Uint8Array(0);
  /** The longest window used with the log. */
  #maxWindowsMs = new Float64Array(0);
  #inlineEntries = new Float64Array(0);
  #rings: (Float64Array | undefined)[] = [];
  /** The logs that a large limit was used with. Empty if there are no large limits. */
  #windows: (Window | undefined)[] = [];

  /** With `maxKeys` keys, a new key evicts the least recently used key of a sample, whose count is lost. */
  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#rebuild(MIN_CAPACITY);
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the slot of a key, or -1. The slot is valid until the next `findOrCreate` or `sweep`. */
  find(digest: Uint32Array): number {
    return this.#index.find(digest);
  }

  findOrCreate(digest: Uint32Array): number {
    const found = this.find(digest);
    if (found !== -1) return found;
    if (this.#size >= this.#maxKeys) this.#evict();
    if (this.#size === this.#capacity) this.#rebuild(this.#capacity * 2);
    const slot = this.#free.pop() ?? this.#used++;
    this.#index.add(digest, slot);
    this.#isUsed[slot] = 1;
    this.#maxWindowsMs[slot] = 0;
    this.#size++;
    return slot;
  }

  /** Returns the number of requests in the last `windowMs`. */
  used(slot: number, windowMs: number, now: number): number {
    const window = this.#windows[slot];
    if (window !== undefined) return window.settled(windowMs, now);
    const count = this.#counts[slot] ?? 0;
    // Entries older than the longest window are expired, even if they are still in the log.
    const keptMs = Math.min(windowMs, this.#maxWindowsMs[slot] ?? 0);
    return count === 0 ? 0 : count - this.#countUntil(slot, now - keptMs);
  }

  /** Returns the time of the oldest of the `used` requests; `now` if there is none. */
  oldest(slot: number, used: number, windowMs: number, now: number): number {
    const window = this.#windows[slot];
    if (window !== undefined) return window.oldest(windowMs, now);
    return used === 0 ? now : this.#entry(slot, (this.#counts[slot] ?? 0) - used);
  }

  /** Returns the time until fewer than `limit` requests are in the window. At least `limit` must be in it now. */
  waitMs(slot: number, limit: number, windowMs: number, now: number): number {
    if (limit < 1) return Infinity;
    const window = this.#windows[slot];
    if (window !== undefined) return window.waitMs(1, limit, windowMs, now);
    // After a limit was lowered, more requests than `limit` may be counted: wait until all but `limit` - 1 have expired.
    const lastToExpire = this.#entry(slot, (this.#counts[slot] ?? 0) - limit);
    return Math.max(1, Math.ceil(lastToExpire + windowMs - now));
  }

  /** Returns an entry by its position, starting with the oldest. */
  #entry(slot: number, position: number): number {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] ?? 0) + position;
    if (ring === undefined) return this.#inlineEntries[slot * INLINE_ENTRIES + (place % INLINE_ENTRIES)] ?? 0;
    return ring[place >= ring.length ? place - ring.length : place] ?? 0;
  }

  /** Returns the number of entries up to and including `until`. Searches exponentially, since mostly there is 0 or 1. */
  #countUntil(slot: number, until: number): number {
    const count = this.#counts[slot] ?? 0;
    let low = 0;
    let step = 1;
    while (low + step <= count && this.#entry(slot, low + step - 1) <= until) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step - 1, count);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#entry(slot, middle) <= until) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Counts a request. */
  append(slot: number, now: number, limit: number, windowMs: number): void {
    if (this.#isExpired(slot, now)) this.#reset(slot);
    const isExact = limit <= MAX_EXACT_REQUESTS;
    const retentionMs = this.#maxWindowsMs[slot] ?? 0;
    this.#maxWindowsMs[slot] = Math.max(retentionMs, windowMs);
    let window = this.#windows[slot];
    if (window === undefined) {
      this.#dropOldest(slot, this.#countUntil(slot, now - retentionMs));
      if (!isExact || this.#counts[slot] === MAX_EXACT_REQUESTS) window = this.#toWindow(slot, retentionMs);
    }
    if (window !== undefined) {
      window.charge(1, windowMs, isExact, now);
      return;
    }
    const count = this.#counts[slot] ?? 0;
    const size = this.#rings[slot]?.length ?? INLINE_ENTRIES;
    if (count === size) this.#resizeRing(slot, Math.min(grownSize(size), Math.max(limit, count + 1)));
    this.#write(slot, count, now);
    this.#counts[slot] = count + 1;
  }

  /** Removes a request that was counted at `time`, if it is still in the log. */
  release(slot: number, time: number): void {
    const window = this.#windows[slot];
    if (window !== undefined) {
      window.uncharge(time);
      return;
    }
    const count = this.#counts[slot] ?? 0;
    let position = count - 1;
    while (position >= 0 && this.#entry(slot, position) > time) position--;
    if (position < 0 || this.#entry(slot, position) !== time) return;
    for (; position < count - 1; position++) this.#write(slot, position, this.#entry(slot, position + 1));
    this.#counts[slot] = count - 1;
  }

  remove(slot: number): void {
    this.#index.remove(slot);
    this.#reset(slot);
    this.#isUsed[slot] = 0;
    this.#free.push(slot);
    this.#size--;
  }

  /** Checks the next 256 slots: removes expired logs and shrinks rings that are mostly empty. */
  sweep(now: number): void {
    for (let checked = 0; checked < SLOTS_PER_SWEEP; checked++) {
      if (this.#sweepPosition >= this.#used) {
        this.#sweepPosition = 0;
        const isMostlyEmpty = this.#size * 8 < this.#capacity && this.#capacity > MIN_CAPACITY;
        if (isMostlyEmpty) this.#rebuild(this.#capacity / 2);
        return;
      }
      const slot = this.#sweepPosition++;
      if (this.#isUsed[slot] === 0) continue;
      if (this.#isExpired(slot, now)) this.remove(slot);
      else this.#shrink(slot, now);
    }
  }

  #isExpired(slot: number, now: number): boolean {
    return this.#newest(slot) <= now - (this.#maxWindowsMs[slot] ?? 0);
  }

  #newest(slot: number): number {
    const window = this.#windows[slot];
    if (window !== undefined) return window.newest;
    const count = this.#counts[slot] ?? 0;
    return count === 0 ? -Infinity : this.#entry(slot, count - 1);
  }

  /** Moves the entries of a slot to a window. Each keeps its time: the next window used may be a shorter one. */
  #toWindow(slot: number, retentionMs: number): Window {
    const window = new Window();
    const count = this.#counts[slot] ?? 0;
    for (let position = 0; position < count; position++)
      window.charge(1, retentionMs, true, this.#entry(slot, position));
    this.#heads[slot] = 0;
    this.#counts[slot] = 0;
    this.#rings[slot] = undefined;
    this.#windows[slot] = window;
    return window;
  }

  #reset(slot: number): void {
    this.#heads[slot] = 0;
    this.#counts[slot] = 0;
    this.#maxWindowsMs[slot] = 0;
    this.#rings[slot] = undefined;
    if (this.#windows.length > slot) this.#windows[slot] = undefined;
  }

  #dropOldest(slot: number, number: number): void {
    if (number <= 0) return;
    const size = this.#rings[slot]?.length ?? INLINE_ENTRIES;
    this.#heads[slot] = ((this.#heads[slot] ?? 0) + number) % size;
    this.#counts[slot] = (this.#counts[slot] ?? 0) - number;
  }

  #write(slot: number, position: number, value: number): void {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] ?? 0) + position;
    if (ring === undefined) this.#inlineEntries[slot * INLINE_ENTRIES + (place % INLINE_ENTRIES)] = value;
    else ring[place % ring.length] = value;
  }

  #resizeRing(slot: number, size: number): void {
    const ring = new Float64Array(size);
    const count = this.#counts[slot] ?? 0;
    for (let position = 0; position < count; position++) ring[position] = this.#entry(slot, position);
    this.#rings[slot] = ring;
    this.#heads[slot] = 0;
  }

  #shrink(slot: number, now: number): void {
    const ring = this.#rings[slot];
    if (ring === undefined || ring.length <= MIN_SHRINKABLE_RING) return;
    this.#dropOldest(slot, this.#countUntil(slot, now - (this.#maxWindowsMs[slot] ?? 0)));
    const count = this.#counts[slot] ?? 0;
    if (count * 4 < ring.length) this.#resizeRing(slot, Math.max(count * 2, MIN_SHRINKABLE_RING / 2));
  }

  #evict(): void {
    let victim = -1;
    let oldest = Infinity;
    for (let checked = 0; checked < EVICTION_SAMPLE; checked++) {
      if (this.#sweepPosition >= this.#used) this.#sweepPosition = 0;
      const slot = this.#sweepPosition++;
      if (this.#isUsed[slot] === 0) continue;
      const newest = this.#newest(slot);
      if (newest < oldest) {
        victim = slot;
        oldest = newest;
      }
    }
    // A sample without a used slot means that most are free: one key above the maximum is acceptable.
    if (victim !== -1) this.remove(victim);
  }

  /** Creates arrays for `capacity` logs and moves the used slots to their start. */
  #rebuild(capacity: number): void {
    const [index, heads, counts] = [this.#index, this.#heads, this.#counts];
    const [isUsed, maxWindowsMs] = [this.#isUsed, this.#maxWindowsMs];
    const [inlineEntries, rings, windows] = [this.#inlineEntries, this.#rings, this.#windows];
    const used = this.#used;
    this.#capacity = capacity;
    this.#index = new DigestIndex(capacity);
    this.#heads = new Uint32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#isUsed = new Uint8Array(capacity);
    this.#maxWindowsMs = new Float64Array(capacity);
    this.#inlineEntries = new Float64Array(capacity * INLINE_ENTRIES);
    this.#rings = new Array<Float64Array | undefined>(capacity).fill(undefined);
    this.#windows = [];
    this.#free = [];
    let slot = 0;
    for (let old = 0; old < used; old++) {
      if (isUsed[old] !== 1) continue;
      this.#index.copy(index, old, slot);
      this.#heads[slot] = heads[old] ?? 0;
      this.#counts[slot] = counts[old] ?? 0;
      this.#isUsed[slot] = 1;
      this.#maxWindowsMs[slot] = maxWindowsMs[old] ?? 0;
      for (let entry = 0; entry < INLINE_ENTRIES; entry++)
        this.#inlineEntries[slot * INLINE_ENTRIES + entry] = inlineEntries[old * INLINE_ENTRIES + entry] ?? 0;
      this.#rings[slot] = rings[old];
      const window = windows[old];
      if (window !== undefined) this.#windows[slot] = window;
      slot++;
    }
    this.#used = slot;
    this.#sweepPosition = 0;
  }
}

const grownSize = (size: number) => (size < LARGE_RING ? size * 2 : size + (size >> 2));
