// Shared by the contract tests of the Store: stores that are closed after the test, and inserted records.
import { GatehouseError } from "../../src/base/errors.ts";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import type { Kind, RecordOf } from "../../src/kinds/kind.ts";
import type { Store } from "../../src/store/store.ts";
import { waitFor } from "../support/waiting.ts";
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
  /** Returns the URL of a new, empty database. */
  readonly createEmpty: () => Promise<string>;
  /** Returns the URL of a new database with the current schema and without records. */
  readonly createMigrated: () => Promise<string>;
}

export const ALL = { limit: 1000, offset: 0 };
const opened: Store[] = [];

/** Opens a store that is closed when the test ends. */
export function openForTest(
  url: string,
  {
    secret = ENCRYPTION_SECRET,
    olderSecrets = [],
    keptRevisions = 10_000,
    keptAudit = 10_000,
    usesOwnTime = true,
  }: {
    secret?: string;
    olderSecrets?: readonly string[];
    keptRevisions?: number;
    keptAudit?: number;
    /** The clock of the test, not the one of the database server. */
    usesOwnTime?: boolean;
  } = {},
): Store {
  const cipher = new CredentialCipher(secret, ...olderSecrets);
  const store = openStore(url, cipher, keptRevisions, keptAudit, usesOwnTime);
  opened.push(store);
  return store;
}

/** Waits until an empty database is migrated: on a busy machine that takes longer than an operation of the store may. */
export function whenOpen(store: Store): Promise<string> {
  return waitFor(() =>
    store.version().catch((error: unknown) => {
      if (error instanceof GatehouseError && error.code === "store_unavailable") return null;
      throw error;
    }),
  );
}

export async function insert<K extends Kind>(
  store: Store,
  kind: K,
  record: RecordOf[K],
): Promise<RecordOf[K]> {
  await store.write((transaction) => transaction.insert(kind, record));
  return record;
}

/** Inserts a gateway with one record of every kind, each of which refers to the one before. */
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

/** Returns the GatehouseError that a promise rejects with. */
export async function rejectionOf(work: Promise<unknown>): Promise<GatehouseError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatehouseError)) throw new Error(`expected a GatehouseError, got ${String(error)}`);
  return error;
}

/** Closes the stores that the test has opened; for `afterEach`. */
export async function closeOpened(): Promise<void> {
  await Promise.all(opened.splice(0).map((store) => store.close()));
}
