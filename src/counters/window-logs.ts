// Owns the logs of counted requests in memory: a hash table from key digest to slot, and a ring of timestamps a slot.
// All of it lies in a few typed arrays, because an object and a Map entry a key cost over 200 bytes and feed the collector.

/** Timestamps that fit into the shared array; a log that outgrows them gets a ring of its own. */
const INLINE = 2;
/** Three quarters of the index, the fullest that linear probing is still fast with. */
const SMALLEST_CAPACITY = 96;
const LOAD = 0.75;
const WORDS = 4;
const SWEPT_AT_ONCE = 256;
const EVICTION_SAMPLE = 16;
/** Rings up to this size are left alone when they have room to spare. */
const SHRINKABLE = 32;
/** Rings beyond this size grow by a quarter, not to twice their size: what a busy limit keeps is most of what there is. */
const LARGE_RING = 1024;

/**
 * A log is kept for the longest window and the highest limit that were asked of it, so that an operator who narrows
 * a limit and widens it again loses no count. That bounds it: no admission can depend on more than the newest `limit`
 * timestamps. Once the last of them is older than the longest window the log is forgotten, those two maxima with it.
 */
export class WindowLogs {
  readonly #maxKeys: number;
  #capacity = 0;
  #size = 0;
  /** Slots below it have been handed out; of those the free ones are in #free. */
  #used = 0;
  #free: number[] = [];
  #sweptTo = 0;
  /** Slot + 1 at the place its digest hashes to or after it; 0 is empty. */
  #index = new Uint32Array(0);
  #digests = new Uint32Array(0);
  #heads = new Uint32Array(0);
  #counts = new Uint32Array(0);
  /** The highest limit asked of the log; 0 marks a free slot. */
  #keepCounts = new Uint32Array(0);
  /** The longest window asked of the log. */
  #keepMs = new Float64Array(0);
  #inline = new Float64Array(0);
  #rings: (Float64Array | undefined)[] = [];

