// An immutable map that is cheap to change a little: a changed copy shares all shards it did not touch.

const SHARDS = 256;

export class ShardedMap<V> {
  readonly size: number;
  readonly #shards: readonly (ReadonlyMap<string, V> | undefined)[];

  private constructor(shards: readonly (ReadonlyMap<string, V> | undefined)[], size: number) {
    this.#shards = shards;
    this.size = size;
  }

  static empty<V>(): ShardedMap<V> {
    return new ShardedMap<V>(new Array<undefined>(SHARDS).fill(undefined), 0);
  }

  get(key: string): V | undefined {
    return this.#shards[shardOf(key)]?.get(key);
  }

  *values(): IterableIterator<V> {
    for (const shard of this.#shards) if (shard !== undefined) yield* shard.values();
  }

  /** A copy with these entries set, or removed where the value is null. */
  with(changes: Iterable<readonly [string, V | null]>): ShardedMap<V> {
    const shards = this.#shards.slice();
    const copied = new Set<number>();
    let size = this.size;
    for (const [key, value] of changes) {
      const index = shardOf(key);
      if (!copied.has(index)) {
        shards[index] = new Map(shards[index]);
        copied.add(index);
      }
      const shard = shards[index] as Map<string, V>;
      size -= shard.size;
      if (value === null) shard.delete(key);
      else shard.set(key, value);
      size += shard.size;
    }
    return copied.size === 0 ? this : new ShardedMap(shards, size);
  }
}

/** FNV-1a over the last eight characters: of a UUIDv7 those are the random ones. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = Math.max(0, key.length - 8); i < key.length; i++) {
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (SHARDS - 1);
}
