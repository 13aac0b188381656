// Runs the contract tests of the Store with SQLite and PostgreSQL.
import { afterEach, describe, setDefaultTimeout } from "bun:test";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { closeOpened, type StoreMaker } from "./store-fixture.ts";
import { describeStoreBlocks } from "./store-blocks.contract.ts";
import { describeStoreHistory } from "./store-history.contract.ts";
import { describeStoreModel } from "./store-model.contract.ts";
import { describeStoreNodes } from "./store-nodes.contract.ts";
import { temporarySqliteUrl } from "./store-records.ts";
import { describeStoreReferences } from "./store-references.contract.ts";
import { describeStoreRevisions } from "./store-revisions.contract.ts";
import { describeStoreSecrets } from "./store-secrets.contract.ts";
import { describeStoreUsage } from "./store-usage.contract.ts";
import { describeStoreRecords } from "./store.contract.ts";

const sqlite: StoreMaker = { database: "SQLite", createEmpty: () => Promise.resolve(temporarySqliteUrl()) };
const postgres: StoreMaker = {
  database: "PostgreSQL",
  createEmpty: async () => (await sharedPostgres()).createDatabase(),
};

// The first test with PostgreSQL waits for its server to start.
setDefaultTimeout(60_000);
afterEach(closeOpened);

for (const maker of [sqlite, postgres]) {
  describe.skipIf(maker === postgres && !hasPostgres)(`the store with ${maker.database}`, () => {
    describeStoreRecords(maker);
    describeStoreReferences(maker);
    describeStoreRevisions(maker);
    describeStoreHistory(maker);
    describeStoreNodes(maker);
    describeStoreSecrets(maker);
    describeStoreModel(maker);
    describeStoreUsage(maker);
    describeStoreBlocks(maker);
  });
}
