// What the parts of the Store's contract share: stores that close themselves, and records put in place.
import { GatehouseError } from "../../src/base/errors.ts";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import type { Kind, RecordOf, Store } from "../../src/store/store.ts";
import {
  apiKeyRecord,
  ENCRYPTION_SECRET,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "./store-records.ts";

export interface StoreMaker {
  readonly database: string;
  /** Address of a new database with nothing in it. */
  readonly createEmpty: () => Promise<string>;
}

export const ALL = { limit: 1000, offset: 0 };
const opened: Store[] = [];

/** Opens a store that is closed when the test ends. */
export function openForTest(
  url: string,
  { secret = ENCRYPTION_SECRET, keptRevisions = 10_000 }: { secret?: string; keptRevisions?: number } = {},
): Store {
  const store = openStore(url, new CredentialCipher(secret), keptRevisions);
  opened.push(store);
  return store;
}

export async function insert<K extends Kind>(
  store: Store,
  kind: K,
  record: RecordOf[K],
): Promise<RecordOf[K]> {
  await store.write((transaction) => transaction.insert(kind, record));
  return record;
}

/** A gateway with one of everything, each part used by the next. */
export async function insertWhole(store: Store) {
  const gateway = gatewayRecord();
  const upstream = upstreamRecord(gateway.id);
  const service = serviceRecord(gateway.id, upstream.id);
  const rule = ruleRecord(gateway.id, service.id, { name: "the rule" });
  const apiKey = apiKeyRecord(gateway.id, { policies: [rule.id] });
  await store.write(async (transaction) => {
    await transaction.insert("gateways", gateway);
    await transaction.insert("upstreams", upstream);
    await transaction.insert("services", service);
    await transaction.insert("rules", rule);
    await transaction.insert("api_keys", apiKey);
  });
  return { gateway, upstream, service, rule, apiKey };
}

export async function refusal(work: Promise<unknown>): Promise<GatehouseError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatehouseError)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error;
}

/** For `afterEach`: closes what the test has opened. */
export async function closeOpened(): Promise<void> {
  await Promise.all(opened.splice(0).map((store) => store.close()));
}
