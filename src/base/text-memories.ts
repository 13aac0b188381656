// Remembers a number for texts that were processed before, by a keyed hash of each: conversations repeat almost all of their text with
// every request. The texts themselves are not kept.
import { DigestTable, MAX_VALUE, type Digest } from "./digest-table.ts";
import { KeyedHash } from "./keyed-hash.ts";

/** Who remembers. Numbers of different scopes are never mixed up. It can be copied to another thread. */
export interface TextScope {
  /** Scopes of the same owner share space: one that needs much of it does not make other owners forget. */
  readonly owner: string;
  /** Names everything that the numbers depend on besides the texts. */
  readonly name: string;
}

/** Remembers numbers for texts, as long as there is space. */
export interface TextMemory {
  /** For `openTextMemory` in a task. */
  readonly scope: TextScope;
  /**
   * Returns what was remembered for the bytes from `start` up to `end`, or the text as unknown. Hashing a text takes about 0.2 µs,
   * 0.4 µs with 2 kB and 1.3 µs with 10 kB, so a short text is not worth it.
   */
  recall(bytes: Uint8Array, start: number, end: number): number | UnknownText;
}

export interface UnknownText {
  /** `value`: a whole number from 0 to 2,147,483,646; others are not remembered. */
  remember(value: number): void;
}

interface Bounds {
  /** Powers of two, in entries of 20 bytes. An owner starts with the least and never has more than the most. */
  readonly leastPerOwner: number;
  readonly mostPerOwner: number;
  /** Of all owners together. */
  readonly most: number;
}

/** 5 KiB to 1.25 MiB per owner, and 5 MiB together. A conversation of 100 kB has about 50 texts. */
const BOUNDS: Bounds = { leastPerOwner: 256, mostPerOwner: 65_536, most: 262_144 };

/** Reused, because a table copies the words. */
const rememberedDigest: Digest = new Int32Array(4);

/** Remembers nothing. */
export const forgetfulMemory: TextMemory = {
  scope: { owner: "", name: "" },
  recall: () => ({ remember: () => undefined }),
};

export class TextMemories {
  readonly #bounds: Bounds;
  /** Random, so that no client can search for texts with the same hash. */
  readonly #key = crypto.getRandomValues(new Uint8Array(32));
  /** By owner; the least recently created or resized first. Of owners that have remembered something. */
  readonly #tables = new Map<string, DigestTable>();
  #entries = 0;

  constructor(bounds: Bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** The entries that there is memory for. */
  get capacity(): number {
    return this.#entries;
  }

  open(scope: TextScope): TextMemory {
    return new ScopedMemory(this, scope, this.#key);
  }

  /** Forgets everything that was remembered for an owner. */
  release(owner: string): void {
    this.#entries -= this.#tables.get(owner)?.capacity ?? 0;
    this.#tables.delete(owner);
  }

  get(owner: string, digest: Digest): number {
    return this.#tables.get(owner)?.get(digest) ?? -1;
  }

  set(owner: string, digest: Digest, value: number): void {
    const table = this.#tables.get(owner) ?? this.#create(owner);
    if (table.isTooSmallFor(digest)) this.#grow(table);
    table.set(digest, value);
  }

  #create(owner: string): DigestTable {
    const { leastPerOwner, most } = this.#bounds;
    while (this.#entries + leastPerOwner > most) {
      const [name, largest] = this.#largest();
      if (largest.capacity > leastPerOwner) this.#resize(largest, largest.capacity / 2);
      else this.release(name);
    }
    const table = new DigestTable(leastPerOwner);
    this.#entries += leastPerOwner;
    this.#tables.set(owner, table);
    return table;
  }

  /** Doubles a table if its owner may have more. Tables that stay as large as this one give up half of their entries for it. */
  #grow(table: DigestTable): void {
    const { mostPerOwner, most } = this.#bounds;
    const { capacity } = table;
    if (capacity * 2 > mostPerOwner) return;
    while (this.#entries + capacity > most) {
      const [, largest] = this.#largest();
      if (largest.capacity < capacity * 4) return;
      this.#resize(largest, largest.capacity / 2);
    }
    this.#resize(table, capacity * 2);
  }

  #resize(table: DigestTable, capacity: number): void {
    this.#entries += capacity - table.capacity;
    table.resize(capacity);
  }

  /** There is at least one table where this is called. Of equally large ones, the oldest. */
  #largest(): readonly [owner: string, table: DigestTable] {
    let largest: readonly [string, DigestTable] | null = null;
    for (const entry of this.#tables)
      if (largest === null || entry[1].capacity > largest[1].capacity) largest = entry;
    if (largest === null) throw new Error("no owner remembers anything");
    return largest;
  }
}

class ScopedMemory implements TextMemory {
  readonly scope: TextScope;
  readonly #memories: TextMemories;
  /** Differs for every scope, and so do the hashes of a text. */
  readonly #hash: KeyedHash;

  constructor(memories: TextMemories, scope: TextScope, secret: Uint8Array) {
    this.#memories = memories;
    this.scope = scope;
    this.#hash = new KeyedHash(secret, JSON.stringify([scope.owner, scope.name]));
  }

  recall(bytes: Uint8Array, start: number, end: number): number | UnknownText {
    const { owner } = this.scope;
    const digest = this.#hash.of(bytes, start, end);
    const value = this.#memories.get(owner, digest);
    return value >= 0 ? value : new UnknownDigest(this.#memories, owner, digest);
  }
}

/** Keeps the words of the digest, because other texts may be hashed before this one is remembered. */
class UnknownDigest implements UnknownText {
  readonly #memories: TextMemories;
  readonly #owner: string;
  readonly #first: number;
  readonly #second: number;
  readonly #third: number;
  readonly #fourth: number;

  constructor(memories: TextMemories, owner: string, digest: Digest) {
    this.#memories = memories;
    this.#owner = owner;
    this.#first = digest[0] ?? 0;
    this.#second = digest[1] ?? 0;
    this.#third = digest[2] ?? 0;
    this.#fourth = digest[3] ?? 0;
  }

  remember(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > MAX_VALUE) return;
    const digest = rememberedDigest;
    digest[0] = this.#first;
    digest[1] = this.#second;
    digest[2] = this.#third;
    digest[3] = this.#fourth;
    this.#memories.set(this.#owner, digest, value);
  }
}
