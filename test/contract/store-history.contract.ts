// The log of revisions: who did what to which record, and rollbacks to any of them.
import { describe, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { ALL, insert, insertWhole, openForTest, rejectionOf, type StoreMaker } from "./store-fixture.ts";
import {
  apiKeyRecord,
  blockRecord,
  gatewayRecord,
  serviceRecord,
  targetRecord,
  upstreamRecord,
  withSql,
} from "./store-records.ts";

const SECRET = "sk-a-credential-that-must-stay-secret";
const withSecret = (header_value: string) =>
  targetRecord({ id: "the-target", credentials: { header_name: "Authorization", header_value } });

export function describeStoreHistory({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe(`${database}: history`, () => {
    test("every write is listed with its time, subject, action and record, newest first", async () => {
      const store = await openEmpty();
      const gateway = gatewayRecord({ name: "acme" });
      await store.write((tx) => tx.insert("gateways", gateway), { subject: "alice" });
      const upstream = await insert(store, "upstreams", upstreamRecord(gateway.id, { name: "models" }));
      await store.write((tx) => tx.update("upstreams", { ...upstream, name: "renamed" }), { subject: "bob" });
      await store.write((tx) => tx.remove("upstreams", upstream.id), { subject: "bob" });
      const { records, count } = await store.listRevisions(ALL);
      expect(count).toBe(4);
      const ofUpstream = {
        actor: null,
        kind: "upstreams",
        resource_id: upstream.id,
        gateway_id: gateway.id,
        reason: null,
      };
      const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(records as unknown[]).toEqual([
        { revision: 4, created_at, subject: "bob", action: "delete", ...ofUpstream, name: "renamed" },
        { revision: 3, created_at, subject: "bob", action: "update", ...ofUpstream, name: "renamed" },
        { revision: 2, created_at, subject: null, action: "create", ...ofUpstream, name: "models" },
        {
          revision: 1,
          created_at,
          subject: "alice",
          actor: null,
          action: "create",
          kind: "gateways",
          resource_id: gateway.id,
          gateway_id: gateway.id,
          name: "acme",
          reason: null,
        },
      ]);
      expect(await store.listRevisions({ limit: 1, offset: 2 })).toEqual({
        records: [records[2]!],
        count: 4,
      });
    });

    test("revisions are searched in their texts, in any case, and sorted", async () => {
      const store = await openEmpty();
      const gateway = gatewayRecord({ name: "Acme 100%" });
      await store.write((tx) => tx.insert("gateways", gateway), { subject: "alice" });
      const upstream = upstreamRecord(gateway.id, { name: "models" });
      await store.write((tx) => tx.insert("upstreams", upstream), {
        subject: "Bob",
        reason: "canary failed",
      });
      await store.write((tx) => tx.update("upstreams", { ...upstream, name: "alpha" }));
      const numbers = async (search: string, query: object = {}) =>
        (await store.listRevisions({ ...ALL, search, ...query })).records.map(({ revision }) => revision);
      expect(await numbers("ACME")).toEqual([1]);
      expect(await numbers("0%")).toEqual([1]);
      expect(await numbers("bob")).toEqual([2]);
      expect(await numbers("Canary")).toEqual([2]);
      expect(await numbers(upstream.id.slice(-8))).toEqual([3, 2]);
      expect(await numbers(upstream.id.slice(-7))).toEqual([]);
      expect(await numbers(gateway.id)).toEqual([3, 2, 1]);
      for (const text of ["_", "!", "\0", "99999999999", "4"])
        expect([text, await numbers(text)]).toEqual([text, []]);
      expect(await numbers("3")).toEqual([3]);
      expect(await numbers("m", { actor: "alice" })).toEqual([1]);
      expect((await store.listRevisions({ search: "a", limit: 1, offset: 0 })).count).toBe(3);

      expect(await numbers("", { sort: "created_at", descending: false })).toEqual([1, 2, 3]);
      expect(await numbers("", { sort: "name", descending: false })).toEqual([1, 3, 2]);
      expect(await numbers("", { sort: "actor", descending: true })).toEqual([2, 1, 3]);
    });

    test("a revision holds each record before and after; its credentials are encrypted in the database", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const gateway = await insert(store, "gateways", gatewayRecord());
      const upstream = upstreamRecord(gateway.id, { targets: [withSecret(SECRET)] });
      await insert(store, "upstreams", upstream);
      const changed = { ...upstream, targets: [withSecret("sk-another-credential")] };
      await store.write((tx) => tx.update("upstreams", changed));
      const entry = { kind: "upstreams" as const, id: upstream.id };
      expect((await store.getRevision(2))?.records).toEqual([{ ...entry, before: null, after: upstream }]);
      expect((await store.getRevision(3))?.records).toEqual([{ ...entry, before: upstream, after: changed }]);
      expect(await store.getRevision(4)).toBeNull();
      const rows = await withSql(url, (sql) => sql.unsafe("SELECT * FROM revisions"));
      expect(JSON.stringify(rows)).toContain("header_value");
      for (const secret of [SECRET, "another-credential"]) expect(JSON.stringify(rows)).not.toContain(secret);
    });

    test("several steps on one record in a write are one entry, from the first state to the last", async () => {
      const store = await openEmpty();
      const gateway = await insert(store, "gateways", gatewayRecord({ name: "one" }));
      await store.write(async (tx) => {
        await tx.update("gateways", { ...gateway, name: "two" });
        await tx.update("gateways", { ...gateway, name: "three" });
        const temporary = gatewayRecord();
        await tx.insert("gateways", temporary);
        await tx.removeGateway(temporary.id, false);
      });
      const after = { ...gateway, name: "three" };
      expect((await store.getRevision(2))?.records).toEqual([
        { kind: "gateways", id: gateway.id, before: gateway, after },
      ]);
    });

    test("the log of a gateway lists the revisions that changed it, and no others", async () => {
      const store = await openEmpty();
      const [one, two] = [await insertWhole(store), await insertWhole(store)];
      await store.write((tx) => tx.update("rules", one.rule));
      await store.write(
        async (tx) => {
          await tx.update("rules", one.rule);
          await tx.update("rules", two.rule);
        },
        { action: "apply", subject: "ci" },
      );
      const revisionsOf = async (gatewayId: string) =>
        (await store.listRevisions({ ...ALL, gatewayId })).records.map(({ revision }) => revision);
      expect(await revisionsOf(one.gateway.id)).toEqual([4, 3, 1]);
      expect(await revisionsOf(two.gateway.id)).toEqual([4, 2]);
      expect(await revisionsOf("%")).toEqual([]);
      expect(await revisionsOf("no\0where")).toEqual([]);
      expect((await store.listRevisions({ ...ALL, gatewayId: two.gateway.id })).count).toBe(2);
      expect((await store.listRevisions(ALL)).records[0]).toMatchObject({
        action: "apply",
        subject: "ci",
        kind: null,
        resource_id: null,
        gateway_id: null,
        name: null,
      });
    });

    test("a rollback restores a deleted gateway with all its records, including ids, times and API keys", async () => {
      const store = await openEmpty();
      const whole = await insertWhole(store);
      await store.addBlocks([blockRecord(whole.gateway.id)], 1, "");
      await store.write((tx) => tx.removeGateway(whole.gateway.id, true));
      const { revision, value, changes } = await store.write((tx) => tx.rollBackTo(1), {
        action: "rollback",
      });
      expect({ revision, value }).toEqual({ revision: 3, value: [] });
      expect(changes.map(({ apiKeyId }) => apiKeyId).sort()).toEqual([whole.apiKey.id, null].sort());
      expect(await store.gatewayParts(whole.gateway.id)).toStrictEqual({
        gateway: whole.gateway,
        upstreams: [whole.upstream],
        mcp_servers: [],
        services: [whole.service],
        rules: [whole.rule],
        models: [],
        budgets: [],
        game_days: [],
      });
      expect(await store.get("api_keys", whole.apiKey.id)).toStrictEqual(whole.apiKey);
      // Blocks are not part of the configuration.
      expect((await store.listBlocks(whole.gateway.id, ALL)).count).toBe(0);
      // A rollback is a revision and can be rolled back itself.
      await store.write((tx) => tx.rollBackTo(2), { action: "rollback" });
      expect((await store.list("gateways", ALL)).count).toBe(0);
    });

    test("a rollback moves values back between records: subdomains, and the upstream of a service", async () => {
      const store = await openEmpty();
      const one = await insert(store, "gateways", gatewayRecord({ subdomain: "acme" }));
      const two = await insert(store, "gateways", gatewayRecord({ subdomain: "beta" }));
      const [first, second] = [upstreamRecord(one.id), upstreamRecord(one.id)];
      await insert(store, "upstreams", first);
      const service = await insert(store, "services", serviceRecord(one.id, first.id));
      const then = await store.revision();
      await insert(store, "upstreams", second);
      await store.write((tx) => tx.update("services", { ...service, upstream_id: second.id }));
      await store.write((tx) => tx.remove("upstreams", first.id));
      await store.write(async (tx) => {
        await tx.update("gateways", { ...one, subdomain: null });
        await tx.update("gateways", { ...two, subdomain: "acme" });
        await tx.update("gateways", { ...one, subdomain: "beta" });
      });
      await store.write((tx) => tx.rollBackTo(then));
      expect((await store.list("gateways", ALL)).records).toStrictEqual([one, two]);
      expect((await store.list("upstreams", ALL)).records).toStrictEqual([first]);
      expect((await store.list("services", ALL)).records).toStrictEqual([service]);
    });

    test("a rollback does not make old API keys valid again: revoked keys stay revoked, rotated keys keep their new value", async () => {
      const store = await openEmpty();
      const { gateway, apiKey } = await insertWhole(store);
      const other = await insert(store, "api_keys", apiKeyRecord(gateway.id, { name: "other" }));
      const plain = await insert(store, "api_keys", apiKeyRecord(gateway.id, { name: "plain" }));
      const then = await store.revision();
      await store.write((tx) => tx.update("api_keys", { ...apiKey, active: false, name: "revoked" }));
      const rotated = { hash: "new hash", prefix: "gw_newone" };
      await store.write((tx) => tx.update("api_keys", { ...other, ...rotated, name: "renamed" }));
      await store.write((tx) => tx.update("api_keys", { ...plain, name: "renamed", policies: [] }));
      await insert(store, "api_keys", apiKeyRecord(gateway.id, { name: "created since" }));
      const noon = "2026-01-01T12:00:00.000Z";
      await store.recordKeyUses(new Map([[plain.id, noon]]));
      const { value } = await store.write((tx) => tx.rollBackTo(then));
      expect([...value].sort((a, b) => a.name.localeCompare(b.name))).toEqual([
        { id: apiKey.id, name: apiKey.name, reason: "revoked" },
        { id: other.id, name: "other", reason: "rotated" },
      ]);
      const updated_at = expect.any(String) as string;
      expect((await store.list("api_keys", ALL)).records).toEqual([
        { ...apiKey, active: false, updated_at },
        { ...other, ...rotated, updated_at },
        { ...plain, last_used_at: noon },
      ]);
      // A second rollback changes nothing and creates no revision.
      expect(await store.write((tx) => tx.rollBackTo(then))).toMatchObject({ revision: 8, changes: [] });
    });

    test("a rollback to a revision that is pruned or does not exist fails (404) and changes nothing", async () => {
      const store = openForTest(await createMigrated(), { keptRevisions: 4 });
      for (let count = 0; count < 7; count++) await insert(store, "gateways", gatewayRecord());
      // Revisions that are not pruned yet are hidden as well.
      expect((await store.listRevisions(ALL)).records.map(({ revision }) => revision)).toEqual([7, 6, 5, 4]);
      expect((await store.listRevisions(ALL)).count).toBe(4);
      expect(await store.getRevision(3)).toBeNull();
      expect(await store.getRevision(4)).not.toBeNull();
      for (const revision of [-1, 0, 1, 3, 8, 10_000]) {
        const error = await rejectionOf(store.write((tx) => tx.rollBackTo(revision)));
        expect(error.code).toBe("not_found");
        expect(error.message).toContain(`Revision ${revision} is not among the last 4`);
      }
      expect(await gateways(store)).toBe(7);
      await store.write((tx) => tx.rollBackTo(4));
      expect(await gateways(store)).toBe(4);
    });

    test("revisions from before the log had records are not listed, and a rollback cannot go back past them", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      for (let count = 0; count < 3; count++) await insert(store, "gateways", gatewayRecord());
      await withSql(url, (sql) =>
        sql.unsafe("UPDATE revisions SET action = NULL, records = NULL, changes = NULL WHERE number <= 2"),
      );
      expect((await store.listRevisions(ALL)).records.map(({ revision }) => revision)).toEqual([3]);
      expect(await store.getRevision(2)).toBeNull();
      expect(await store.view((view) => view.changesAfter(0))).toHaveLength(3);
      const error = await rejectionOf(store.write((tx) => tx.rollBackTo(1)));
      expect(error.message).toContain("older than the stored history");
      // The last of them is the state before the first revision that has records.
      await store.write((tx) => tx.rollBackTo(2));
      expect(await gateways(store)).toBe(2);
    });
  });
}

async function gateways(store: Store): Promise<number> {
  return (await store.list("gateways", ALL)).count;
}
