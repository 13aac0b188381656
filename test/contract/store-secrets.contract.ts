// Secrets at rest: encrypted headers, several encryption keys, and the replacement of a key while nodes write.
import { describe, expect, test } from "bun:test";
import type { Credentials } from "../../src/model/credentials.ts";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { countSecrets, rewrapSecrets } from "../../src/store/rewrap.ts";
import { StoreRejected, type Store } from "../../src/store/store.ts";
import { closeOpened, openForTest, whenOpen, type StoreMaker } from "./store-fixture.ts";
import { writeOldBudgets } from "./older-schema.ts";
import {
  budgetRecord,
  ENCRYPTION_SECRET,
  gatewayRecord,
  targetRecord,
  upstreamRecord,
  withSql,
} from "./store-records.ts";

const [OLD, NEW] = ["the old key", "the new key"];
const KEY = "planted-header-0123456789";
const credentials = { header_name: "Authorization", header_value: "planted-credential-0123456789" };

async function writeUpstream(store: Store) {
  const gateway = gatewayRecord();
  const headers = { "X-Api-Key": KEY, "X-Team": "blue", Cookie: "" };
  const upstream = upstreamRecord(gateway.id, { targets: [targetRecord({ headers, credentials })] });
  await store.write(async (transaction) => {
    await transaction.insert("gateways", gateway);
    await transaction.insert("upstreams", upstream);
  });
  return upstream;
}

const HOOK = "https://hooks.example.com/services/planted-hook-0123456789?token=planted-hook-token";

async function writeBudget(store: Store) {
  const gateway = gatewayRecord();
  const budget = budgetRecord(gateway.id, { webhook: HOOK });
  await store.write(async (transaction) => {
    await transaction.insert("gateways", gateway);
    await transaction.insert("budgets", budget);
  });
  return budget;
}

/** Returns everything that the tables contain about upstreams and budgets. */
async function storedText(url: string): Promise<string> {
  return withSql(url, async (sql) => {
    const bodies: unknown = await sql.unsafe("SELECT body FROM upstreams");
    const budgets: unknown = await sql.unsafe("SELECT body FROM budgets");
    const records: unknown = await sql.unsafe("SELECT records FROM revisions");
    return JSON.stringify([bodies, budgets, records]);
  });
}

const rejectionMessage = async (work: Promise<unknown>) => {
  const error: unknown = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreRejected);
  return (error as StoreRejected).message;
};

