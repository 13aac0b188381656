// Administrators in the Store, with every database: admin tokens, and the actor of revisions.
import type { SQL } from "bun";
import { describe, expect, test } from "bun:test";
import { newId } from "../../src/base/ids.ts";
import type { Actor } from "../../src/model/administrator.ts";
import type { AdminSession } from "../../src/store/admin-sessions.ts";
import type { StoredAdminToken } from "../../src/store/admin-tokens.ts";
import { ALL, openForTest, rejectionOf, type StoreMaker } from "./store-fixture.ts";
import { AWKWARD_TEXT, gatewayRecord, withSql } from "./store-records.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-02T00:00:00.000Z";
const ACTOR: Actor = { type: "admin_token", id: "an id", name: AWKWARD_TEXT };

const ORIGIN = { actor: ACTOR, role: "owner", address: "192.0.2.1", request_id: "r" } as const;

function adminTokenRecord(fields: Partial<StoredAdminToken> = {}): StoredAdminToken {
  const id = newId();
  return {
    id,
    name: "a token",
    role: "operator",
    gateways: null,
    expires_at: LATER,
    prefix: "admin_gw_abcdef",
    active: true,
    last_used_at: null,
    created_by: "admin",
    created_at: NOW,
    updated_at: NOW,
    hash: `hash of ${id}`,
    ...fields,
  };
}

