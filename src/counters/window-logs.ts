// Logs of counted requests in memory: a hash table from key digest to slot, and a ring of timestamps per slot. The data is
// in a few typed arrays, because an object and a Map entry per key take over 200 bytes and increase garbage collection.
import { BucketLog, cellWidth, EXACT_LIMIT } from "./bucket-log.ts";
import { DigestIndex } from "./digest-index.ts";

/** Timestamps per slot in the shared array. A log with more gets a separate ring. */
const INLINE_ENTRIES = 2;
const MIN_CAPACITY = 96;
const SLOTS_PER_SWEEP = 256;
const EVICTION_SAMPLE = 16;
/** Rings up to this size are not shrunk. */
const MIN_SHRINKABLE_RING = 32;
/** Larger rings grow by a quarter instead of doubling: the rings of busy limits are most of the memory. */
const LARGE_RING = 1024;

// `?? 0` is for the type checker: all indexes are in bounds.

/**
 * A log keeps entries for the longest window and the highest limit used with it, so that no count is lost when an operator
 * narrows a limit and widens it again. That bounds its size: no decision depends on more than the newest `limit` entries.
 * When the newest entry is older than the longest window, the log is dropped together with these two maxima.
 */
export class WindowLogs {
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
  /** The highest limit used with the log; 0 marks a free slot. */
  #maxLimits = new Uint32Array(0);
  /** The longest window used with the log. */
  #maxWindowsMs = new Float64Array(0);
  #inlineEntries = new Float64Array(0);
  #rings: (Float64Array | undefined)[] = [];
  /** The logs that a large limit was used with. Empty if there are no large limits. */
  #bucketLogs: (BucketLog | undefined)[] = [];
  readonly #exactLimit: number;

  /** With `maxKeys` keys, a new key evicts the least recently used key of a sample, whose count is lost. */
  constructor(maxKeys: number, exactLimit = EXACT_LIMIT) {
    this.#maxKeys = maxKeys;
    this.#exactLimit = exactLimit;
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
    this.#maxLimits[slot] = 1;
    this.#maxWindowsMs[slot] = 0;
    this.#size++;
    return slot;
  }

  count(slot: number): number {
    return this.#counts[slot] ?? 0;
  }

  /** Entries older than this are expired, even if they are still in the log. */
  retentionMs(slot: number): number {
    return this.#maxWindowsMs[slot] ?? 0;
  }

