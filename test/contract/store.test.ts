// Runs the contract tests of the Store with SQLite and PostgreSQL.
import { afterEach, describe, setDefaultTimeout } from "bun:test";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { closeOpened, type StoreMaker } from "./store-fixture.ts";
import { describeStoreAudit } from "./store-audit.contract.ts";
import { describeStoreBlocks } from "./store-blocks.contract.ts";
import { describeStoreCanaries } from "./store-canaries.contract.ts";
import { describeStoreHistory } from "./store-history.contract.ts";
import { describeStoreIdentities } from "./store-identities.contract.ts";
import { describeStoreModel } from "./store-model.contract.ts";
import { describeStoreNodes } from "./store-nodes.contract.ts";
import { ENCRYPTION_SECRET, temporarySqliteUrl } from "./store-records.ts";
import { describeStoreLists } from "./store-lists.contract.ts";
import { describeStoreReferences } from "./store-references.contract.ts";
import { describeStoreRevisions } from "./store-revisions.contract.ts";
import { describeStoreSecrets } from "./store-secrets.contract.ts";
import { describeStoreTraffic } from "./store-traffic.contract.ts";
import { describeStoreKilled } from "./store-killed.contract.ts";
import { describeStoreSpending } from "./store-spending.contract.ts";
import { describeStoreUsage } from "./store-usage.contract.ts";
import { describeStoreRecords } from "./store.contract.ts";

const createSqlite = () => Promise.resolve(temporarySqliteUrl());
const sqlite: StoreMaker = {
  database: "SQLite",
  createEmpty: createSqlite,
  // A new file is migrated in a few milliseconds.
  createMigrated: createSqlite,
};
const postgres: StoreMaker = {
  database: "PostgreSQL",
  createEmpty: async () => (await sharedPostgres()).createDatabase(),
  createMigrated: async () => (await sharedPostgres()).createDatabase(await (template ??= createTemplate())),
};

let template: Promise<string> | null = null;
async function createTemplate(): Promise<string> {
  const url = await postgres.createEmpty();
  const store = openStore(url, new CredentialCipher(ENCRYPTION_SECRET));
  await store.revision();
  await store.close();
  return url;
}

// The first test with PostgreSQL waits for its server to start.
setDefaultTimeout(60_000);
afterEach(closeOpened);

for (const maker of [sqlite, postgres]) {
  describe.skipIf(maker === postgres && !hasPostgres)(`the store with ${maker.database}`, () => {
    describeStoreRecords(maker);
    describeStoreLists(maker);
    describeStoreReferences(maker);
    describeStoreRevisions(maker);
    describeStoreHistory(maker);
    describeStoreNodes(maker);
    describeStoreSecrets(maker);
    describeStoreModel(maker);
    describeStoreUsage(maker);
    describeStoreTraffic(maker);
    describeStoreSpending(maker);
    describeStoreKilled(maker);
    describeStoreCanaries(maker);
    describeStoreBlocks(maker);
    describeStoreIdentities(maker);
    describeStoreAudit(maker);
  });
}
