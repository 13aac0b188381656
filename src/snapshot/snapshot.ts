// The Snapshot: everything that requests look up, immutable, one per revision. All its maps are persistent, so the cost
// of a write depends on the gateway it changes and not on the number of other gateways or API keys.
import { PriceTable } from "../usage/price-table.ts";
import { BUILTIN_PRICES } from "../usage/builtin-prices.ts";
import type { CompiledApiKey, CompiledGateway } from "./compile.ts";
import { GroupChanges, PersistentGroups } from "./persistent-groups.ts";
import { PersistentMap } from "./persistent-map.ts";

export interface Snapshot {
  readonly revision: number;
  readonly gateways: PersistentMap<CompiledGateway>;
  /** The gateway of a node that has exactly one, as most nodes do: its requests need no lookup. */
  readonly onlyGateway: CompiledGateway | null;
  readonly gatewaysBySubdomain: PersistentMap<CompiledGateway>;
  /** Gateways by the keys of their route tables, for requests that name no gateway. */
  readonly gatewaysByRoute: PersistentGroups<CompiledGateway>;
  /** Gateways that have `cors`, by `corsKeyOf`. */
  readonly gatewaysByCors: PersistentGroups<CompiledGateway>;
  /** At least the pattern depth of every gateway's route table. Deleting the deepest pattern does not reduce it. */
  readonly patternDepth: number;
  readonly apiKeysByHash: PersistentMap<CompiledApiKey>;
  readonly apiKeysById: PersistentMap<CompiledApiKey>;
  /** By gateway id; needed to drop the API keys of a deleted gateway. */
  readonly apiKeysByGateway: PersistentGroups<CompiledApiKey>;
  readonly prices: PriceTable;
}

export const BUILTIN_PRICE_TABLE = new PriceTable(BUILTIN_PRICES);

export const EMPTY_SNAPSHOT: Snapshot = Object.freeze({
  revision: -1,
  gateways: PersistentMap.empty<CompiledGateway>(),
  onlyGateway: null,
  gatewaysBySubdomain: PersistentMap.empty<CompiledGateway>(),
  gatewaysByRoute: PersistentGroups.empty<CompiledGateway>(),
  gatewaysByCors: PersistentGroups.empty<CompiledGateway>(),
  patternDepth: -1,
  apiKeysByHash: PersistentMap.empty<CompiledApiKey>(),
  apiKeysById: PersistentMap.empty<CompiledApiKey>(),
  apiKeysByGateway: PersistentGroups.empty<CompiledApiKey>(),
  prices: BUILTIN_PRICE_TABLE,
});

/** By id; null for a record that no longer exists. */
type Changed<T> = ReadonlyMap<string, T | null>;

export interface SnapshotChanges {
  readonly gateways: Changed<CompiledGateway>;
  readonly apiKeys: Changed<CompiledApiKey>;
  /** Absent if the prices did not change. */
  readonly prices?: PriceTable;
}

export const NO_CHANGES: SnapshotChanges = { gateways: new Map(), apiKeys: new Map() };

/** Returns the snapshot with these changes. The API keys of a deleted gateway are removed with it. */
export function changeSnapshot(old: Snapshot, revision: number, changes: SnapshotChanges): Snapshot {
  const apiKeys = new Map(changes.apiKeys);
  let { patternDepth } = old;
  for (const [id, gateway] of changes.gateways) {
    if (gateway !== null) {
      patternDepth = Math.max(patternDepth, gateway.routes.patternDepth);
      continue;
    }
    for (const key of old.apiKeysByGateway.get(id)?.values() ?? []) apiKeys.set(key.id, null);
  }
  const gateways = old.gateways.with(changes.gateways);
  const [first = null] = gateways.size === 1 ? gateways.values() : [];
  return Object.freeze({
    revision,
    gateways,
    onlyGateway: first,
    gatewaysBySubdomain: old.gatewaysBySubdomain.with(
      changedNames(old.gateways, changes.gateways, ({ gateway }) => gateway.subdomain),
    ),
    gatewaysByRoute: old.gatewaysByRoute.with(
      changedGroups(old.gateways, changes.gateways, ({ routes }) => routes.keys),
    ),
    gatewaysByCors: old.gatewaysByCors.with(changedGroups(old.gateways, changes.gateways, corsKeysOf)),
    patternDepth,
    apiKeysByHash: old.apiKeysByHash.with(changedNames(old.apiKeysById, apiKeys, ({ hash }) => hash)),
    apiKeysById: old.apiKeysById.with(apiKeys),
    apiKeysByGateway: old.apiKeysByGateway.with(
      changedGroups(old.apiKeysById, apiKeys, ({ gatewayId }) => [gatewayId]),
    ),
    prices: changes.prices ?? old.prices,
  });
}

/** In place of a key of the route table: every gateway that allows the origin, whatever its rules are. */
export const ANY_ROUTE = "";

/** Returns the key of a gateway that allows an origin and has this key of its route table. */
export function corsKeyOf(origin: string, routeKey: string): string {
  return `${origin} ${routeKey}`;
}

function corsKeysOf({ gateway: { cors }, routes }: CompiledGateway): string[] {
  if (cors === null) return [];
  const routeKeys = [ANY_ROUTE, ...routes.keys];
  return cors.origins.flatMap((origin) => routeKeys.map((routeKey) => corsKeyOf(origin, routeKey)));
}

/** Changes of an index by a unique name; null for a record without one. */
function changedNames<T>(
  old: PersistentMap<T>,
  changes: Changed<T>,
  nameOf: (record: T) => string | null,
): Map<string, T | null> {
  const names = new Map<string, T | null>();
  for (const id of changes.keys()) {
    const before = old.get(id);
    const name = before === undefined ? null : nameOf(before);
    if (name !== null) names.set(name, null);
  }
  // The new names are set after all old ones are cleared: two records may have swapped their names.
  for (const record of changes.values()) {
    const name = record === null ? null : nameOf(record);
    if (name !== null) names.set(name, record);
  }
  return names;
}

/** Changes of an index by names that several records may share. */
function changedGroups<T>(
  old: PersistentMap<T>,
  changes: Changed<T>,
  groupsOf: (record: T) => readonly string[],
): GroupChanges<T> {
  const groups = new GroupChanges<T>();
  for (const [id, record] of changes) {
    const before = old.get(id);
    for (const group of before === undefined ? [] : groupsOf(before)) groups.set(group, id, null);
    for (const group of record === null ? [] : groupsOf(record)) groups.set(group, id, record);
  }
  return groups;
}
