// Transactions are atomic, every one that changes something increases the revision by one, and a view stays at one revision.
import { describe, expect, test } from "bun:test";
import { eventLoopTurns } from "../support/waiting.ts";
import type { Transaction } from "../../src/store/store.ts";
import { ALL, insert, insertWhole, openForTest, type StoreMaker } from "./store-fixture.ts";
import { apiKeyRecord, gatewayRecord, upstreamRecord, withSql } from "./store-records.ts";

export function describeStoreRevisions({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe(`${database}: transactions and revisions`, () => {
    test("an empty database has revision 0, and every write increases it by one", async () => {
      const store = await openEmpty();
      expect(await store.revision()).toBe(0);
      const written = await store.write(async (transaction) => {
        expect(transaction.changes).toEqual([]);
        await transaction.insert("gateways", gatewayRecord());
        await transaction.insert("gateways", gatewayRecord());
        return "the value";
      });
      expect(written.value).toBe("the value");
      expect(written.revision).toBe(1);
      const { gateway } = await insertWhole(store);
      expect(await store.revision()).toBe(2);
      await store.write((transaction) => transaction.removeGateway(gateway.id, true));
      expect(await store.revision()).toBe(3);
    });

    test("a write reports what it changed: a gateway or an API key", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      const changeOf = async (work: (transaction: Transaction) => Promise<void>) =>
        (await store.write(work)).changes;
      const ofGateway = [{ gatewayId: gateway.id, apiKeyId: null }];
      const ofKey = [{ gatewayId: gateway.id, apiKeyId: apiKey.id }];
      expect(await changeOf((tx) => tx.update("gateways", gateway))).toEqual(ofGateway);
      expect(await changeOf((tx) => tx.update("upstreams", upstream))).toEqual(ofGateway);
      expect(await changeOf((tx) => tx.update("services", service))).toEqual(ofGateway);
      expect(await changeOf((tx) => tx.update("rules", rule))).toEqual(ofGateway);
      expect(await changeOf((tx) => tx.update("api_keys", apiKey))).toEqual(ofKey);
      expect(await changeOf((tx) => tx.remove("api_keys", apiKey.id))).toEqual(ofKey);
      expect(await changeOf((tx) => tx.remove("rules", rule.id))).toEqual(ofGateway);
      expect(await changeOf((tx) => tx.removeGateway(gateway.id, true))).toEqual(ofGateway);
    });

    test("a transaction reads what it has written; other readers do not until it ends", async () => {
      const store = await openEmpty();
      const gateway = gatewayRecord();
      const upstream = upstreamRecord(gateway.id);
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        await transaction.insert("upstreams", upstream);
        expect(await transaction.gatewayParts(gateway.id)).toStrictEqual({
          gateway,
          upstreams: [upstream],
          mcp_servers: [],
          services: [],
          rules: [],
          models: [],
          budgets: [],
          game_days: [],
        });
        expect((await transaction.list("upstreams", ALL)).count).toBe(1);
        expect(await store.get("gateways", gateway.id)).toBeNull();
        expect(await store.revision()).toBe(0);
      });
      expect(await store.get("gateways", gateway.id)).toStrictEqual(gateway);
    });

    test("a transaction that throws changes nothing and creates no revision", async () => {
      const store = await openEmpty();
      const kept = await insertWhole(store);
      const boom = new Error("thrown on purpose");
      const attempt = store.write(async (transaction) => {
        await transaction.insert("gateways", gatewayRecord());
        await transaction.update("upstreams", { ...kept.upstream, name: "must not stay" });
        await transaction.remove("api_keys", kept.apiKey.id);
        throw boom;
      });
      expect(await attempt.catch((error: unknown) => error)).toBe(boom);
      expect(await store.revision()).toBe(1);
      expect((await store.list("gateways", ALL)).records).toStrictEqual([kept.gateway]);
      expect(await store.get("upstreams", kept.upstream.id)).toStrictEqual(kept.upstream);
      expect(await store.get("api_keys", kept.apiKey.id)).toStrictEqual(kept.apiKey);
      // The connection is reusable: the next write must not run in the failed transaction.
      expect((await store.write((tx) => tx.insert("gateways", gatewayRecord()))).revision).toBe(2);
    });

    test("a view stays at its revision during writes", async () => {
      const store = await openEmpty();
      const first = await insertWhole(store);
      await store.view(async (view) => {
        expect(view.revision).toBe(1);
        const { gateway } = await insertWhole(store);
        await store.write((transaction) => transaction.removeGateway(first.gateway.id, true));
        expect((await view.allGatewayParts()).map((parts) => parts.gateway)).toStrictEqual([first.gateway]);
        expect(await view.allApiKeys()).toStrictEqual([first.apiKey]);
        expect(await view.get("gateways", gateway.id)).toBeNull();
        expect(await view.gatewayParts(first.gateway.id)).not.toBeNull();
        expect((await view.list("rules", ALL)).records).toStrictEqual([first.rule]);
        expect(view.revision).toBe(1);
      });
      expect(await store.view((view) => Promise.resolve(view.revision))).toBe(3);
    });

    test("a read outside an open view sees later writes", async () => {
      const store = await openEmpty();
      await insertWhole(store);
      await store.view(async (view) => {
        await view.allGatewayParts();
        const { gateway, rule } = await insertWhole(store);
        expect(await store.get("gateways", gateway.id)).toStrictEqual(gateway);
        expect((await store.list("rules", { ...ALL, gatewayId: gateway.id })).records).toStrictEqual([rule]);
        expect(await store.revision()).toBe(2);
        expect(view.revision).toBe(1);
      });
    });

    test("views of one store can be open concurrently, each at its own revision", async () => {
      const store = await openEmpty();
      await insertWhole(store);
      const revisions = await Promise.all(
        Array.from({ length: 6 }, async (_, index) => {
          if (index % 2 === 0) await insertWhole(store);
          return store.view(async (view) => {
            const count = (await view.list("gateways", ALL)).count;
            await eventLoopTurns();
            expect((await view.list("gateways", ALL)).count).toBe(count);
            expect(count).toBe(view.revision);
            return view.revision;
          });
        }),
      );
      expect(revisions).toHaveLength(6);
    });

    test("every view during many writes is consistent: as many gateways as revisions, each with its records", async () => {
      const url = await createMigrated();
      const [writer, reader] = [openForTest(url), openForTest(url)];
      // Both loops run until both have done enough, so that neither ends before the other starts.
      const ENOUGH = 15;
      let [writes, views] = [0, 0];
      const goOn = () => writes < ENOUGH || views < ENOUGH;
      const writing = (async () => {
        for (; goOn(); writes++) {
          await insertWhole(writer);
          // SQLite responds without a turn of the event loop, so each loop must yield to the other.
          await eventLoopTurns(1);
        }
      })();
      for (; goOn(); views++) {
        await reader.view(async (view) => {
          const parts = await view.allGatewayParts();
          expect(parts).toHaveLength(view.revision);
          expect(parts.every((each) => each.upstreams.length === 1 && each.rules.length === 1)).toBe(true);
          expect(await view.allApiKeys()).toHaveLength(view.revision);
        });
        await eventLoopTurns(1);
      }
      await writing;
      expect(await reader.revision()).toBe(writes);
    });

    test("recordKeyUses stores only the latest use, creates no revision, and changes nothing else", async () => {
      const store = await openEmpty();
      const { gateway, apiKey } = await insertWhole(store);
      const other = await insert(store, "api_keys", apiKeyRecord(gateway.id));
      const usedAt = async () => (await store.get("api_keys", apiKey.id))?.last_used_at;
      const noon = "2026-01-01T12:00:00.000Z";
      await store.recordKeyUses(new Map());
      await store.recordKeyUses(
        new Map([
          [apiKey.id, noon],
          ["no-such-key", noon],
        ]),
      );
      expect(await store.get("api_keys", apiKey.id)).toStrictEqual({ ...apiKey, last_used_at: noon });
      expect(await store.get("api_keys", other.id)).toStrictEqual(other);
      await store.recordKeyUses(new Map([[apiKey.id, "2026-01-01T11:59:59.999Z"]]));
      expect(await usedAt()).toBe(noon);
      await store.recordKeyUses(new Map([[apiKey.id, "2026-01-01T12:00:00.001Z"]]));
      expect(await usedAt()).toBe("2026-01-01T12:00:00.001Z");
      expect(await store.revision()).toBe(2);
    });

    test("recordKeyUses during writes of two nodes loses no write", async () => {
      const url = await createMigrated();
      const nodes = [openForTest(url), openForTest(url)];
      const { gateway, apiKey } = await insertWhole(nodes[0]!);
      const work = Array.from({ length: 20 }, async (_, index) => {
        const node = nodes[index % 2]!;
        const usedAt = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
        await Promise.all([
          insert(node, "upstreams", upstreamRecord(gateway.id)),
          node.recordKeyUses(new Map([[apiKey.id, usedAt]])),
        ]);
      });
      await Promise.all(work);
      expect((await nodes[0]!.list("upstreams", ALL)).count).toBe(21);
      expect((await nodes[1]!.get("api_keys", apiKey.id))?.last_used_at).toBe("2026-01-01T00:00:19.000Z");
      expect(await nodes[0]!.revision()).toBe(21);
    });

    test("changesAfter returns each change once, by gateway or by API key", async () => {
      const store = await openEmpty();
      const one = await insertWhole(store);
      const two = await insertWhole(store);
      await store.write((transaction) => transaction.update("gateways", two.gateway));
      await store.write((transaction) => transaction.update("rules", two.rule));
      await store.write((transaction) => transaction.update("api_keys", one.apiKey));
      await store.write((transaction) => transaction.update("api_keys", one.apiKey));
      const after = (revision: number) => store.view((view) => view.changesAfter(revision));
      const key = { gatewayId: one.gateway.id, apiKeyId: one.apiKey.id };
      expect(await after(6)).toEqual([]);
      expect(await after(4)).toEqual([key]);
      const both = await after(2);
      expect(both).toHaveLength(2);
      expect(both).toContainEqual(key);
      expect(both).toContainEqual({ gatewayId: two.gateway.id, apiKeyId: null });
      // A later revision than the current one: the database was restored from a backup.
      expect(await after(7)).toBeNull();
    });

    test("a write of several records reports each change once, also to other nodes", async () => {
      const store = await openEmpty();
      const [one, two] = [await insertWhole(store), await insertWhole(store)];
      const { changes } = await store.write(async (transaction) => {
        await transaction.update("rules", one.rule);
        await transaction.update("upstreams", one.upstream);
        await transaction.update("api_keys", two.apiKey);
        await transaction.update("gateways", two.gateway);
      });
      expect(changes).toEqual([
        { gatewayId: one.gateway.id, apiKeyId: null },
        { gatewayId: two.gateway.id, apiKeyId: two.apiKey.id },
        { gatewayId: two.gateway.id, apiKeyId: null },
      ]);
      expect(await store.view((view) => view.changesAfter(2))).toEqual([...changes]);
      expect(await store.view((view) => view.changesAfter(0))).toHaveLength(4);
    });

    test("a write that changes nothing creates no revision", async () => {
      const store = await openEmpty();
      await insertWhole(store);
      const written = await store.write(() => Promise.resolve("nothing"));
      const version = await store.version();
      expect(version).toMatch(/^1-\w+$/);
      expect(written).toEqual({ value: "nothing", revision: 1, version, changes: [], audit: null });
      expect(await store.revision()).toBe(1);
    });

    test("the log is pruned, and changesAfter returns null for older revisions", async () => {
      const url = await createMigrated();
      const store = openForTest(url, { keptRevisions: 5 });
      for (let count = 0; count < 12; count++) await insert(store, "gateways", gatewayRecord());
      const numbers = async () =>
        (
          (await withSql(url, (sql) => sql.unsafe("SELECT number FROM revisions ORDER BY number"))) as {
            number: number | string;
          }[]
        ).map((row) => Number(row.number));
      expect(await numbers()).toEqual([6, 7, 8, 9, 10, 11, 12]);
      // Also for a node that is configured to keep more revisions: the content of the log decides.
      for (const node of [store, openForTest(url)]) {
        const after = (from: number) => node.view((view) => view.changesAfter(from));
        expect(await after(11)).toHaveLength(1);
        expect(await after(5)).toHaveLength(7);
        expect(await after(4)).toBeNull();
        expect(await after(0)).toBeNull();
      }
    });
  });
}
