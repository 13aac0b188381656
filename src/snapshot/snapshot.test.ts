// How a snapshot follows changes: every index agrees with the records, whatever changed together or in between.
import { describe, expect, test } from "bun:test";
import { gatewayRecord } from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { compileGateway, type CompiledApiKey, type CompiledGateway } from "./compile.ts";
import { changeSnapshot, EMPTY_SNAPSHOT, type Snapshot, type SnapshotChanges } from "./snapshot.ts";

function gateway(id: string, subdomain: string | null): CompiledGateway {
  const parts = { gateway: gatewayRecord({ id, subdomain }), upstreams: [], services: [], rules: [] };
  return compileGateway(parts, compileContext());
}

function apiKey(id: string, hash: string, gatewayId = "one"): CompiledApiKey {
  return { id, name: id, hash, gatewayId, policies: null, expiresAt: Infinity };
}

function change(
  old: Snapshot,
  gateways: [string, CompiledGateway | null][],
  apiKeys: [string, CompiledApiKey | null][] = [],
): Snapshot {
  const changes: SnapshotChanges = {
    gateways: new Map(gateways),
    apiKeys: new Map(apiKeys),
    blocks: new Map(),
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

  test("finds gateways by id and by subdomain", () => {
    expect(base.revision).toBe(0);
    expect(base.gateways.size).toBe(3);
    expect(bySubdomain(base, "acme")).toBe("one");
    expect(bySubdomain(base, "beta")).toBe("two");
    expect(base.gatewaysBySubdomain.size).toBe(2);
  });

  test("knows the only gateway as long as there is just one, as it stands", () => {
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

  test("leaves the old snapshot as it was, and is itself frozen", () => {
    const next = change(base, [["one", gateway("one", "renamed")]]);
    expect(bySubdomain(base, "acme")).toBe("one");
    expect(bySubdomain(base, "renamed")).toBeUndefined();
    expect(bySubdomain(next, "renamed")).toBe("one");
    expect(bySubdomain(next, "acme")).toBeUndefined();
    expect(Object.isFrozen(next)).toBe(true);
    expect(EMPTY_SNAPSHOT.gateways.size).toBe(0);
  });

  test("two gateways that swap their subdomains in one change, in either order", () => {
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

  test("a subdomain that is handed over, with the old owner gone or without one, in either order", () => {
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

  test("a removed gateway takes its keys with it, and no other gateway's", () => {
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

  test("a key that changes together with its gateway's removal does not outlive it", () => {
    const withKey = change(base, [], [["k1", apiKey("k1", "hash1", "one")]]);
    const next = change(withKey, [["one", null]], [["k1", null]]);
    expect(next.apiKeysById.size).toBe(0);
    expect(next.apiKeysByHash.size).toBe(0);
  });

  test("a rotated key is found by its new hash only; a revoked one not at all", () => {
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

  test("a key that is changed but not rotated keeps its place", () => {
    const made = change(base, [], [["k1", apiKey("k1", "hash")]]);
    const renamed = change(made, [], [["k1", { ...apiKey("k1", "hash"), name: "renamed" }]]);
    expect(renamed.apiKeysByHash.get("hash")?.name).toBe("renamed");
  });
});
