// Writes many records directly into the store of a stopped gateway. Through the Admin API, every record would compile
// its gateway again.
import { join } from "node:path";
import { apiKeyPrefix, hashApiKey, newApiKey, newId } from "../src/base/ids.ts";
import { apiKeySchema } from "../src/model/api-key.ts";
import { gatewaySchema } from "../src/model/gateway.ts";
import { ruleSchema } from "../src/model/rule.ts";
import { serviceSchema } from "../src/model/service.ts";
import { upstreamSchema } from "../src/model/upstream.ts";
import { CredentialCipher } from "../src/store/credential-cipher.ts";
import { openStore } from "../src/store/sql-store.ts";
import type { Store, Transaction } from "../src/store/store.ts";
import { TEST_SECRET } from "../test/support/gatehouse-process.ts";
import { CHAT_PATH } from "./chat-payload.ts";
import { targetAt, type Route } from "./gatehouse.ts";

/** Records per transaction: few enough that it commits within the store's deadline on a busy machine. */
const BATCH = 500;

/** Opens the store of a data directory as the benchmarks' gateways do. */
export function openSeededStore(dataDir: string): Store {
  return openStore(`sqlite://${join(dataDir, "gatehouse.db")}`, new CredentialCipher(TEST_SECRET));
}

/** Adds gateways with one rule each, all on the same path, and returns what they consist of. */
export async function seedGateways(dataDir: string, count: number): Promise<Route[]> {
  const routes = Array.from({ length: count }, () => ({ gateway: newId(), service: newId(), rule: newId() }));
  await insertAll(dataDir, routes, async (transaction, { gateway, service, rule }) => {
    const name = `gateway ${gateway}`;
    const upstream = childOf(gateway);
    const targets = [targetAt("http://127.0.0.1:9")];
    const stored = upstreamSchema.parse({ name: "models", targets });
    await transaction.insert("gateways", {
      ...gatewaySchema.parse({ name }),
      ...times(),
      id: gateway,
      required_plugins: [],
    });
    await transaction.insert("upstreams", {
      ...stored,
      ...upstream,
      targets: stored.targets.map((target) => ({ ...target, id: newId() })),
    });
    await transaction.insert("services", {
      ...serviceSchema.parse({ name: "chat", upstream_id: upstream.id }),
      ...childOf(gateway, service),
    });
    await transaction.insert("rules", {
      ...ruleSchema.parse({ service_id: service, path: CHAT_PATH, methods: ["POST"] }),
      ...childOf(gateway, rule),
    });
  });
  return routes;
}

/** Adds rules to the gateway of `route`, each on its own path, and returns their paths. */
export async function seedRules(
  dataDir: string,
  { gateway, service }: Route,
  count: number,
): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, index) => `/v1/teams/team-${index}/chat/completions`);
  await insertAll(dataDir, paths, (transaction, path) =>
    transaction.insert("rules", {
      ...ruleSchema.parse({ service_id: service, path, methods: ["POST"] }),
      ...childOf(gateway),
    }),
  );
  return paths;
}

/** Adds API keys to the gateway of `route` and returns the keys in plain text. */
export async function seedApiKeys(
  dataDir: string,
  { gateway }: Pick<Route, "gateway">,
  count: number,
): Promise<string[]> {
  const keys = Array.from({ length: count }, newApiKey);
  await insertAll(dataDir, keys, (transaction, key) =>
    transaction.insert("api_keys", {
      ...apiKeySchema.parse({ name: "bench", subject: gateway }),
      ...childOf(gateway),
      hash: hashApiKey(key),
      prefix: apiKeyPrefix(key),
      active: true,
      last_used_at: null,
    }),
  );
  return keys;
}

function times(): { created_at: string; updated_at: string } {
  const now = new Date().toISOString();
  return { created_at: now, updated_at: now };
}

function childOf(gateway_id: string, id = newId()) {
  return { id, gateway_id, ...times() };
}

async function insertAll<T>(
  dataDir: string,
  items: readonly T[],
  insert: (transaction: Transaction, item: T) => Promise<void>,
): Promise<void> {
  const store = openSeededStore(dataDir);
  for (let from = 0; from < items.length; from += BATCH) {
    await store.write(async (transaction) => {
      for (const item of items.slice(from, from + BATCH)) await insert(transaction, item);
    });
  }
  await store.close();
}
