// The Snapshot: all that requests look up, immutable, one per revision. Changing a gateway costs what that gateway
// costs, however many others there are.
import { PriceTable } from "../usage/price-table.ts";
import { BUILTIN_PRICES } from "../usage/builtin-prices.ts";
import type { StoredBlock } from "../store/store.ts";
import type { CompiledApiKey, CompiledGateway } from "./compile.ts";
import { ShardedMap } from "./sharded-map.ts";

export interface Snapshot {
  readonly revision: number;
  readonly gateways: ShardedMap<CompiledGateway>;
  /** Where there is just one, as on most nodes: nobody has to look for it. */
  readonly onlyGateway: CompiledGateway | null;
  readonly gatewaysBySubdomain: ShardedMap<CompiledGateway>;
  /** Gateways by the keys of their route tables, for requests that name no gateway. */
  readonly gatewaysByRoute: ShardedMap<readonly CompiledGateway[]>;
  readonly apiKeysByHash: ShardedMap<CompiledApiKey>;
  readonly apiKeysById: ShardedMap<CompiledApiKey>;
  readonly blocks: ShardedMap<StoredBlock>;
  readonly blocksByName: ShardedMap<StoredBlock>;
  readonly prices: PriceTable;
}

export const BUILTIN_PRICE_TABLE = new PriceTable(BUILTIN_PRICES);

export const EMPTY_SNAPSHOT: Snapshot = Object.freeze({
  revision: -1,
  gateways: ShardedMap.empty<CompiledGateway>(),
  onlyGateway: null,
  gatewaysBySubdomain: ShardedMap.empty<CompiledGateway>(),
  gatewaysByRoute: ShardedMap.empty<readonly CompiledGateway[]>(),
  apiKeysByHash: ShardedMap.empty<CompiledApiKey>(),
  apiKeysById: ShardedMap.empty<CompiledApiKey>(),
  blocks: ShardedMap.empty<StoredBlock>(),
  blocksByName: ShardedMap.empty<StoredBlock>(),
  prices: BUILTIN_PRICE_TABLE,
});

/** By id; null for what is no longer there. */
export interface SnapshotChanges {
  readonly gateways: ReadonlyMap<string, CompiledGateway | null>;
  readonly apiKeys: ReadonlyMap<string, CompiledApiKey | null>;
  readonly blocks: ReadonlyMap<string, StoredBlock | null>;
  /** Absent: they are as they were. */
  readonly prices?: PriceTable;
}

export const NO_CHANGES: SnapshotChanges = { gateways: new Map(), apiKeys: new Map(), blocks: new Map() };

export function changeSnapshot(old: Snapshot, revision: number, changes: SnapshotChanges): Snapshot {
  const subdomains = new Map<string, CompiledGateway | null>();
  const apiKeys = new Map(changes.apiKeys);
  const blocks = new Map(changes.blocks);
  for (const id of changes.gateways.keys()) {
    const before = old.gateways.get(id)?.gateway.subdomain ?? null;
    if (before !== null) subdomains.set(before, null);
  }
  // Set only after all old ones are cleared: two gateways may have swapped their subdomains.
  for (const [id, gateway] of changes.gateways) {
    const after = gateway?.gateway.subdomain ?? null;
    if (after !== null) subdomains.set(after, gateway);
    if (gateway === null) {
      for (const key of old.apiKeysById.values()) if (key.gatewayId === id) apiKeys.set(key.id, null);
      for (const block of old.blocks.values()) if (block.gateway_id === id) blocks.set(block.id, null);
    }
  }
  const hashes = new Map<string, CompiledApiKey | null>();
  for (const [id, key] of apiKeys) {
    const before = old.apiKeysById.get(id);
    if (before !== undefined) hashes.set(before.hash, null);
    if (key !== null) hashes.set(key.hash, key);
  }
  const gateways = old.gateways.with(changes.gateways);
  const [first = null] = gateways.size === 1 ? gateways.values() : [];
  return Object.freeze({
    revision,
    gateways,
    onlyGateway: first,
    gatewaysBySubdomain: old.gatewaysBySubdomain.with(subdomains),
    gatewaysByRoute: old.gatewaysByRoute.with(changedRoutes(old, changes)),
    apiKeysByHash: old.apiKeysByHash.with(hashes),
    apiKeysById: old.apiKeysById.with(apiKeys),
    blocks: old.blocks.with(blocks),
    blocksByName: old.blocksByName.with(changedNames(old, blocks)),
    prices: changes.prices ?? old.prices,
  });
}

function changedRoutes(
  old: Snapshot,
  { gateways }: SnapshotChanges,
): Map<string, readonly CompiledGateway[] | null> {
  const changed = new Map<string, readonly CompiledGateway[] | null>();
  const listOf = (key: string) => changed.get(key) ?? old.gatewaysByRoute.get(key) ?? [];
  for (const [id, gateway] of gateways) {
    for (const key of old.gateways.get(id)?.routes.keys ?? []) {
      changed.set(
        key,
        listOf(key).filter((each) => each.id !== id),
      );
    }
    for (const key of gateway?.routes.keys ?? [])
      if (gateway !== null) changed.set(key, [...listOf(key), gateway]);
  }
  for (const [key, list] of changed) if (list?.length === 0) changed.set(key, null);
  return changed;
}

function changedNames(
  old: Snapshot,
  blocks: ReadonlyMap<string, StoredBlock | null>,
): Map<string, StoredBlock | null> {
  const names = new Map<string, StoredBlock | null>();
  for (const id of blocks.keys()) {
    const before = old.blocks.get(id);
    if (before !== undefined) names.set(before.name, null);
  }
  for (const block of blocks.values()) if (block !== null) names.set(block.name, block);
  return names;
}
