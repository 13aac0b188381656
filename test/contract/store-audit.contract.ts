// The audit log in the Store, with every database: one chain of hashes over all nodes, entries in the transaction of the action,
// retention, and the detection of every kind of tampering.
import { describe, expect, test } from "bun:test";
import { newId } from "../../src/base/ids.ts";
import type { AuditEvent } from "../../src/store/audit.ts";
import type { Store } from "../../src/store/store.ts";
import { ALL, insert, openForTest, type StoreMaker } from "./store-fixture.ts";
import { AWKWARD_TEXT, gatewayRecord, upstreamRecord, targetRecord, withSql } from "./store-records.ts";

const ORIGIN = {
  actor: { type: "oidc", id: "sub", name: "alice" },
  role: "owner",
  address: "192.0.2.1",
  request_id: "request",
} as const;
const NO_HASH = "0".repeat(64);

function auditEvent(fields: Partial<AuditEvent> = {}): AuditEvent {
  return {
    ...ORIGIN,
    action: "sign_in",
    resource: null,
    resource_id: null,
    gateway_id: null,
    name: null,
    revision: null,
    details: null,
    ...fields,
  };
}

export function describeStoreAudit({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());
  const append = (store: Store, count: number) =>
    store.audit.append(Array.from({ length: count }, (_, index) => auditEvent({ name: `event ${index}` })));
  const entriesOf = async (store: Store) => (await store.audit.list(ALL)).records.toReversed();

  describe(`${database}: audit log`, () => {
    test("an entry is read back exactly, numbered and with a hash", async () => {
      const store = await openEmpty();
      const event = auditEvent({
        action: "refused",
        actor: null,
        role: null,
        name: `\0\ud800${AWKWARD_TEXT}`,
        details: { text: `\0${AWKWARD_TEXT}`, count: 3 },
      });
      const appended = await store.audit.append([event, auditEvent()]);
      const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
      const stored = { ...event, name: JSON.parse(JSON.stringify(event.name)) as string };
      expect(appended as unknown[]).toEqual([
        { sequence: 1, ...stored, created_at, hash },
        { sequence: 2, ...auditEvent(), created_at, hash },
      ]);
      expect(await entriesOf(store)).toEqual([...appended]);
      expect(await store.revision()).toBe(0);
    });

    test("entries are filtered and listed in pages, newest first", async () => {
      const store = await openEmpty();
      const bob = { type: "admin_token", id: "1", name: "bob" } as const;
      await store.audit.append([
        auditEvent({ gateway_id: "g", resource: "gateway", action: "create" }),
        auditEvent({ actor: bob, address: "192.0.2.2" }),
        auditEvent({ actor: bob, action: "sign_out" }),
      ]);
      const numbers = async (query: object) => {
        const { records, count } = await store.audit.list({ ...ALL, ...query });
        expect(count).toBeGreaterThanOrEqual(records.length);
        return records.map(({ sequence }) => sequence);
      };
      expect(await numbers({})).toEqual([3, 2, 1]);
      expect(await numbers({ limit: 1, offset: 1 })).toEqual([2]);
      expect(await numbers({ actor: "bob" })).toEqual([3, 2]);
      expect(await numbers({ actor: "bob", action: "sign_in" })).toEqual([2]);
      expect(await numbers({ gatewayId: "g" })).toEqual([1]);
      expect(await numbers({ resource: "gateway" })).toEqual([1]);
      expect(await numbers({ address: "192.0.2.2" })).toEqual([2]);
      expect(await numbers({ since: "2020-01-01T00:00:00.000Z" })).toEqual([3, 2, 1]);
      expect(await numbers({ until: "2020-01-01T00:00:00.000Z" })).toEqual([]);
      expect(await numbers({ actor: "\0" })).toEqual([]);
    });

    test("entries are searched in their texts, in any case, and sorted", async () => {
      const store = await openEmpty();
      const bob = { type: "admin_token", id: "1", name: "Bob" } as const;
      const [gateway, record] = [newId(), newId()];
      await store.audit.append([
        auditEvent({ gateway_id: gateway, resource: "gateway", action: "create", name: 'Größe "x" 100%' }),
        auditEvent({ actor: bob, address: "192.0.2.2", resource: "api_key", resource_id: record }),
        auditEvent({ actor: null, name: `half \ud800 of a pair` }),
        // PostgreSQL cannot read fields of such a text.
        auditEvent({ actor: null, action: "refused", name: `zero \0 byte` }),
      ]);
      const numbers = async (search: string, query: object = {}) =>
        (await store.audit.list({ ...ALL, search, ...query })).records.map(({ sequence }) => sequence);
      for (const text of ["GRÖSSE", "größe", 'e "X" 1', "100%"])
        expect([text, await numbers(text)]).toEqual([text, text === "GRÖSSE" ? [] : [1]]);
      expect(await numbers("BOB")).toEqual([2]);
      expect(await numbers("0.2.2")).toEqual([2]);
      expect(await numbers("I_KEY")).toEqual([2]);
      expect(await numbers("of a PAIR")).toEqual([3]);
      expect(await numbers("byte")).toEqual([4]);
      for (const [id, sequence] of [
        [gateway, 1],
        [record, 2],
      ] as const) {
        expect(await numbers(id.slice(-8))).toEqual([sequence]);
        // Many ids contain a short text by chance.
        expect(await numbers(id.slice(-7))).toEqual([]);
      }
      // Neither names of fields nor patterns are searched.
      for (const text of ["request", "gateway_id", "_", "!", "null", "\0"])
        expect([text, await numbers(text, { gatewayId: gateway })]).toEqual([text, []]);
      expect(await numbers("3", { action: "sign_in" })).toEqual([3]);
      expect(await numbers("99999999999")).toEqual([]);
      expect(await numbers("4", { action: "create" })).toEqual([]);

      expect(await numbers("", { sort: "created_at", descending: false })).toEqual([1, 2, 3, 4]);
      expect(await numbers("", { sort: "actor", descending: false })).toEqual([3, 4, 1, 2]);
      expect(await numbers("", { sort: "actor", descending: true })).toEqual([2, 1, 4, 3]);
      expect(await numbers("", { sort: "address", descending: true })).toEqual([2, 4, 3, 1]);
      expect(await numbers("", { sort: "action", descending: false, limit: 2 })).toEqual([1, 4]);
    });

    test("a write and its entry are one transaction; a write that fails or changes nothing has none", async () => {
      const store = await openEmpty();
      const gateway = gatewayRecord({ name: "acme" });
      const { audit } = await store.write((tx) => tx.insert("gateways", gateway), { audit: ORIGIN });
      expect(audit).toMatchObject({
        ...ORIGIN,
        sequence: 1,
        action: "create",
        resource: "gateway",
        resource_id: gateway.id,
        gateway_id: gateway.id,
        name: "acme",
        revision: 1,
        details: { records: [{ action: "create", resource: "gateway", id: gateway.id, name: "acme" }] },
      });
      const failing = async () => {
        await store.write(
          async (tx) => {
            await tx.update("gateways", { ...gateway, name: "lost" });
            throw new Error("no");
          },
          { audit: ORIGIN },
        );
      };
      expect(await failing().catch((error: unknown) => error)).toBeInstanceOf(Error);
      expect((await store.write(() => Promise.resolve(null), { audit: ORIGIN })).audit).toBeNull();
      expect(await entriesOf(store)).toEqual([audit!]);
    });

    test("the entry of a change names the fields, and contains no secret", async () => {
      const store = await openEmpty();
      const gateway = await insert(store, "gateways", gatewayRecord());
      const credentials = { header_name: "Authorization", header_value: "Bearer sk-first-secret" };
      const upstream = upstreamRecord(gateway.id, { targets: [targetRecord({ credentials })] });
      await insert(store, "upstreams", upstream);
      const changed = { ...credentials, header_value: "Bearer sk-second-secret" };
      const targets = upstream.targets.map((target) => ({ ...target, weight: 9, credentials: changed }));
      const { audit } = await store.write((tx) => tx.update("upstreams", { ...upstream, targets }), {
        audit: { ...ORIGIN, showsSecret: () => true },
      });
      expect(audit?.details).toEqual({
        records: [
          {
            action: "update",
            resource: "upstream",
            id: upstream.id,
            name: upstream.name,
            fields: ["targets[0].weight", "targets[0].credentials.header_value"],
          },
        ],
        secret_shown: true,
      });
      expect(JSON.stringify(audit)).not.toContain("-secret");
    });

    test("the entry of a large write is bounded", async () => {
      const store = await openEmpty();
      const write = async () =>
        store.write(
          async (tx) => {
            for (let index = 0; index < 50; index++) await tx.insert("gateways", gatewayRecord());
          },
          { audit: ORIGIN, action: "apply" },
        );
      const { details, resource } = (await write()).audit!;
      expect(resource).toBe("configuration");
      expect(details?.["records"]).toHaveLength(20);
      expect(details?.["more_records"]).toBe(30);
    });

    test("of several nodes that append after the same entry about a record, one does", async () => {
      const url = await createMigrated();
      const nodes = [openForTest(url), openForTest(url), openForTest(url)];
      const subject = { resource: "budget_state", resource_id: newId(), gateway_id: newId() };
      for (let count = 0; count < 3; count++) {
        const last = await nodes[0]!.audit.lastAbout(subject);
        await append(nodes[0]!, 1);
        const appended = await Promise.all(
          [...nodes, ...nodes].map((store) => store.audit.appendAfter(last, auditEvent(subject))),
        );
        const [entry, ...others] = appended.filter((each) => each !== null);
        expect([entry?.sequence, others]).toEqual([await nodes[1]!.audit.lastAbout(subject), []]);
      }
      expect(await nodes[2]!.audit.verify()).toMatchObject({ valid: true });
    });

    test("several nodes append to one chain without forks or gaps", async () => {
      const url = await createMigrated();
      const nodes = [openForTest(url), openForTest(url), openForTest(url)];
      await Promise.all(
        nodes.flatMap((store) => [
          append(store, 5),
          store.write((tx) => tx.insert("gateways", gatewayRecord()), { audit: ORIGIN }),
          append(store, 5),
        ]),
      );
      const entries = await entriesOf(nodes[0]!);
      expect(entries.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 33 }, (_, at) => at + 1));
      expect(await nodes[1]!.audit.verify()).toEqual({
        valid: true,
        entries: 33,
        removed: 0,
        sequence: 33,
        hash: entries.at(-1)!.hash,
        problem: null,
      });
    });

    test("an empty log is valid", async () => {
      const store = await openEmpty();
      expect(await store.audit.verify()).toMatchObject({
        valid: true,
        entries: 0,
        sequence: 0,
        hash: NO_HASH,
      });
    });

    test.each([
      [
        "a changed entry",
        "UPDATE audit_entries SET body = replace(body, 'event 3', 'event X') WHERE sequence = 4",
        4,
      ],
      ["a changed hash", `UPDATE audit_entries SET hash = '${NO_HASH}' WHERE sequence = 4`, 4],
      ["a changed search column", "UPDATE audit_entries SET actor = 'mallory' WHERE sequence = 4", 4],
      ["a changed time", "UPDATE audit_entries SET created_at = '2020' WHERE sequence = 4", 4],
      ["a deleted entry", "DELETE FROM audit_entries WHERE sequence = 4", 4],
      ["a deleted beginning", "DELETE FROM audit_entries WHERE sequence <= 3", 1],
      ["a deleted end", "DELETE FROM audit_entries WHERE sequence >= 9", 9],
      [
        "a deleted and renumbered entry",
        "DELETE FROM audit_entries WHERE sequence = 4; UPDATE audit_entries SET sequence = 4 WHERE sequence = 5",
        4,
      ],
      [
        "two entries in another order",
        "UPDATE audit_entries SET sequence = 100 WHERE sequence = 4; UPDATE audit_entries SET sequence = 4 WHERE sequence = 5; UPDATE audit_entries SET sequence = 5 WHERE sequence = 100",
        4,
      ],
      [
        "an inserted entry",
        "INSERT INTO audit_entries (sequence, created_at, action, body, hash) SELECT 11, created_at, action, body, hash FROM audit_entries WHERE sequence = 10",
        11,
      ],
      [
        "a forged beginning",
        "UPDATE audit_ends SET removed_sequence = 3; DELETE FROM audit_entries WHERE sequence <= 3",
        4,
      ],
      [
        "an entry with a number below zero",
        "INSERT INTO audit_entries (sequence, created_at, action, body, hash) SELECT -5, created_at, action, body, hash FROM audit_entries WHERE sequence = 10",
        -5,
      ],
      ["deleted ends", "DELETE FROM audit_ends", 1],
      ["a forged end", "UPDATE audit_ends SET sequence = 8; DELETE FROM audit_entries WHERE sequence > 8", 8],
    ])("%s is found", async (_, statements, sequence) => {
      const url = await createMigrated();
      const store = openForTest(url);
      await append(store, 10);
      expect((await store.audit.verify()).valid).toBe(true);
      await withSql(url, async (sql) => {
        for (const statement of statements.split("; ")) await sql.unsafe(statement);
      });
      const { valid, problem } = await store.audit.verify();
      expect({ valid, sequence: problem?.sequence ?? null }).toEqual({ valid: false, sequence });
    });

    test("an entry that was changed to a text which is no entry hides no other one", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const all = await append(store, 3);
      await withSql(url, (sql) => sql.unsafe("UPDATE audit_entries SET body = '{' WHERE sequence = 2"));
      const listed = await entriesOf(store);
      expect(listed.map(({ hash }) => hash)).toEqual(all.map(({ hash }) => hash));
      expect(listed[1]).toMatchObject({
        created_at: all[1]!.created_at,
        action: all[1]!.action,
        actor: null,
      });
    });

    test("a chain that is written again from an entry on has another hash at its end", async () => {
      const [one, two] = [await openEmpty(), await openEmpty()];
      const events = ["a", "b", "c"].map((name) => auditEvent({ name, request_id: newId() }));
      await one.audit.append(events);
      await two.audit.append([events[0]!, auditEvent({ name: "x" }), events[2]!]);
      expect((await two.audit.verify()).valid).toBe(true);
      expect((await two.audit.verify()).hash).not.toBe((await one.audit.verify()).hash);
    });

    test("retention removes whole prefixes and keeps their last hash, so that the rest can be verified", async () => {
      const url = await createMigrated();
      const store = openForTest(url, { keptAudit: 10 });
      const all = [];
      for (let index = 0; index < 35; index++) all.push(...(await append(store, 1)));
      const kept = await entriesOf(store);
      expect(kept.length).toBeGreaterThanOrEqual(10);
      expect(kept.length).toBeLessThan(20);
      expect(kept).toEqual(all.slice(-kept.length));
      const removed = 35 - kept.length;
      expect(await store.audit.verify()).toMatchObject({ valid: true, entries: kept.length, removed });
      const ends = await withSql(url, (sql) => sql.unsafe("SELECT removed_hash FROM audit_ends"));
      expect(ends[0].removed_hash).toBe(all[removed - 1]!.hash);
      await withSql(url, (sql) => sql.unsafe(`UPDATE audit_ends SET removed_hash = '${NO_HASH}'`));
      expect((await store.audit.verify()).problem?.sequence).toBe(removed + 1);
    });

    test("an entry that is put back into the removed part is found", async () => {
      const url = await createMigrated();
      const store = openForTest(url, { keptAudit: 1 });
      for (let index = 0; index < 5; index++) await append(store, 1);
      await withSql(url, (sql) =>
        sql.unsafe(
          "INSERT INTO audit_entries (sequence, created_at, action, body, hash) SELECT 1, created_at, action, body, hash FROM audit_entries",
        ),
      );
      expect((await store.audit.verify()).problem?.sequence).toBe(1);
    });
  });
}
