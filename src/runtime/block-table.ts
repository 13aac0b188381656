// The blocks that this process knows from the store, by name, for lookups on the request path.
import type { BlockChanges, BlockRemoval, StoredBlock } from "../store/blocks.ts";

interface Entry {
  readonly block: StoredBlock;
  /** Unix time in milliseconds; Infinity for a block that does not expire. */
  readonly expiresAt: number;
}

export class BlockTable {
  readonly #byName = new Map<string, Entry>();
  readonly #byId = new Map<string, Entry>();
  /** The blocks that expire at some time. */
  readonly #expiring = new Set<Entry>();
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#byName.size;
  }

  /** Returns when the block with this name expires; undefined if there is none. */
  expiryOf(name: string): number | undefined {
    return this.#byName.get(name)?.expiresAt;
  }

  countOf(gatewayId: string, type: string): number {
    return this.#counts.get(groupOf(gatewayId, type)) ?? 0;
  }

  hasExpired(now: number): boolean {
    for (const { expiresAt } of this.#expiring) if (expiresAt <= now) return true;
    return false;
  }

  /** Applies what changed in the store. Returns the blocks that were removed before they expired. */
  apply({ isComplete, added, removals }: BlockChanges, now: number): StoredBlock[] {
    const removed: Entry[] = [];
    if (isComplete) {
      const remaining = new Set(added.map(({ id }) => id));
      for (const entry of this.#byId.values()) if (!remaining.has(entry.block.id)) removed.push(entry);
    }
    for (const removal of removals) removed.push(...this.#affectedBy(removal));
    for (const entry of removed) this.#remove(entry);
    for (const block of added) this.#set(block);
    return removed.filter(({ expiresAt }) => expiresAt > now).map(({ block }) => block);
  }

  #affectedBy({ sequence, gatewayId, blockId }: BlockRemoval): Entry[] {
    if (blockId === null)
      return [...this.#byId.values()].filter(
        ({ block }) => block.gateway_id === gatewayId && block.sequence < sequence,
      );
    const entry = this.#byId.get(blockId);
    return entry === undefined ? [] : [entry];
  }

  #set(block: StoredBlock): void {
    const known = this.#byId.get(block.id);
    if (known === undefined) this.#count(block, 1);
    else this.#expiring.delete(known);
    const expiresAt = block.expires_at === null ? Infinity : Date.parse(block.expires_at);
    const entry = { block, expiresAt };
    this.#byId.set(block.id, entry);
    this.#byName.set(block.name, entry);
    if (expiresAt !== Infinity) this.#expiring.add(entry);
  }

  #remove(entry: Entry): void {
    const { block } = entry;
    if (!this.#byId.delete(block.id)) return;
    this.#expiring.delete(entry);
    if (this.#byName.get(block.name)?.block.id === block.id) this.#byName.delete(block.name);
    this.#count(block, -1);
  }

  #count({ gateway_id, type }: StoredBlock, change: number): void {
    const group = groupOf(gateway_id, type);
    const count = (this.#counts.get(group) ?? 0) + change;
    if (count === 0) this.#counts.delete(group);
    else this.#counts.set(group, count);
  }
}

/** Names what the bound of blocks applies to. */
export function groupOf(gatewayId: string, type: string): string {
  return `${gatewayId} ${type}`;
}
