// Blocks in the Store, with every database: their bound, expiry and removal, how other nodes follow them, and the migration of
// blocks that were written as revisions.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BlockTable } from "../../src/runtime/block-table.ts";
import type { Block } from "../../src/store/blocks.ts";
import { initialSchema } from "../../src/store/migrations/0001-initial.ts";
import { addBlocks } from "../../src/store/migrations/0002-blocks.ts";
import { addUsage } from "../../src/store/migrations/0003-usage.ts";
import { addRevisionHistory } from "../../src/store/migrations/0004-revisions.ts";
import type { Store } from "../../src/store/store.ts";
import { runs } from "../support/long-form.ts";
import { ALL, insert, openForTest, type StoreMaker } from "./store-fixture.ts";
import { AWKWARD_TEXT, blockRecord, gatewayRecord, withSql } from "./store-records.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-02T00:00:00.000Z";

export function describeStoreBlocks({ database, createEmpty, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());
  const add = (store: Store, ...blocks: Block[]) => store.addBlocks(blocks, 1000, NOW);
  const listed = async (store: Store, { id }: { id: string }) => {
    const { records, count } = await store.listBlocks(id, ALL);
    expect(count).toBe(records.length);
    return records.map((block) => block.name);
  };

  describe(`${database}: blocks`, () => {
    test("a block is read back exactly, and creates no revision", async () => {
      const store = await openEmpty();
      const gateway = await insert(store, "gateways", gatewayRecord());
      const fields = {
        type: AWKWARD_TEXT,
        subject: `\0\ud800${AWKWARD_TEXT}`,
        counter_key: `\0${AWKWARD_TEXT}`,
      };
      const blocks = [
        blockRecord(gateway.id),
        blockRecord(gateway.id, { name: AWKWARD_TEXT, ...fields, expires_at: LATER }),
        blockRecord(gateway.id, { subject: "" }),
      ];
      await add(store, ...blocks);
      expect(await store.revision()).toBe(1);
      expect(await store.listBlocks(gateway.id, ALL)).toMatchObject({ records: blocks, count: 3 });
      const page = await store.listBlocks(gateway.id, { limit: 1, offset: 1 });
      expect(page).toMatchObject({ records: [blocks[1]!], count: 3 });
      expect((await store.listRevisions(ALL)).count).toBe(1);
    });

    test("a name is blocked once, and blocks beyond the bound of their gateway and type are returned", async () => {
      const store = await openEmpty();
      const [one, two] = [gatewayRecord(), gatewayRecord()];
      for (const gateway of [one, two]) await insert(store, "gateways", gateway);
      const blocks = [1, 2, 3].map(() => blockRecord(one.id));
      const others = [blockRecord(one.id, { type: "per_ip" }), blockRecord(two.id)];
      const again = blockRecord(one.id, { name: blocks[0]!.name });
      expect(await store.addBlocks([blocks[0]!, again, ...blocks, ...others], 2, NOW)).toEqual([blocks[2]!]);
      expect(await store.addBlocks([...blocks, ...others], 2, NOW)).toEqual([blocks[2]!]);
      expect(await listed(store, one)).toEqual([blocks[0]!, blocks[1]!, others[0]!].map(({ name }) => name));
      expect(await listed(store, two)).toEqual([others[1]!.name]);
    });

    test("a block of a gateway that was deleted is dropped, and the others of the batch are written", async () => {
      const store = await openEmpty();
      const [gone, kept] = [gatewayRecord(), gatewayRecord()];
      for (const gateway of [gone, kept]) await insert(store, "gateways", gateway);
      const stays = blockRecord(kept.id);
      await add(store, blockRecord(gone.id), stays);
      await store.write((transaction) => transaction.removeGateway(gone.id, false));
      expect(await store.addBlocks([blockRecord(gone.id), blockRecord(kept.id)], 1, NOW)).toHaveLength(1);
      expect(await listed(store, gone)).toEqual([]);
      expect(await listed(store, kept)).toEqual([stays.name]);
    });

    test("an expired block is removed, makes room, and can be added again", async () => {
      const store = await openEmpty();
      const gateway = await insert(store, "gateways", gatewayRecord());
      const short = blockRecord(gateway.id, { expires_at: LATER });
      const permanent = blockRecord(gateway.id, { type: "per_ip" });
      await add(store, short, permanent);
      await store.removeExpiredBlocks(NOW);
      expect(await listed(store, gateway)).toEqual([short.name, permanent.name]);
      await store.removeExpiredBlocks(LATER);
      expect(await listed(store, gateway)).toEqual([permanent.name]);
      await add(store, short);
      const again = blockRecord(gateway.id, { name: short.name });
      expect(await store.addBlocks([again], 1, LATER)).toEqual([]);
      expect((await store.listBlocks(gateway.id, ALL)).records).toMatchObject([permanent, again]);
    });

    test("a block is removed by the id and the gateway", async () => {
      const store = await openEmpty();
      const [one, two] = [gatewayRecord(), gatewayRecord()];
      for (const gateway of [one, two]) await insert(store, "gateways", gateway);
      const block = blockRecord(one.id);
      await add(store, block, blockRecord(two.id));
      for (const [gateway, id] of [
        [two, block.id],
        [one, "\0"],
        [one, "unknown"],
      ] as const)
        expect((await store.removeBlocks(gateway.id, id)).blocks).toEqual([]);
      expect((await store.removeBlocks(one.id, block.id)).blocks).toMatchObject([block]);
      expect((await store.removeBlocks(two.id, null)).blocks).toHaveLength(1);
      expect(await listed(store, two)).toEqual([]);
    });

    test("other nodes follow any sequence of changes, whether they read each or only the last", async () => {
      const store = await openEmpty();
      await fc.assert(
        fc.asyncProperty(fc.array(blockStep, { maxLength: 30 }), (steps) => follow(store, steps)),
        { numRuns: runs({ short: database === "SQLite" ? 10 : 6, long: 20 }) },
      );
    });

    test("blocks of an older schema are kept and count, and their revisions stay readable", async () => {
      const url = await createEmpty();
      const idType = url.startsWith("sqlite:") ? "TEXT" : 'TEXT COLLATE "C"';
      const gateway = gatewayRecord();
      const { id, name, type, subject, counter_key } = blockRecord(gateway.id);
      const row = {
        id,
        body: JSON.stringify({ name, type, subject, counter_key }),
        created_at: NOW,
        updated_at: NOW,
      };
      const change = [{ kind: "blocks", id, before: null, after: { ...row, gateway_id: gateway.id, name } }];
      await withSql(url, async (sql) => {
        const steps = [initialSchema(idType), addBlocks(idType), addUsage(idType), addRevisionHistory()];
        for (const statement of steps.flat()) await sql.unsafe(statement);
        await sql.unsafe(
          "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
        );
        await sql.unsafe(`INSERT INTO schema_versions VALUES (1, ''), (2, ''), (3, ''), (4, '')`);
        await sql`INSERT INTO gateways (id, body, created_at, updated_at, name)
          VALUES (${gateway.id}, ${JSON.stringify(gateway)}, ${NOW}, ${NOW}, 'g')`;
        await sql`INSERT INTO blocks (id, body, created_at, updated_at, gateway_id, name)
          VALUES (${id}, ${row.body}, ${NOW}, ${NOW}, ${gateway.id}, ${name})`;
        await sql.unsafe("UPDATE configuration SET revision = 1");
        await sql`INSERT INTO revisions (number, gateway_id, block_id, created_at, action, resource, resource_id, records)
          VALUES (1, ${gateway.id}, ${id}, ${NOW}, 'create', 'blocks', ${id}, ${JSON.stringify(change)})`;
      });
      const store = openForTest(url);
      expect((await store.blockChangesAfter(-1)).added).toMatchObject([{ id, type, expires_at: null }]);
      expect(await store.addBlocks([blockRecord(gateway.id)], 1, NOW)).toHaveLength(1);
      expect(await store.getRevision(1)).toMatchObject({ kind: "blocks", resource_id: id, records: [] });
      await insert(store, "gateways", gatewayRecord());
      await store.write((transaction) => transaction.rollBackTo(1), { action: "rollback" });
      expect(await listed(store, gateway)).toEqual([name]);
    });
  });
}

