// Runs the contract tests of the Store with SQLite and PostgreSQL.
import { afterEach, describe, setDefaultTimeout } from "bun:test";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { closeOpened, type StoreMaker } from "./store-fixture.ts";
import { describeStoreAudit } from "./store-audit.contract.ts";
import { describeStoreBlocks } from "./store-blocks.contract.ts";
import { describeStoreBudgets } from "./store-budgets.contract.ts";
import { describeStoreCanaries } from "./store-canaries.contract.ts";
import { describeStoreHistory } from "./store-history.contract.ts";
import { describeStoreIdentities } from "./store-identities.contract.ts";
import { describeStoreMcpTools } from "./store-mcp-tools.contract.ts";
import { describeStoreModel } from "./store-model.contract.ts";
import { describeStoreNodes } from "./store-nodes.contract.ts";
import { temporarySqliteUrl } from "./store-records.ts";
import { describeStoreLists } from "./store-lists.contract.ts";
import { describeStoreReferences } from "./store-references.contract.ts";
import { describeStoreRevisions } from "./store-revisions.contract.ts";
import { describeStoreSecrets } from "./store-secrets.contract.ts";
import { describeStoreTraffic } from "./store-traffic.contract.ts";
import { describeStoreKilled } from "./store-killed.contract.ts";
import { describeStoreKilledUsage } from "./store-killed-usage.contract.ts";
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
  createMigrated: async () => (await sharedPostgres()).createMigrated(),
};

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
    describeStoreMcpTools(maker);
    describeStoreModel(maker);
    describeStoreUsage(maker);
    describeStoreTraffic(maker);
    describeStoreSpending(maker);
    describeStoreKilled(maker);
    describeStoreKilledUsage(maker);
    describeStoreBudgets(maker);
    describeStoreCanaries(maker);
    describeStoreBlocks(maker);
    describeStoreIdentities(maker);
    describeStoreAudit(maker);
  });
}