export function describeStoreSecrets({ database, createEmpty, createMigrated }: StoreMaker): void {
  describe(`${database}: secrets at rest`, () => {
    test("headers that carry a credential are encrypted, in the record and in its history", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const upstream = await writeUpstream(store);
      expect(await store.get("upstreams", upstream.id)).toStrictEqual(upstream);
      const changed = { ...upstream, name: "renamed" };
      await store.write((transaction) => transaction.update("upstreams", changed));
      const { records = [] } = (await store.getRevision(2)) ?? {};
      expect(records).toMatchObject([{ before: upstream, after: changed }]);
      const text = await storedText(url);
      expect(text).not.toContain(KEY);
      expect(text).toContain("blue");
    });

    test("the secrets of cloud credentials are encrypted, and each only at its own place", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const gateway = gatewayRecord();
      const client = { client_id: "app", client_secret: KEY };
      const all: Credentials[] = [
        {
          type: "aws_sigv4",
          region: "us-east-1",
          service: "bedrock",
          access_key_id: "AKID",
          secret_access_key: KEY,
          session_token: `${KEY} of the session`,
        },
        { type: "gcp_service_account", service_account: `{"private_key":"${KEY}"}`, scopes: ["all"] },
        { type: "azure_client", tenant_id: "mine", scope: "all", ...client },
        { type: "oauth_client_credentials", token_url: "https://a.example", scope: null, ...client },
      ];
      const targets = all.map((each) => targetRecord({ credentials: each }));
      const upstream = upstreamRecord(gateway.id, { targets });
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        await transaction.insert("upstreams", upstream);
      });
      expect(await store.get("upstreams", upstream.id)).toStrictEqual(upstream);
      const text = await storedText(url);
      expect(text).not.toContain(KEY);
      expect(text).toContain("AKID");
      expect(await countSecrets(url, new CredentialCipher(ENCRYPTION_SECRET))).toMatchObject({ newest: 10 });
      // Whoever can write to the database cannot turn one secret into another.
      const swapped = await withSql(url, async (sql) => {
        const [row] = (await sql.unsafe("SELECT body FROM upstreams")) as { body: string }[];
        const body = row?.body ?? "";
        const [, key = ""] = /"secret_access_key":"([^"]+)"/.exec(body) ?? [];
        const changed = body.replace(/"session_token":"[^"]+"/, `"session_token":"${key}"`);
        await sql.unsafe("UPDATE upstreams SET body = $1", [changed]);
        return changed !== body;
      });
      expect(swapped).toBe(true);
      expect(store.get("upstreams", upstream.id)).rejects.toThrow();
    });

    test("webhooks of budgets are encrypted, in the record and in its history, and bound to their budget", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const budget = await writeBudget(store);
      expect(await store.get("budgets", budget.id)).toStrictEqual(budget);
      const changed = { ...budget, amount: "13.00" };
      await store.write((transaction) => transaction.update("budgets", changed));
      expect((await store.getRevision(2))?.records).toMatchObject([{ before: budget, after: changed }]);
      expect(await storedText(url)).not.toContain("planted-hook");
      await store.write((transaction) => transaction.rollBackTo(1));
      expect(await store.get("budgets", budget.id)).toMatchObject({ amount: "12.50", webhook: HOOK });
      // A value that is copied to another budget cannot be decrypted.
      const other = budgetRecord(budget.gateway_id, {
        name: "other",
        webhook: "https://hooks.example.com/other",
      });
      await store.write((transaction) => transaction.insert("budgets", other));
      await withSql(url, async (sql) => {
        const copy = "(SELECT body FROM budgets WHERE id = $1)";
        await sql.unsafe(`UPDATE budgets SET body = ${copy} WHERE id = $2`, [budget.id, other.id]);
      });
      expect(store.get("budgets", other.id)).rejects.toThrow("cannot be decrypted");
    });

    test("rewrap encrypts webhooks with the newest key, in the history too", async () => {
      const url = await createMigrated();
      const budget = await writeBudget(openForTest(url, { secret: OLD }));
      const { before, after } = await rewrapSecrets(url, new CredentialCipher(NEW, OLD));
      expect(before).toEqual({ newest: 0, older: 2, plain: 0, unreadable: 0 });
      expect(after).toMatchObject({ newest: 2, isCheckNewest: true });
      expect(await openForTest(url, { secret: NEW }).get("budgets", budget.id)).toStrictEqual(budget);
    });

    test("webhooks that an older version stored in plain text are encrypted on the first start", async () => {
      const url = await createEmpty();
      const gateway = gatewayRecord();
      const budget = budgetRecord(gateway.id, { webhook: HOOK });
      await writeOldBudgets(url, gateway, [budget]);
      expect(await storedText(url)).toContain("planted-hook");
      const store = openForTest(url);
      await whenOpen(store);
      expect(await store.get("budgets", budget.id)).toStrictEqual(budget);
      expect(await storedText(url)).not.toContain("planted-hook");
      expect((await store.getRevision(1))?.records).toMatchObject([{ after: { webhook: HOOK } }]);
      if (database === "SQLite")
        expect(await Bun.file(url.slice("sqlite://".length)).text()).not.toContain("planted-hook");
    });

    test("a node with several keys reads what each of them encrypted, and writes with the first", async () => {
      const url = await createMigrated();
      const first = await writeUpstream(openForTest(url, { secret: OLD }));
      const both = openForTest(url, { secret: NEW, olderSecrets: [OLD] });
      expect(await both.get("upstreams", first.id)).toStrictEqual(first);
      const second = await writeUpstream(both);
      const reversed = openForTest(url, { secret: OLD, olderSecrets: [NEW] });
      expect(await reversed.get("upstreams", second.id)).toStrictEqual(second);
      const onlyOld = openForTest(url, { secret: OLD });
      expect(await onlyOld.get("upstreams", first.id)).toStrictEqual(first);
      expect(onlyOld.get("upstreams", second.id)).rejects.toThrow("any key of ENCRYPTION_KEY");
    });

    test("rewrap encrypts everything with the newest key; then the old one is not needed, and is rejected", async () => {
      const url = await createMigrated();
      const old = openForTest(url, { secret: OLD });
      const upstream = await writeUpstream(old);
      await old.write((transaction) => transaction.update("upstreams", { ...upstream, name: "renamed" }));
      const onlyNew = () => openForTest(url, { secret: NEW });
      expect(await rejectionMessage(onlyNew().revision())).toContain("ENCRYPTION_KEY");
      const cipher = new CredentialCipher(NEW, OLD);
      // Three secrets: in the record, and three times in its history.
      expect(await countSecrets(url, cipher)).toMatchObject({ newest: 0, older: 12, isCheckNewest: false });
      const { before, after } = await rewrapSecrets(url, cipher);
      expect(before).toEqual({ newest: 0, older: 12, plain: 0, unreadable: 0 });
      expect(after).toEqual({ newest: 12, older: 0, plain: 0, unreadable: 0, isCheckNewest: true });
      const text = await storedText(url);
      expect((await rewrapSecrets(url, cipher)).before).toMatchObject({ newest: 12, older: 0 });
      expect(await storedText(url)).toBe(text);
      const node = onlyNew();
      expect(await node.revision()).toBe(2);
      expect(await node.get("upstreams", upstream.id)).toMatchObject({ targets: upstream.targets });
      await node.write((transaction) => transaction.rollBackTo(1));
      expect(await node.get("upstreams", upstream.id)).toStrictEqual(upstream);
      expect(await rejectionMessage(openForTest(url, { secret: OLD }).revision())).toContain(
        "ENCRYPTION_KEY",
      );
    });

    test("rewrap loses no write of nodes that run meanwhile", async () => {
      const url = await createMigrated();
      const node = openForTest(url, { secret: NEW, olderSecrets: [OLD] });
      const upstream = await writeUpstream(openForTest(url, { secret: OLD }));
      const writes = Promise.all(
        Array.from({ length: 30 }, (_, at) =>
          // The deadline of the last write includes the time of all writes before it.
          node.write((transaction) => transaction.update("upstreams", { ...upstream, name: `name ${at}` }), {
            deadlineMs: 60_000,
          }),
        ),
      );
      const [{ after }] = await Promise.all([rewrapSecrets(url, new CredentialCipher(NEW, OLD)), writes]);
      expect(after).toMatchObject({ older: 0, plain: 0, unreadable: 0, isCheckNewest: true });
      const restarted = openForTest(url, { secret: NEW });
      expect(await restarted.revision()).toBe(31);
      expect(await restarted.get("upstreams", upstream.id)).toMatchObject({ name: "name 29" });
      for (let revision = 1; revision <= 31; revision++)
        expect(await restarted.getRevision(revision)).not.toBeNull();
    });

    test("a key that is not given is reported, and the database stays locked for nodes without it", async () => {
      const url = await createMigrated();
      await writeUpstream(openForTest(url, { secret: OLD }));
      await writeUpstream(openForTest(url, { secret: "a third key", olderSecrets: [OLD] }));
      const { after } = await rewrapSecrets(url, new CredentialCipher(NEW, OLD));
      expect(after).toMatchObject({ newest: 6, older: 0, unreadable: 6, isCheckNewest: false });
    });

    test("what an older version stored in plain text is encrypted on the first start", async () => {
      const url = await createMigrated();
      const upstream = await writeUpstream(openForTest(url));
      const [target] = upstream.targets;
      await withSql(url, async (sql) => {
        const [row] = (await sql.unsafe("SELECT body FROM upstreams")) as { body: string }[];
        const stored = JSON.parse(row?.body ?? "") as { targets: { headers: object }[] };
        const body = JSON.stringify({
          ...stored,
          targets: [{ ...stored.targets[0], headers: target?.headers }],
        });
        await sql.unsafe("UPDATE upstreams SET body = $1", [body]);
        await sql.unsafe("UPDATE configuration SET sealed_headers = 0");
      });
      expect(await storedText(url)).toContain(KEY);
      const store = openForTest(url);
      expect(await store.get("upstreams", upstream.id)).toStrictEqual(upstream);
      expect(await storedText(url)).not.toContain(KEY);
    });

    if (database === "SQLite")
      test("replaced values that are still in the file are erased on the next start", async () => {
        const url = await createMigrated();
        await writeUpstream(openForTest(url));
        await closeOpened();
        // A start that failed to erase them has left this state, and the values in free pages.
        await withSql(url, async (sql) => {
          await sql.unsafe("CREATE TABLE replaced (body TEXT)");
          await sql.unsafe("INSERT INTO replaced VALUES ($1)", [KEY.repeat(1000)]);
          await sql.unsafe("DROP TABLE replaced");
          await sql.unsafe("UPDATE configuration SET sealed_headers = -1");
          await sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)");
        });
        const file = Bun.file(url.slice("sqlite://".length));
        expect(await file.text()).toContain(KEY);
        expect(await openForTest(url).revision()).toBe(1);
        expect(await file.text()).not.toContain(KEY);
        const [state] = (await withSql(url, (sql) =>
          sql.unsafe("SELECT sealed_headers FROM configuration"),
        )) as object[];
        expect(state).toEqual({ sealed_headers: 1 });
      });
  });
}
