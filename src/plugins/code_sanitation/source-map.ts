// Maps the code units of a normalized text back to the text that it was created from.

/** Entries after the last one that are tried before all are searched. */
const MAX_STEPS = 8;

/**
 * Records only what differs from a one-to-one mapping, so that clean text costs nothing. Each entry starts a range of
 * units that are consecutive in the source too, except that the first unit of the range may span several source units.
 */
export class SourceMap {
  /** Three numbers per entry: index of the unit, start and end of its source. */
  #entries: Int32Array = new Int32Array(0);
  #count = 0;
  /** The entry of the last query: findings are mapped in ascending order, so the next one is mostly at or close after it. */
  #last = 0;

  clear(): void {
    this.#count = this.#last = 0;
  }

  /** The unit at `index` was created from `from` up to `to`; the units after it follow one by one. */
  add(index: number, from: number, to: number): void {
    if (this.#count + 3 > this.#entries.length) {
      const larger = new Int32Array(Math.max(192, this.#entries.length * 2));
      larger.set(this.#entries);
      this.#entries = larger;
    }
    this.#entries[this.#count] = index;
    this.#entries[this.#count + 1] = from;
    this.#entries[this.#count + 2] = to;
    this.#count += 3;
  }

  /** Returns the start of a unit's source. */
  startOf(index: number): number {
    const entry = this.#entryOf(index);
    if (entry < 0) return index;
    const offset = index - this.#at(entry);
    return offset === 0 ? this.#at(entry + 1) : this.#at(entry + 2) + offset - 1;
  }

  /** Returns the end of a unit's source. */
  endOf(index: number): number {
    const entry = this.#entryOf(index);
    return entry < 0 ? index + 1 : this.#at(entry + 2) + index - this.#at(entry);
  }

  #at(offset: number): number {
    return this.#entries[offset] ?? 0;
  }

  /** Returns the offset of the last entry at or before a unit; negative if there is none. */
  #entryOf(index: number): number {
    const entries = this.#entries;
    const count = this.#count;
    let entry = this.#last;
    if (entry < count && (entries[entry] ?? 0) <= index) {
      for (let step = 0; step < MAX_STEPS; step++) {
        const next = entry + 3;
        if (next >= count || (entries[next] ?? 0) > index) return (this.#last = entry);
        entry = next;
      }
    }
    entry = this.#search(index);
    if (entry >= 0) this.#last = entry;
    return entry;
  }

  #search(index: number): number {
    let low = 0;
    let high = this.#count / 3;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle * 3) <= index) low = middle + 1;
      else high = middle;
    }
    return (low - 1) * 3;
  }
}