type BlockStep = readonly [kind: "add" | "expire" | "remove" | "clear" | "delete", number: number];
const blockStep = fc.tuple(
  fc.constantFrom("add", "add", "add", "expire", "remove", "clear", "delete"),
  fc.nat(9),
) satisfies fc.Arbitrary<BlockStep>;

async function follow(store: Store, steps: readonly BlockStep[]): Promise<void> {
  const gateways = [gatewayRecord(), gatewayRecord()];
  for (const gateway of gateways) await insert(store, "gateways", gateway);
  const [close, distant] = [new BlockTable(), new BlockTable()];
  let seen = await store.blockSequence();
  const start = seen;
  distant.apply(await store.blockChangesAfter(-1), 0);
  for (const [kind, number] of steps) {
    const { id } = gateways[number % 2]!;
    if (kind === "add") {
      const name = `${id}/p:t:${number}`;
      await store.addBlocks([blockRecord(id, { name, expires_at: number % 3 === 0 ? NOW : null })], 4, "");
    } else if (kind === "expire") await store.removeExpiredBlocks(NOW);
    else if (kind === "remove") {
      const { records } = await store.listBlocks(id, ALL);
      await store.removeBlocks(id, records[number % Math.max(1, records.length)]?.id ?? "none");
    } else if (kind === "clear") await store.removeBlocks(id, null);
    else await store.write((transaction) => transaction.removeGateway(id, true));
    const changes = await store.blockChangesAfter(seen);
    seen = changes.sequence;
    close.apply(changes, 0);
  }
  distant.apply(await store.blockChangesAfter(start), 0);
  for (const { id } of gateways) {
    const { records } = await store.listBlocks(id, ALL);
    for (const table of [close, distant]) {
      expect(table.countOf(id, "per_user")).toBe(records.length);
      for (const { name } of records) expect(table.expiryOf(name)).toBeDefined();
    }
    await store.write((transaction) => transaction.removeGateway(id, true));
  }
}
