// Several nodes that share a database, databases that a store rejects, and encrypted credentials.
import { openDatabase } from "../../src/store/database.ts";
import { SCHEMA_VERSION } from "../../src/store/migrate.ts";
import { unsetModelRouting } from "../../src/store/migrations/0026-model-routing.ts";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { StoreRejected, type Store } from "../../src/store/store.ts";
import { waitUntil } from "../support/waiting.ts";
import { gatewayRecord, targetRecord, upstreamRecord, withSql } from "./store-records.ts";
import { ALL, insert, openForTest, whenOpen, type StoreMaker } from "./store-fixture.ts";

const OPENER = join(import.meta.dir, "store-opener.ts");

interface BodyRow {
  readonly id: string;
  readonly body: string;
}

function oneTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

async function insertGateways(store: Store, count: number): Promise<number[]> {
  const writes = Array.from({ length: count }, () =>
    store.write((transaction) => transaction.insert("gateways", gatewayRecord())),
  );
  return (await Promise.all(writes)).map(({ revision }) => revision);
}

export function describeStoreNodes({ database, createEmpty, createMigrated }: StoreMaker): void {
  describe(`${database}: several nodes`, () => {
    test("concurrent writes of two nodes are all applied, with revisions unique and gapless", async () => {
      const url = await createMigrated();
      const nodes = [openForTest(url), openForTest(url)];
      const revisions = await Promise.all(nodes.map((node) => insertGateways(node, 20)));
      expect(revisions.flat().sort((a, b) => a - b)).toEqual(oneTo(40));
      // The writes of one node are committed in the order in which they were requested.
      for (const own of revisions) expect(own).toEqual(own.toSorted((a, b) => a - b));
      for (const node of nodes) {
        expect(await node.revision()).toBe(40);
        expect((await node.list("gateways", ALL)).count).toBe(40);
      }
    });

    test("many stores that open an empty database concurrently migrate it once", async () => {
      const url = await createEmpty();
      const stores = Array.from({ length: 8 }, () => openForTest(url));
      await Promise.all(stores.map(whenOpen));
      const revisions = await Promise.all(stores.map((store) => insertGateways(store, 2)));
      expect(revisions.flat().sort((a, b) => a - b)).toEqual(oneTo(16));
      const versions = await withSql(url, (sql) => sql.unsafe("SELECT version FROM schema_versions"));
      expect(versions).toHaveLength(SCHEMA_VERSION);
    });

    test("several processes can start concurrently on an empty database", async () => {
      const url = await createEmpty();
      const processes = Array.from({ length: 5 }, () =>
        Bun.spawn([process.execPath, OPENER, url, "5"], { stdout: "pipe", stderr: "pipe" }),
      );
      const outputs = await Promise.all(
        processes.map(async (child) => {
          const [output, errors] = await Promise.all([
            new Response(child.stdout).text(),
            new Response(child.stderr).text(),
          ]);
          if ((await child.exited) !== 0) throw new Error(errors);
          return JSON.parse(output) as { id: string; revision: number }[];
        }),
      );
      const written = outputs.flat();
      expect(written.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(oneTo(25));
      const { records } = await openForTest(url).list("gateways", ALL);
      expect(records.map(({ id }) => id)).toEqual(written.map(({ id }) => id).sort());
    }, 60_000);
  });

  test(`${database}: upstreams with the old default of model_routing get the new one, others keep theirs`, async () => {
    const url = await createMigrated();
    const writer = openForTest(url);
    const gateway = await insert(writer, "gateways", gatewayRecord());
    const header = { targets: [targetRecord({ headers: { model_routing: "prefer" } })] };
    const stored = [
      upstreamRecord(gateway.id, { name: "default", model_routing: "prefer" }),
      upstreamRecord(gateway.id, { name: "strict", model_routing: "require" }),
      upstreamRecord(gateway.id, { name: "header", model_routing: "require", ...header }),
      upstreamRecord(gateway.id, { name: "both", model_routing: "prefer", ...header }),
    ];
    for (const upstream of stored) await insert(writer, "upstreams", upstream);
    const opened = openDatabase(url);
    await opened.close();
    await withSql(url, async (sql) => {
      for (const step of unsetModelRouting(opened.idType, opened.jsonField)) await sql.unsafe(step);
    });
    const store = openForTest(url);
    const { records } = await store.list("upstreams", ALL);
    const kept = stored.map((upstream) =>
      upstream.name === "default" ? { ...upstream, model_routing: null } : upstream,
    );
    const byName = (list: readonly { readonly name: string }[]) =>
      list.toSorted((a, b) => a.name.localeCompare(b.name));
    expect(byName(records)).toEqual(byName(kept));
  });

  // SQLite has no notifications between processes.
  if (database === "PostgreSQL")
    test("PostgreSQL: a node is notified when another one writes", async () => {
      const url = await createMigrated();
      const [writer, listener] = [openForTest(url), openForTest(url)];
      let announcements = 0;
      listener.onAnnouncement(() => announcements++);
      await listener.revision();
      // The listener is also called once when the subscription is established.
      await waitUntil(() => announcements > 0);
      const before = announcements;
      await insertGateways(writer, 1);
      await waitUntil(() => announcements > before);
    });

  describe(`${database}: rejected databases`, () => {
    test("a schema of a newer version is rejected and not changed", async () => {
      const url = await createMigrated();
      await insertGateways(openForTest(url), 1);
      await withSql(url, (sql) =>
        sql.unsafe("INSERT INTO schema_versions (version, applied_at) VALUES (999, 'later')"),
      );
      const store = openForTest(url);
      for (const use of [() => store.revision(), () => insertGateways(store, 1)]) {
        const error: unknown = await use().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(StoreRejected);
        expect((error as StoreRejected).message).toContain("999");
      }
      const [row] = (await withSql(url, (sql) => sql.unsafe("SELECT revision FROM configuration"))) as {
        revision: number | string;
      }[];
      expect(Number(row?.revision)).toBe(1);
    });

    test("another encryption key is rejected, and the original one still works", async () => {
      const url = await createMigrated();
      await insertGateways(openForTest(url), 1);
      const store = openForTest(url, { secret: "another secret altogether" });
      const error: unknown = await store.revision().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreRejected);
      expect((error as StoreRejected).message).toContain("ENCRYPTION_KEY");
      expect(await openForTest(url).revision()).toBe(1);
    });
  });

  describe(`${database}: credentials at rest`, () => {
    const secret = "sk-planted-credential-0123456789";
    const upstreamWithCredentials = (gatewayId: string) =>
      upstreamRecord(gatewayId, {
        targets: [
          targetRecord({ credentials: { header_name: "Authorization", header_value: secret } }),
          targetRecord({ credentials: { header_name: "Authorization", header_value: secret } }),
        ],
      });

    async function storeUpstreams() {
      const url = await createMigrated();
      const store = openForTest(url);
      const gateway = gatewayRecord();
      const upstreams = [upstreamWithCredentials(gateway.id), upstreamWithCredentials(gateway.id)];
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        for (const upstream of upstreams) await transaction.insert("upstreams", upstream);
      });
      const rows = (await withSql(url, (sql) =>
        sql.unsafe("SELECT id, body FROM upstreams ORDER BY id"),
      )) as BodyRow[];
      return { url, store, upstreams, rows };
    }

    const encryptedValues = (body: string) =>
      (JSON.parse(body) as { targets: { credentials: { header_value: string } }[] }).targets.map(
        (target) => target.credentials.header_value,
      );

    test("a credential that is stored four times has four ciphertexts, none of which contains it", async () => {
      const { store, upstreams, rows } = await storeUpstreams();
      const encrypted = rows.flatMap(({ body }) => encryptedValues(body));
      expect(new Set(encrypted).size).toBe(4);
      for (const { body } of rows) expect(body).not.toContain(secret);
      for (const upstream of upstreams) {
        expect(await store.get("upstreams", upstream.id)).toStrictEqual(upstream);
      }
      // Every write encrypts again.
      await store.write((transaction) => transaction.update("upstreams", upstreams[0]!));
      const again = await store.view((view) => view.get("upstreams", upstreams[0]!.id));
      expect(again).toStrictEqual(upstreams[0]!);
    });

    test("a ciphertext cannot be decrypted in another row or for another target of its row", async () => {
      const { url, store, rows } = await storeUpstreams();
      const [first, second] = rows as [BodyRow, BodyRow];
      const [own, ofOtherTarget] = encryptedValues(first.body) as [string, string];
      const [ofOtherRow] = encryptedValues(second.body) as [string];
      for (const moved of [ofOtherTarget, ofOtherRow]) {
        const body = first.body.replace(own, moved);
        await withSql(url, (sql) =>
          sql.unsafe("UPDATE upstreams SET body = $1 WHERE id = $2", [body, first.id]),
        );
        const outcome = await store.get("upstreams", first.id).then(
          () => "decrypted",
          () => "rejected",
        );
        expect(outcome).toBe("rejected");
      }
      await withSql(url, (sql) =>
        sql.unsafe("UPDATE upstreams SET body = $1 WHERE id = $2", [first.body, first.id]),
      );
      expect((await store.get("upstreams", first.id))?.targets[0]?.credentials).toMatchObject({
        header_value: secret,
      });
    });
  });
}
