// What holds when several nodes share a database, and what a store refuses to open or to open up.
import { SCHEMA_VERSION } from "../../src/store/migrate.ts";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { StoreRejected, type Store } from "../../src/store/store.ts";
import { waitFor } from "../support/gatehouse-process.ts";
import { gatewayRecord, targetRecord, upstreamRecord, withSql } from "./store-records.ts";
import { ALL, openForTest, type StoreMaker } from "./store-fixture.ts";

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

export function describeStoreNodes({ database, createEmpty }: StoreMaker): void {
  describe(`${database}: several nodes`, () => {
    test("concurrent writes of two nodes are all applied, with revisions unique and gapless", async () => {
      const url = await createEmpty();
      const nodes = [openForTest(url), openForTest(url)];
      const revisions = await Promise.all(nodes.map((node) => insertGateways(node, 20)));
      expect(revisions.flat().sort((a, b) => a - b)).toEqual(oneTo(40));
      // Those of one node come in the order in which they were asked for.
      for (const own of revisions) expect(own).toEqual(own.toSorted((a, b) => a - b));
      for (const node of nodes) {
        expect(await node.revision()).toBe(40);
        expect((await node.list("gateways", ALL)).count).toBe(40);
      }
    });

    test("many stores opened at once on an empty database migrate it once and all work", async () => {
      const url = await createEmpty();
      const stores = Array.from({ length: 8 }, () => openForTest(url));
      const revisions = await Promise.all(stores.map((store) => insertGateways(store, 2)));
      expect(revisions.flat().sort((a, b) => a - b)).toEqual(oneTo(16));
      const versions = await withSql(url, (sql) => sql.unsafe("SELECT version FROM schema_versions"));
      expect(versions).toHaveLength(SCHEMA_VERSION);
    });

    test("several processes started at once on an empty database all write to it", async () => {
      const url = await createEmpty();
      const processes = Array.from({ length: 5 }, () =>
        Bun.spawn([process.execPath, OPENER, url, "5"], { stdout: "pipe", stderr: "pipe" }),
      );
      const outputs = await Promise.all(
        processes.map(async (child) => {
          const [printed, complaint] = await Promise.all([
            new Response(child.stdout).text(),
            new Response(child.stderr).text(),
          ]);
          if ((await child.exited) !== 0) throw new Error(complaint);
          return JSON.parse(printed) as { id: string; revision: number }[];
        }),
      );
      const written = outputs.flat();
      expect(written.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(oneTo(25));
      const { records } = await openForTest(url).list("gateways", ALL);
      expect(records.map(({ id }) => id)).toEqual(written.map(({ id }) => id).sort());
    }, 30_000);
  });

  // A file calls nobody: on SQLite polling is all there is.
  if (database === "PostgreSQL")
    test("PostgreSQL: a node hears at once that another one wrote", async () => {
      const url = await createEmpty();
      const [writer, listener] = [openForTest(url), openForTest(url)];
      let heard = 0;
      listener.onAnnouncement(() => heard++);
      await listener.revision();
      // The subscription itself is heard of once it stands.
      await waitFor(() => (heard > 0 ? true : null));
      const before = heard;
      await insertGateways(writer, 1);
      await waitFor(() => (heard > before ? true : null));
    });

  describe(`${database}: refusals`, () => {
    test("a schema of a newer version is refused, and left as it was", async () => {
      const url = await createEmpty();
      await insertGateways(openForTest(url), 1);
      await withSql(url, (sql) =>
        sql.unsafe("INSERT INTO schema_versions (version, applied_at) VALUES (999, 'later')"),
      );
      const newcomer = openForTest(url);
      for (const use of [() => newcomer.revision(), () => insertGateways(newcomer, 1)]) {
        const error: unknown = await use().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(StoreRejected);
        expect((error as StoreRejected).message).toContain("999");
      }
      const [row] = (await withSql(url, (sql) => sql.unsafe("SELECT revision FROM configuration"))) as {
        revision: number | string;
      }[];
      expect(Number(row?.revision)).toBe(1);
    });

    test("another encryption key is refused, and the right one still works", async () => {
      const url = await createEmpty();
      await insertGateways(openForTest(url), 1);
      const stranger = openForTest(url, { secret: "another secret altogether" });
      const error: unknown = await stranger.revision().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreRejected);
      expect((error as StoreRejected).message).toContain("ENCRYPTION_KEY");
      expect(await openForTest(url).revision()).toBe(1);
    });
  });

  describe(`${database}: credentials at rest`, () => {
    const secret = "sk-planted-credential-0123456789";
    const sealedUpstream = (gatewayId: string) =>
      upstreamRecord(gatewayId, {
        targets: [
          targetRecord({ credentials: { header_name: "Authorization", header_value: secret } }),
          targetRecord({ credentials: { header_name: "Authorization", header_value: secret } }),
        ],
      });

    async function sealedBodies() {
      const url = await createEmpty();
      const store = openForTest(url);
      const gateway = gatewayRecord();
      const upstreams = [sealedUpstream(gateway.id), sealedUpstream(gateway.id)];
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        for (const upstream of upstreams) await transaction.insert("upstreams", upstream);
      });
      const rows = (await withSql(url, (sql) =>
        sql.unsafe("SELECT id, body FROM upstreams ORDER BY id"),
      )) as BodyRow[];
      return { url, store, upstreams, rows };
    }

    const sealedValues = (body: string) =>
      (JSON.parse(body) as { targets: { credentials: { header_value: string } }[] }).targets.map(
        (target) => target.credentials.header_value,
      );

    test("one credential sealed four times gives four texts, none of which holds it", async () => {
      const { store, upstreams, rows } = await sealedBodies();
      const sealed = rows.flatMap(({ body }) => sealedValues(body));
      expect(new Set(sealed).size).toBe(4);
      for (const { body } of rows) expect(body).not.toContain(secret);
      for (const upstream of upstreams) {
        expect(await store.get("upstreams", upstream.id)).toStrictEqual(upstream);
      }
      // Every write seals anew.
      await store.write((transaction) => transaction.update("upstreams", upstreams[0]!));
      const again = await store.view((view) => view.get("upstreams", upstreams[0]!.id));
      expect(again).toStrictEqual(upstreams[0]!);
    });

    test("moved to another row, or to another target of its row, it does not open", async () => {
      const { url, store, rows } = await sealedBodies();
      const [first, second] = rows as [BodyRow, BodyRow];
      const [own, neighbour] = sealedValues(first.body) as [string, string];
      const [foreign] = sealedValues(second.body) as [string];
      for (const moved of [neighbour, foreign]) {
        const body = first.body.replace(own, moved);
        await withSql(url, (sql) =>
          sql.unsafe("UPDATE upstreams SET body = $1 WHERE id = $2", [body, first.id]),
        );
        const answer = await store.get("upstreams", first.id).then(
          () => "opened",
          () => "refused",
        );
        expect(answer).toBe("refused");
      }
      await withSql(url, (sql) =>
        sql.unsafe("UPDATE upstreams SET body = $1 WHERE id = $2", [first.body, first.id]),
      );
      expect((await store.get("upstreams", first.id))?.targets[0]?.credentials?.header_value).toBe(secret);
    });
  });
}
