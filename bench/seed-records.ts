// Writes many records straight into the store of a gateway that is not running: the Admin API would compile the
// configuration anew for each of them.
import { join } from "node:path";
import { apiKeyPrefix, hashApiKey, newApiKey, newId } from "../src/base/ids.ts";
import { apiKeySchema } from "../src/model/api-key.ts";
import { ruleSchema } from "../src/model/rule.ts";
import { CredentialCipher } from "../src/store/credential-cipher.ts";
import { openStore } from "../src/store/sql-store.ts";
import type { Kind, RecordOf } from "../src/store/store.ts";
import { TEST_SECRET } from "../test/support/gatehouse-process.ts";
import type { Route } from "./gatehouse.ts";

/** So many that a write stays well within the store's deadline on a busy machine. */
const BATCH = 500;

/** Rules on paths of their own, beside the one that is there. Returns their paths. */
export async function seedRules(
  dataDir: string,
  { gateway, service }: Route,
  count: number,
): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, index) => `/v1/teams/team-${index}/chat/completions`);
  await insertAll(dataDir, "rules", paths, (path) => ({
    ...ruleSchema.parse({ service_id: service, path, methods: ["POST"] }),
    ...childOf(gateway),
  }));
  return paths;
}

/** Returns the keys themselves. */
export async function seedApiKeys(dataDir: string, { gateway }: Route, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, newApiKey);
  await insertAll(dataDir, "api_keys", keys, (key) => ({
    ...apiKeySchema.parse({ name: "bench", subject: gateway }),
    ...childOf(gateway),
    hash: hashApiKey(key),
    prefix: apiKeyPrefix(key),
    active: true,
    last_used_at: null,
  }));
  return keys;
}

function childOf(gateway: string): {
  id: string;
  gateway_id: string;
  created_at: string;
  updated_at: string;
} {
  const now = new Date().toISOString();
  return { id: newId(), gateway_id: gateway, created_at: now, updated_at: now };
}

async function insertAll<K extends Kind, T>(
  dataDir: string,
  kind: K,
  items: readonly T[],
  recordOf: (item: T) => RecordOf[K],
): Promise<void> {
  const store = openStore(`sqlite://${join(dataDir, "gatehouse.db")}`, new CredentialCipher(TEST_SECRET));
  for (let from = 0; from < items.length; from += BATCH) {
    await store.write(async (transaction) => {
      for (const item of items.slice(from, from + BATCH)) await transaction.insert(kind, recordOf(item));
    });
  }
  await store.close();
}