function sessionRecord(fields: Partial<AdminSession> = {}): AdminSession {
  const hash = `hash of ${newId()}`;
  return { hash, actor: ACTOR, issuer: "i", groups: [], expires_at: LATER, created_at: NOW, ...fields };
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

export function describeStoreIdentities({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe(`${database}: administrators`, () => {
    test("a token is read back exactly, by id and by hash, and creates no revision", async () => {
      const store = await openEmpty();
      const full = adminTokenRecord({
        name: AWKWARD_TEXT,
        created_by: AWKWARD_TEXT,
        role: "viewer",
        gateways: ["one", "two"],
        active: false,
        last_used_at: NOW,
      });
      const records = [adminTokenRecord(), full];
      for (const record of records) await store.identities.insertAdminToken(record, ORIGIN);
      for (const record of records) {
        expect(await store.identities.getAdminToken(record.id)).toStrictEqual(record);
        expect(await store.identities.findAdminToken(record.hash)).toStrictEqual(record);
      }
      for (const unknown of ["", "none", "\0"]) {
        expect(await store.identities.getAdminToken(unknown)).toBeNull();
        expect(await store.identities.findAdminToken(unknown)).toBeNull();
      }
      expect(await store.revision()).toBe(0);
    });

    test("tokens are listed oldest first, in pages, and by name", async () => {
      const store = await openEmpty();
      const records = ["a", "b", "a"].map((name) => adminTokenRecord({ name }));
      for (const record of records) await store.identities.insertAdminToken(record, ORIGIN);
      const list = (query: object) => store.identities.listAdminTokens({ ...ALL, ...query });
      expect(await list({})).toEqual({ records, count: 3 });
      expect(await list({ limit: 1, offset: 1 })).toEqual({ records: [records[1]!], count: 3 });
      expect(await list({ name: "a" })).toEqual({ records: [records[0]!, records[2]!], count: 2 });
    });

    test("a change is atomic, and one that throws changes nothing", async () => {
      const store = await openEmpty();
      const record = adminTokenRecord();
      await store.identities.insertAdminToken(record, ORIGIN);
      const rename = () =>
        store.identities.changeAdminToken(
          record.id,
          (before) => ({ ...before, name: `${before.name}+` }),
          ORIGIN,
        );
      await Promise.all([rename(), rename(), rename()]);
      expect((await store.identities.getAdminToken(record.id))?.name).toBe("a token+++");
      const failing = store.identities.changeAdminToken(
        record.id,
        () => {
          throw new Error("no");
        },
        ORIGIN,
      );
      expect(await errorOf(failing)).toBeInstanceOf(Error);
      expect((await store.identities.getAdminToken(record.id))?.name).toBe("a token+++");
      expect(await store.identities.changeAdminToken("none", (before) => before, ORIGIN)).toBeNull();
    });

    test("the last use never goes back", async () => {
      const store = await openEmpty();
      const record = adminTokenRecord();
      await store.identities.insertAdminToken(record, ORIGIN);
      await store.identities.recordAdminTokenUse(record.id, LATER);
      await store.identities.recordAdminTokenUse(record.id, NOW);
      expect((await store.identities.getAdminToken(record.id))?.last_used_at).toBe(LATER);
    });

    test("the number of tokens is bounded: revoked and expired ones make room, others do not", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const unusable = [adminTokenRecord({ active: false }), adminTokenRecord({ expires_at: NOW })];
      for (const record of unusable) await store.identities.insertAdminToken(record, ORIGIN);
      // One transaction: SQLite syncs the file after each.
      const insertMany = async (sql: SQL) => {
        for (let serial = 0; serial < 998; serial++)
          await sql`INSERT INTO admin_tokens (id, name, role, hash, prefix, active, expires_at, created_by, created_at, updated_at)
            VALUES (${newId()}, 'n', 'owner', ${`h${serial}`}, 'p', 1, ${LATER}, 'c', ${NOW}, ${NOW})`;
      };
      await withSql(url, (sql) => sql.begin(insertMany));
      await store.identities.insertAdminToken(adminTokenRecord(), ORIGIN);
      expect(await store.identities.getAdminToken(unusable[0]!.id)).toBeNull();
      expect(await store.identities.getAdminToken(unusable[1]!.id)).not.toBeNull();
      await store.identities.insertAdminToken(adminTokenRecord(), ORIGIN);
      expect((await rejectionOf(store.identities.insertAdminToken(adminTokenRecord(), ORIGIN))).code).toBe(
        "in_use",
      );
      expect((await store.identities.listAdminTokens(ALL)).count).toBe(1000);
    });

    test("a role that is not known is an error, and never another role", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const record = adminTokenRecord();
      await store.identities.insertAdminToken(record, ORIGIN);
      await withSql(url, (sql) => sql`UPDATE admin_tokens SET role = 'root'`);
      expect(await errorOf(store.identities.findAdminToken(record.hash))).toBeInstanceOf(Error);
    });

    test("a session is read back exactly, by its hash, until it is removed on any node", async () => {
      const url = await createMigrated();
      const [one, two] = [openForTest(url), openForTest(url)];
      const session = sessionRecord({ groups: [AWKWARD_TEXT, "b"], issuer: AWKWARD_TEXT });
      const entry = await one.identities.insertSession(session, ORIGIN);
      expect(entry).toMatchObject({
        action: "sign_in",
        actor: ACTOR,
        details: { groups: [AWKWARD_TEXT, "b"] },
      });
      expect(await two.identities.findSession(session.hash)).toStrictEqual(session);
      expect(await two.identities.findSession("none")).toBeNull();
      expect(await two.identities.removeSession(session.hash, ORIGIN)).toMatchObject({ action: "sign_out" });
      expect(await one.identities.findSession(session.hash)).toBeNull();
      expect(await one.identities.removeSession(session.hash, ORIGIN)).toBeNull();
      expect((await one.audit.list(ALL)).count).toBe(2);
    });

    test("expired sessions are removed, and the number of sessions is bounded", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const [expired, oldest] = [sessionRecord({ expires_at: NOW }), sessionRecord({ created_at: "2025" })];
      await store.identities.insertSession(oldest, ORIGIN);
      await store.identities.insertSession(expired, ORIGIN);
      await store.identities.insertSession(sessionRecord(), ORIGIN);
      expect(await store.identities.findSession(expired.hash)).toBeNull();
      expect(await store.identities.findSession(oldest.hash)).not.toBeNull();
      await withSql(url, async (sql) => {
        const rows = Array.from({ length: 9998 }, (_, at) => ({
          hash: `h${at}`,
          actor: JSON.stringify(ACTOR),
          issuer: "i",
          user_groups: "[]",
          expires_at: LATER,
          created_at: NOW,
        }));
        for (let at = 0; at < rows.length; at += 1000)
          await sql`INSERT INTO admin_sessions ${sql(rows.slice(at, at + 1000))}`;
      });
      await store.identities.insertSession(sessionRecord(), ORIGIN);
      expect(await store.identities.findSession(oldest.hash)).toBeNull();
      const [counted] = await withSql(url, (sql) =>
        sql.unsafe("SELECT COUNT(*) AS count FROM admin_sessions"),
      );
      expect(Number(counted.count)).toBe(10_000);
    });

    test("a revision names its actor; one of an earlier version has none", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const insert = (actor?: Actor) =>
        store.write((transaction) => transaction.insert("gateways", gatewayRecord()), {
          ...(actor !== undefined && { audit: { ...ORIGIN, actor } }),
        });
      await insert(ACTOR);
      await insert();
      expect((await store.getRevision(1))?.actor).toEqual(ACTOR);
      expect((await store.listRevisions(ALL)).records.map(({ actor }) => actor)).toEqual([null, ACTOR]);
    });

    test("records are listed of some gateways only", async () => {
      const store = await openEmpty();
      const gateways = [gatewayRecord(), gatewayRecord(), gatewayRecord()];
      await store.write(async (transaction) => {
        for (const gateway of gateways) await transaction.insert("gateways", gateway);
      });
      const list = (gatewayIds: readonly string[] | null) => store.list("gateways", { ...ALL, gatewayIds });
      const some = [gateways[0]!, gateways[2]!];
      expect(await list([...some.map(({ id }) => id), "none", "\0"])).toEqual({ records: some, count: 2 });
      expect(await list([])).toEqual({ records: [], count: 0 });
      expect((await list(null)).count).toBe(3);
    });
  });
}
