// Changes of a snapshot: every index agrees with the records, whatever changed in one write or in between.
import { NO_LABELS } from "../usage/label-set.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { compileGateway, type CompiledApiKey, type CompiledGateway } from "./compile.ts";
import type { PersistentGroups } from "./persistent-groups.ts";
import type { PersistentMap } from "./persistent-map.ts";
import { routeKeysFor } from "./route-table.ts";
import {
  changeSnapshot,
  corsKeyOf,
  EMPTY_SNAPSHOT,
  type Snapshot,
  type SnapshotChanges,
} from "./snapshot.ts";

const context = compileContext();

function gateway(id: string, subdomain: string | null, paths: readonly string[] = []): CompiledGateway {
  const upstream = upstreamRecord(id);
  const service = serviceRecord(id, upstream.id);
  const rules = paths.map((path) => ruleRecord(id, service.id, { path }));
  const record = gatewayRecord({ id, subdomain });
  const parts = {
    gateway: record,
    upstreams: [upstream],
    mcp_servers: [],
    services: [service],
    rules,
    models: [],
    budgets: [],
    game_days: [],
  };
  return compileGateway(parts, context);
}

function apiKey(id: string, hash: string, gatewayId = "one"): CompiledApiKey {
  return {
    id,
    name: id,
    user: null,
    hash,
    gatewayId,
    policies: null,
    expiresAt: Infinity,
    models: null,
    tools: null,
    labels: NO_LABELS,
    labelValues: {},
  };
}

function change(
  old: Snapshot,
  gateways: [string, CompiledGateway | null][],
  apiKeys: [string, CompiledApiKey | null][] = [],
): Snapshot {
  const changes: SnapshotChanges = {
    gateways: new Map(gateways),
    apiKeys: new Map(apiKeys),
  };
  return changeSnapshot(old, old.revision + 1, changes);
}

const bySubdomain = (snapshot: Snapshot, name: string) => snapshot.gatewaysBySubdomain.get(name)?.id;
const byHash = (snapshot: Snapshot, hash: string) => snapshot.apiKeysByHash.get(hash)?.id;