  /** Returns an entry by its position, starting with the oldest. */
  entry(slot: number, position: number): number {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] ?? 0) + position;
    if (ring === undefined) return this.#inlineEntries[slot * INLINE_ENTRIES + (place % INLINE_ENTRIES)] ?? 0;
    return ring[place >= ring.length ? place - ring.length : place] ?? 0;
  }

  /** Returns the number of entries up to and including `until`. Searches exponentially, since mostly there is 0 or 1. */
  countUntil(slot: number, until: number): number {
    const count = this.count(slot);
    let low = 0;
    let step = 1;
    while (low + step <= count && this.entry(slot, low + step - 1) <= until) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step - 1, count);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.entry(slot, middle) <= until) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the log that replaces the entries of a slot since a large limit was used with it; mostly there is none. */
  bucketLog(slot: number): BucketLog | undefined {
    return this.#bucketLogs[slot];
  }

  append(slot: number, now: number, limit: number, windowMs: number): void {
    if (this.#isExpired(slot, now)) this.#reset(slot);
    if (limit > this.#exactLimit || this.#bucketLogs[slot] !== undefined) {
      this.#appendToBuckets(slot, now, limit, windowMs);
      return;
    }
    const maxLimit = Math.max(this.#maxLimits[slot] ?? 0, limit);
    const retentionMs = this.retentionMs(slot);
    const surplus = this.count(slot) + 1 - maxLimit;
    // Expired entries are dropped before a longer window is stored, which would revive them.
    this.#dropOldest(slot, Math.max(this.countUntil(slot, now - retentionMs), surplus));
    this.#maxLimits[slot] = maxLimit;
    this.#maxWindowsMs[slot] = Math.max(retentionMs, windowMs);
    const count = this.count(slot);
    const size = this.#rings[slot]?.length ?? INLINE_ENTRIES;
    if (count === size) this.#resizeRing(slot, Math.min(grownSize(size), maxLimit));
    this.#write(slot, count, now);
    this.#counts[slot] = count + 1;
  }

  remove(slot: number): void {
    this.#index.remove(slot);
    this.#reset(slot);
    this.#maxLimits[slot] = 0;
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
      if (this.#maxLimits[slot] === 0) continue;
      if (this.#isExpired(slot, now)) this.remove(slot);
      else this.#shrink(slot, now);
    }
  }

  /** Whether the newest entry is older than the longest window. */
  #isExpired(slot: number, now: number): boolean {
    return this.#newest(slot) <= now - this.retentionMs(slot);
  }

  #newest(slot: number): number {
    const buckets = this.#bucketLogs[slot];
    if (buckets !== undefined) return buckets.newest;
    const count = this.count(slot);
    return count === 0 ? -Infinity : this.entry(slot, count - 1);
  }

  #appendToBuckets(slot: number, now: number, limit: number, windowMs: number): void {
    const maxLimit = Math.max(this.#maxLimits[slot] ?? 0, limit);
    const retentionMs = this.retentionMs(slot);
    const narrow = cellWidth(limit, windowMs, this.#exactLimit);
    const wide = cellWidth(limit, Math.max(retentionMs, windowMs), this.#exactLimit);
    const log = this.#bucketLogs[slot] ?? this.#toBuckets(slot, narrow);
    // Expired entries are dropped before a longer window is stored, which would revive them.
    log.dropOldest(log.countUntil(now - retentionMs));
    log.append(now, narrow);
    log.dropOldest(log.surplusOf(maxLimit));
    log.compact(now - windowMs, narrow, wide);
    this.#maxLimits[slot] = maxLimit;
    this.#maxWindowsMs[slot] = Math.max(retentionMs, windowMs);
  }

  /** Moves the entries of a slot to a bucket log. */
  #toBuckets(slot: number, width: number): BucketLog {
    const log = new BucketLog();
    const count = this.count(slot);
    for (let position = 0; position < count; position++) log.append(this.entry(slot, position), width);
    this.#heads[slot] = 0;
    this.#counts[slot] = 0;
    this.#rings[slot] = undefined;
    this.#bucketLogs[slot] = log;
    return log;
  }

  #reset(slot: number): void {
    this.#heads[slot] = 0;
    this.#counts[slot] = 0;
    this.#maxLimits[slot] = 1;
    this.#maxWindowsMs[slot] = 0;
    this.#rings[slot] = undefined;
    if (this.#bucketLogs.length > slot) this.#bucketLogs[slot] = undefined;
  }

  #dropOldest(slot: number, number: number): void {
    if (number <= 0) return;
    const size = this.#rings[slot]?.length ?? INLINE_ENTRIES;
    this.#heads[slot] = ((this.#heads[slot] ?? 0) + number) % size;
    this.#counts[slot] = this.count(slot) - number;
  }

  #write(slot: number, position: number, value: number): void {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] ?? 0) + position;
    if (ring === undefined) this.#inlineEntries[slot * INLINE_ENTRIES + (place % INLINE_ENTRIES)] = value;
    else ring[place % ring.length] = value;
  }

  #resizeRing(slot: number, size: number): void {
    const ring = new Float64Array(size);
    const count = this.count(slot);
    for (let position = 0; position < count; position++) ring[position] = this.entry(slot, position);
    this.#rings[slot] = ring;
    this.#heads[slot] = 0;
  }

  #shrink(slot: number, now: number): void {
    const ring = this.#rings[slot];
    if (ring === undefined || ring.length <= MIN_SHRINKABLE_RING) return;
    this.#dropOldest(slot, this.countUntil(slot, now - this.retentionMs(slot)));
    const count = this.count(slot);
    if (count * 4 < ring.length) this.#resizeRing(slot, Math.max(count * 2, MIN_SHRINKABLE_RING / 2));
  }

  #evict(): void {
    let victim = -1;
    let oldest = Infinity;
    for (let checked = 0; checked < EVICTION_SAMPLE; checked++) {
      if (this.#sweepPosition >= this.#used) this.#sweepPosition = 0;
      const slot = this.#sweepPosition++;
      if (this.#maxLimits[slot] === 0) continue;
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
    const [maxLimits, maxWindowsMs] = [this.#maxLimits, this.#maxWindowsMs];
    const [inlineEntries, rings, bucketLogs] = [this.#inlineEntries, this.#rings, this.#bucketLogs];
    const used = this.#used;
    this.#capacity = capacity;
    this.#index = new DigestIndex(capacity);
    this.#heads = new Uint32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#maxLimits = new Uint32Array(capacity);
    this.#maxWindowsMs = new Float64Array(capacity);
    this.#inlineEntries = new Float64Array(capacity * INLINE_ENTRIES);
    this.#rings = new Array<Float64Array | undefined>(capacity).fill(undefined);
    this.#bucketLogs = [];
    this.#free = [];
    let slot = 0;
    for (let old = 0; old < used; old++) {
      const maxLimit = maxLimits[old] ?? 0;
      if (maxLimit === 0) continue;
      this.#index.copy(index, old, slot);
      this.#heads[slot] = heads[old] ?? 0;
      this.#counts[slot] = counts[old] ?? 0;
      this.#maxLimits[slot] = maxLimit;
      this.#maxWindowsMs[slot] = maxWindowsMs[old] ?? 0;
      for (let entry = 0; entry < INLINE_ENTRIES; entry++)
        this.#inlineEntries[slot * INLINE_ENTRIES + entry] = inlineEntries[old * INLINE_ENTRIES + entry] ?? 0;
      this.#rings[slot] = rings[old];
      const buckets = bucketLogs[old];
      if (buckets !== undefined) this.#bucketLogs[slot] = buckets;
      slot++;
    }
    this.#used = slot;
    this.#sweepPosition = 0;
  }
}

function grownSize(size: number): number {
  return size < LARGE_RING ? size * 2 : size + (size >> 2);
}
