// The windows of a ledger in memory, by key.
import { Window } from "./window.ts";

const KEYS_PER_SWEEP = 256;

/** Idle windows are dropped. With `maxKeys` keys, a new key evicts another one without open reservations, whose amounts are lost. */
export class Windows {
  readonly #maxKeys: number;
  readonly #windows = new Map<string, Window>();
  #sweep: MapIterator<[string, Window]>;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#sweep = this.#windows.entries();
  }

  get size(): number {
    return this.#windows.size;
  }

  find(key: string): Window | undefined {
    return this.#windows.get(key);
  }

  findOrCreate(key: string): Window {
    let window = this.#windows.get(key);
    if (window === undefined) {
      if (this.#windows.size >= this.#maxKeys) this.#evict();
      this.#windows.set(key, (window = new Window()));
    }
    return window;
  }

  /** Checks the next 256 keys. */
  sweep(now: number): void {
    for (let checked = 0; checked < KEYS_PER_SWEEP; checked++) {
      const next = this.#next();
      if (next === null) return;
      if (next[1].isIdle(now)) this.#drop(next);
    }
  }

  /** Returns null at the end of a round. */
  #next(): [string, Window] | null {
    const { value, done } = this.#sweep.next();
    if (done !== true) return value;
    this.#sweep = this.#windows.entries();
    return null;
  }

  /** Windows with open reservations stay: their settlement must not be lost. */
  #evict(): void {
    for (let checked = 0; checked < KEYS_PER_SWEEP; checked++) {
      const next = this.#next() ?? this.#next();
      if (next === null) return;
      if (next[1].reserved > 0) continue;
      this.#drop(next);
      return;
    }
  }

  #drop([key, window]: [string, Window]): void {
    window.isDropped = true;
    this.#windows.delete(key);
  }
}