describe("changeSnapshot", () => {
  const base = change(EMPTY_SNAPSHOT, [
    ["one", gateway("one", "acme")],
    ["two", gateway("two", "beta")],
    ["three", gateway("three", null)],
  ]);

  test("finds gateways with cors by origin and route, until cors or the gateway is removed", () => {
    const withCors = (origins: string[] | null): CompiledGateway => {
      const plain = gateway("one", "acme", ["/chat"]);
      const cors = origins === null ? null : { origins, headers: null, max_age: 600 };
      return { ...plain, gateway: { ...plain.gateway, cors } };
    };
    const [route = ""] = gateway("one", "acme", ["/chat"]).routes.keys;
    const found = (snapshot: Snapshot, origin: string) =>
      [...(snapshot.gatewaysByCors.get(corsKeyOf(origin, route))?.values() ?? [])].map(({ id }) => id);
    const allowing = change(base, [["one", withCors(["https://a", "https://b"])]]);
    expect(base.gatewaysByCors.size).toBe(0);
    expect(found(allowing, "https://a")).toEqual(["one"]);
    expect(found(allowing, "https://b")).toEqual(["one"]);
    const fewer = change(allowing, [["one", withCors(["https://b"])]]);
    expect(found(fewer, "https://a")).toEqual([]);
    expect(found(fewer, "https://b")).toEqual(["one"]);
    expect(change(fewer, [["one", withCors(null)]]).gatewaysByCors.size).toBe(0);
    expect(change(fewer, [["one", null]]).gatewaysByCors.size).toBe(0);
  });

  test("finds gateways by id and by subdomain", () => {
    expect(base.revision).toBe(0);
    expect(base.gateways.size).toBe(3);
    expect(bySubdomain(base, "acme")).toBe("one");
    expect(bySubdomain(base, "beta")).toBe("two");
    expect(base.gatewaysBySubdomain.size).toBe(2);
  });

  test("holds the current version of the only gateway while there is exactly one", () => {
    expect(EMPTY_SNAPSHOT.onlyGateway).toBeNull();
    expect(base.onlyGateway).toBeNull();
    const left = change(base, [
      ["one", null],
      ["three", null],
    ]);
    expect(left.onlyGateway?.id).toBe("two");
    const renamed = change(left, [["two", gateway("two", "renamed")]]);
    expect(renamed.onlyGateway?.gateway.subdomain).toBe("renamed");
    expect(change(renamed, [], [["k", apiKey("k", "h", "two")]]).onlyGateway).toBe(renamed.onlyGateway);
    expect(change(renamed, [["four", gateway("four", null)]]).onlyGateway).toBeNull();
    expect(change(renamed, [["two", null]]).onlyGateway).toBeNull();
  });

  test("does not change the old snapshot, and returns a frozen one", () => {
    const next = change(base, [["one", gateway("one", "renamed")]]);
    expect(bySubdomain(base, "acme")).toBe("one");
    expect(bySubdomain(base, "renamed")).toBeUndefined();
    expect(bySubdomain(next, "renamed")).toBe("one");
    expect(bySubdomain(next, "acme")).toBeUndefined();
    expect(Object.isFrozen(next)).toBe(true);
    expect(EMPTY_SNAPSHOT.gateways.size).toBe(0);
  });

  test("two gateways can swap their subdomains in one write, in either order", () => {
    for (const order of [
      ["one", "two"],
      ["two", "one"],
    ]) {
      const swapped = { one: gateway("one", "beta"), two: gateway("two", "acme") };
      const next = change(
        base,
        order.map((id) => [id, swapped[id as "one" | "two"]]),
      );
      expect(bySubdomain(next, "acme")).toBe("two");
      expect(bySubdomain(next, "beta")).toBe("one");
      expect(next.gatewaysBySubdomain.size).toBe(2);
    }
  });

  test("a subdomain can move to another gateway while its old gateway is deleted or changed, in either order", () => {
    for (const reverse of [false, true]) {
      const gone: [string, CompiledGateway | null][] = [
        ["one", null],
        ["three", gateway("three", "acme")],
      ];
      const bare: [string, CompiledGateway | null][] = [
        ["one", gateway("one", null)],
        ["three", gateway("three", "acme")],
      ];
      for (const changes of [gone, bare]) {
        const next = change(base, reverse ? changes.toReversed() : changes);
        expect(bySubdomain(next, "acme")).toBe("three");
      }
    }
  });

  test("a deleted gateway takes its own API keys with it, and no others", () => {
    const withKeys = change(
      base,
      [],
      [
        ["k1", apiKey("k1", "hash1", "one")],
        ["k2", apiKey("k2", "hash2", "one")],
        ["k3", apiKey("k3", "hash3", "two")],
      ],
    );
    const next = change(withKeys, [["one", null]]);
    expect(next.gateways.get("one")).toBeUndefined();
    expect(bySubdomain(next, "acme")).toBeUndefined();
    expect(next.apiKeysById.size).toBe(1);
    expect(next.apiKeysByHash.size).toBe(1);
    expect(byHash(next, "hash3")).toBe("k3");
    expect(byHash(withKeys, "hash1")).toBe("k1");
  });

  test("an API key that changes in the write that deletes its gateway is removed", () => {
    const withKey = change(base, [], [["k1", apiKey("k1", "hash1", "one")]]);
    const next = change(withKey, [["one", null]], [["k1", null]]);
    expect(next.apiKeysById.size).toBe(0);
    expect(next.apiKeysByHash.size).toBe(0);
  });

  test("a rotated API key is found by its new hash only, a revoked one not at all", () => {
    const made = change(
      base,
      [],
      [
        ["k1", apiKey("k1", "old")],
        ["k2", apiKey("k2", "other")],
      ],
    );
    const rotated = change(made, [], [["k1", apiKey("k1", "new")]]);
    expect(byHash(rotated, "old")).toBeUndefined();
    expect(byHash(rotated, "new")).toBe("k1");
    expect(rotated.apiKeysById.get("k1")?.hash).toBe("new");
    const revoked = change(rotated, [], [["k1", null]]);
    expect(byHash(revoked, "new")).toBeUndefined();
    expect(revoked.apiKeysById.get("k1")).toBeUndefined();
    expect(byHash(revoked, "other")).toBe("k2");
  });

  test("an API key that is renamed is still found by its hash", () => {
    const made = change(base, [], [["k1", apiKey("k1", "hash")]]);
    const renamed = change(made, [], [["k1", { ...apiKey("k1", "hash"), name: "renamed" }]]);
    expect(renamed.apiKeysByHash.get("hash")?.name).toBe("renamed");
  });
});

/** What a snapshot indexes, in plain Maps that are copied for every write. */
interface Records {
  readonly gateways: ReadonlyMap<string, CompiledGateway>;
  readonly apiKeys: ReadonlyMap<string, CompiledApiKey>;
}

/** One record of a write: its kind, its name within its gateway, the gateway, and a number that makes its fields differ; null: removed. */
type Step = readonly [kind: keyof Records, name: string, gatewayId: string, seed: number | null];

const GATEWAYS = ["one", "two", "three"];
const PATHS = ["/v1/chat", "/v1/*", "/teams/{team}/chat", "/v1/models"];
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("gateways", "apiKeys"),
  fc.constantFrom("a", "b", "c", "d"),
  fc.constantFrom(...GATEWAYS),
  fc.option(fc.nat({ max: 15 }), { nil: null, freq: 3 }),
);