  /** At `maxKeys` a new key pushes out the one, of a sample, that was used longest ago: that one starts again at nothing. */
  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#rebuild(SMALLEST_CAPACITY);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of a key, or -1. Good until the next `open` or `sweep`. */
  find(digest: Uint32Array): number {
    const place = this.#placeOf(digest, 0);
    return (this.#index[place] as number) - 1;
  }

  /** The slot of a key that may be new. */
  open(digest: Uint32Array): number {
    let place = this.#placeOf(digest, 0);
    const found = this.#index[place] as number;
    if (found !== 0) return found - 1;
    if (this.#size >= this.#maxKeys) this.#evict();
    if (this.#size === this.#capacity) this.#rebuild(this.#capacity * 2);
    // Evicting and rebuilding move places.
    place = this.#placeOf(digest, 0);
    const slot = this.#free.pop() ?? this.#used++;
    this.#index[place] = slot + 1;
    this.#digests.set(digest, slot * WORDS);
    this.#keepCounts[slot] = 1;
    this.#keepMs[slot] = 0;
    this.#size++;
    return slot;
  }

  count(slot: number): number {
    return this.#counts[slot] as number;
  }

  /** Entries older than this are no longer kept, though they may still lie there. */
  keptMs(slot: number): number {
    return this.#keepMs[slot] as number;
  }

  /** The timestamp that is `at` places after the oldest one kept. */
  entry(slot: number, at: number): number {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] as number) + at;
    if (ring === undefined) return this.#inline[slot * INLINE + (place % INLINE)] as number;
    return ring[place >= ring.length ? place - ring.length : place] as number;
  }

  /** How many of the oldest entries are not later than `since`. Gallops, as mostly none or one is. */
  countUntil(slot: number, since: number): number {
    const count = this.#counts[slot] as number;
    let low = 0;
    let step = 1;
    while (low + step <= count && this.entry(slot, low + step - 1) <= since) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step - 1, count);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.entry(slot, middle) <= since) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  append(slot: number, now: number, limit: number, windowMs: number): void {
    if (this.#isOver(slot, now)) this.#reset(slot);
    const keepCount = Math.max(this.#keepCounts[slot] as number, limit);
    const tooMany = (this.#counts[slot] as number) + 1 - keepCount;
    // What the old maximum no longer keeps must go before a longer one would seem to keep it.
    const tooOld = this.countUntil(slot, now - (this.#keepMs[slot] as number));
    this.#drop(slot, Math.max(tooOld, tooMany));
    this.#keepCounts[slot] = keepCount;
    this.#keepMs[slot] = Math.max(this.#keepMs[slot] as number, windowMs);
    const count = this.#counts[slot] as number;
    const room = this.#rings[slot]?.length ?? INLINE;
    if (count === room) this.#resizeRing(slot, Math.min(grown(room), keepCount));
    this.#write(slot, count, now);
    this.#counts[slot] = count + 1;
  }

  remove(slot: number): void {
    const digest = this.#digests.subarray(slot * WORDS, slot * WORDS + WORDS);
    this.#closeGap(this.#placeOf(digest, 0));
    this.#reset(slot);
    this.#keepCounts[slot] = 0;
    this.#free.push(slot);
    this.#size--;
  }

  /** Looks at the next few hundred slots: drops logs that are over, shrinks rings that are mostly empty. */
  sweep(now: number): void {
    for (let looked = 0; looked < SWEPT_AT_ONCE; looked++) {
      if (this.#sweptTo >= this.#used) {
        this.#sweptTo = 0;
        const fits = this.#size * 8 < this.#capacity && this.#capacity > SMALLEST_CAPACITY;
        if (fits) this.#rebuild(this.#capacity / 2);
        return;
      }
      const slot = this.#sweptTo++;
      if (this.#keepCounts[slot] === 0) continue;
      if (this.#isOver(slot, now)) this.remove(slot);
      else this.#shrink(slot, now);
    }
  }

  /** Whether even the longest window no longer reaches the newest entry. */
  #isOver(slot: number, now: number): boolean {
    const count = this.#counts[slot] as number;
    return count === 0 || this.entry(slot, count - 1) <= now - (this.#keepMs[slot] as number);
  }

  #reset(slot: number): void {
    this.#heads[slot] = 0;
    this.#counts[slot] = 0;
    this.#keepCounts[slot] = 1;
    this.#keepMs[slot] = 0;
    this.#rings[slot] = undefined;
  }

  #drop(slot: number, oldest: number): void {
    if (oldest <= 0) return;
    const room = this.#rings[slot]?.length ?? INLINE;
    this.#heads[slot] = ((this.#heads[slot] as number) + oldest) % room;
    this.#counts[slot] = (this.#counts[slot] as number) - oldest;
  }

  #write(slot: number, at: number, value: number): void {
    const ring = this.#rings[slot];
    const place = (this.#heads[slot] as number) + at;
    if (ring === undefined) this.#inline[slot * INLINE + (place % INLINE)] = value;
    else ring[place % ring.length] = value;
  }

  #resizeRing(slot: number, room: number): void {
    const ring = new Float64Array(room);
    const count = this.#counts[slot] as number;
    for (let at = 0; at < count; at++) ring[at] = this.entry(slot, at);
    this.#rings[slot] = ring;
    this.#heads[slot] = 0;
  }

  #shrink(slot: number, now: number): void {
    const ring = this.#rings[slot];
    if (ring === undefined || ring.length <= SHRINKABLE) return;
    this.#drop(slot, this.countUntil(slot, now - (this.#keepMs[slot] as number)));
    const count = this.#counts[slot] as number;
    if (count * 4 < ring.length) this.#resizeRing(slot, Math.max(count * 2, SHRINKABLE / 2));
  }

  #evict(): void {
    let victim = -1;
    let oldest = Infinity;
    for (let looked = 0; looked < EVICTION_SAMPLE; looked++) {
      if (this.#sweptTo >= this.#used) this.#sweptTo = 0;
      const slot = this.#sweptTo++;
      if (this.#keepCounts[slot] === 0) continue;
      const count = this.#counts[slot] as number;
      const newest = count === 0 ? -Infinity : this.entry(slot, count - 1);
      if (newest < oldest) {
        victim = slot;
        oldest = newest;
      }
    }
    // A sample without a live slot means that most are free: one above the bound does no harm until the next key.
    if (victim !== -1) this.remove(victim);
  }

  /** Where in the index a digest is, or the empty place where it would go. */
  #placeOf(digest: Uint32Array, from: number): number {
    const mask = this.#index.length - 1;
    const digests = this.#digests;
    let place = (digest[from] as number) & mask;
    for (;;) {
      const found = this.#index[place] as number;
      if (found === 0) return place;
      const at = (found - 1) * WORDS;
      if (
        digests[at] === digest[from] &&
        digests[at + 1] === digest[from + 1] &&
        digests[at + 2] === digest[from + 2] &&
        digests[at + 3] === digest[from + 3]
      )
        return place;
      place = (place + 1) & mask;
    }
  }

  /** Empties a place and moves up those behind it that would otherwise no longer be found. */
  #closeGap(gap: number): void {
    const mask = this.#index.length - 1;
    for (let place = (gap + 1) & mask; this.#index[place] !== 0; place = (place + 1) & mask) {
      const home = (this.#digests[((this.#index[place] as number) - 1) * WORDS] as number) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      this.#index[gap] = this.#index[place] as number;
      gap = place;
    }
    this.#index[gap] = 0;
  }

  /** New arrays for `capacity` logs, the live ones moved to the front. */
  #rebuild(capacity: number): void {
    const [digests, heads, counts] = [this.#digests, this.#heads, this.#counts];
    const [keepCounts, keepMs, inline, rings] = [this.#keepCounts, this.#keepMs, this.#inline, this.#rings];
    const used = this.#used;
    this.#capacity = capacity;
    this.#index = new Uint32Array(capacity / LOAD);
    this.#digests = new Uint32Array(capacity * WORDS);
    this.#heads = new Uint32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#keepCounts = new Uint32Array(capacity);
    this.#keepMs = new Float64Array(capacity);
    this.#inline = new Float64Array(capacity * INLINE);
    this.#rings = new Array<Float64Array | undefined>(capacity).fill(undefined);
    this.#free = [];
    let slot = 0;
    for (let old = 0; old < used; old++) {
      if (keepCounts[old] === 0) continue;
      this.#index[this.#placeOf(digests, old * WORDS)] = slot + 1;
      for (let word = 0; word < WORDS; word++)
        this.#digests[slot * WORDS + word] = digests[old * WORDS + word] as number;
      this.#heads[slot] = heads[old] as number;
      this.#counts[slot] = counts[old] as number;
      this.#keepCounts[slot] = keepCounts[old] as number;
      this.#keepMs[slot] = keepMs[old] as number;
      for (let at = 0; at < INLINE; at++)
        this.#inline[slot * INLINE + at] = inline[old * INLINE + at] as number;
      this.#rings[slot] = rings[old];
      slot++;
    }
    this.#used = slot;
    this.#sweptTo = 0;
  }
}

function grown(room: number): number {
  return room < LARGE_RING ? room * 2 : room + (room >> 2);
}