/** Subdomains and hashes are unique at all times, as the store guarantees. */
function changesOf(steps: readonly Step[], { gateways: known }: Records): SnapshotChanges {
  const gateways = new Map<string, CompiledGateway | null>();
  const apiKeys = new Map<string, CompiledApiKey | null>();
  for (const [kind, , id, seed] of steps) {
    const paths = PATHS.filter((_, index) => ((seed ?? 0) >> index) % 2 === 1);
    const subdomain = paths.length % 2 === 1 ? `${id}-${paths.length}` : null;
    if (kind === "gateways") gateways.set(id, seed === null ? null : gateway(id, subdomain, paths));
  }
  for (const [kind, name, gateway_id, seed] of steps) {
    // A record never moves to another gateway.
    const id = `${gateway_id}/${name}`;
    const exists = (gateways.get(gateway_id) ?? known.get(gateway_id)) !== undefined;
    if (!exists || gateways.get(gateway_id) === null) continue;
    if (kind === "apiKeys") apiKeys.set(id, seed === null ? null : apiKey(id, `${id}-${seed}`, gateway_id));
  }
  return { gateways, apiKeys };
}

function applied<T>(records: ReadonlyMap<string, T>, changes: ReadonlyMap<string, T | null>): Map<string, T> {
  const next = new Map(records);
  for (const [id, record] of changes) {
    if (record === null) next.delete(id);
    else next.set(id, record);
  }
  return next;
}

function apply(records: Records, changes: SnapshotChanges): Records {
  const gateways = applied(records.gateways, changes.gateways);
  const ofGateways = <T>(all: Map<string, T>, gatewayOf: (record: T) => string) =>
    new Map([...all].filter(([, record]) => gateways.has(gatewayOf(record))));
  return {
    gateways,
    apiKeys: ofGateways(applied(records.apiKeys, changes.apiKeys), (key) => key.gatewayId),
  };
}

function expectGroups<T extends { id: string }>(
  groups: PersistentGroups<T>,
  records: Iterable<T>,
  groupsOf: (record: T) => readonly string[],
): void {
  const expected = new Map<string, Map<string, T>>();
  for (const record of records)
    for (const name of groupsOf(record))
      expected.set(name, (expected.get(name) ?? new Map<string, T>()).set(record.id, record));
  expect(groups.size).toBe(expected.size);
  for (const [name, members] of expected) {
    expect(groups.get(name)?.size).toBe(members.size);
    for (const [id, member] of members) expect(groups.get(name)?.get(id)).toBe(member);
  }
}

function expectMap<T>(
  map: PersistentMap<T>,
  records: Iterable<T>,
  nameOf: (record: T) => string | null,
): void {
  const expected = new Map<string | null, T>();
  for (const record of records) expected.set(nameOf(record), record);
  expected.delete(null);
  expect(map.size).toBe(expected.size);
  for (const [name, record] of expected) expect(map.get(name ?? "")).toBe(record);
}

function expectIndexes(snapshot: Snapshot, records: Records): void {
  const gateways = [...records.gateways.values()];
  const apiKeys = [...records.apiKeys.values()];
  expectMap(snapshot.gateways, gateways, ({ id }) => id);
  expectMap(snapshot.gatewaysBySubdomain, gateways, (each) => each.gateway.subdomain);
  expectGroups(snapshot.gatewaysByRoute, gateways, ({ routes }) => routes.keys);
  for (const path of ["/v1/chat", "/v1/other", "/teams/red/chat", "/"]) {
    const keys = routeKeysFor(path, "POST", snapshot.patternDepth);
    const listed = new Set(keys.flatMap((key) => [...(snapshot.gatewaysByRoute.get(key)?.values() ?? [])]));
    for (const each of gateways)
      if (each.routes.match(path, "POST", new Headers()).rule !== null) expect(listed).toContain(each);
  }
  expect(snapshot.onlyGateway).toBe(gateways.length === 1 ? gateways[0]! : null);
  expectMap(snapshot.apiKeysById, apiKeys, ({ id }) => id);
  expectMap(snapshot.apiKeysByHash, apiKeys, ({ hash }) => hash);
  expectGroups(snapshot.apiKeysByGateway, apiKeys, ({ gatewayId }) => [gatewayId]);
}

test("every index agrees with the records after any writes, and so do those of earlier snapshots", () => {
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 12 }), (writes) => {
      const none: Records = { gateways: new Map(), apiKeys: new Map() };
      const history: [Snapshot, Records][] = [[EMPTY_SNAPSHOT, none]];
      for (const steps of writes) {
        const [snapshot, records] = history.at(-1)!;
        const changes = changesOf(steps, records);
        history.push([changeSnapshot(snapshot, snapshot.revision + 1, changes), apply(records, changes)]);
      }
      for (const [snapshot, records] of history) expectIndexes(snapshot, records);
    }),
    { numRuns: 200 },
  );
});
