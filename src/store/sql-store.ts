// The Store over SQL: one implementation for SQLite and PostgreSQL.
import { GatehouseError } from "../base/errors.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import { openDatabase, withinDeadline, type Database, type Query } from "./database.ts";
import { migrate } from "./migrate.ts";
import { getRevision, listRevisions, readRevision, recordRevision } from "./revisions.ts";
import { SqlReader, SqlView } from "./sql-reader.ts";
import { SqlTransaction } from "./sql-transaction.ts";
import { storeError, unavailable } from "./store-error.ts";
import { StoreRejected, type ConsistentView, type GatewayParts, type Kind, type ListQuery } from "./store.ts";
import type { Page, RecordOf, RevisionQuery, Store, StoredPrices } from "./store.ts";
import type { Transaction, WriteOptions, Written } from "./store.ts";
import { addUsage, sumUsage, type UsageBatch, type UsageQuery, type UsageSum } from "./usage.ts";

const DEADLINE_MS = 2000;
/** A view may read every record of a large configuration. */
const VIEW_DEADLINE_MS = 30_000;
const KEY_CHECK = "gatehouse";

/** The store at this address. It is opened, and where needed created or migrated, when it is first used. */
export function openStore(url: string, cipher: CredentialCipher, keptRevisions = 10_000): Store {
  return new SqlStore(url, cipher, keptRevisions);
}

/** The first node leaves a sealed word; whoever cannot open it has another key and could read no credential. */
async function checkEncryptionKey(database: Database, cipher: CredentialCipher): Promise<void> {
  const read = async (query: Query) =>
    (await query("SELECT key_check FROM configuration"))[0]?.["key_check"] ?? null;
  let sealed = await read(database.query);
  sealed ??= await database.writeTransaction(async (query) => {
    const meanwhile = await read(query);
    if (meanwhile !== null) return meanwhile;
    const fresh = cipher.seal(KEY_CHECK, "configuration");
    await query("UPDATE configuration SET key_check = $1", [fresh]);
    return fresh;
  });
  try {
    cipher.open(String(sealed), "configuration");
  } catch {
    throw new StoreRejected(
      "The credentials in this database were encrypted with another key: set ENCRYPTION_KEY to it, " +
        "or, if it was never set, to the SERVER_SECRET_KEY of that time.",
    );
  }
}

class SqlStore implements Store {
  readonly #url: string;
  readonly #cipher: CredentialCipher;
  readonly #keptRevisions: number;
  #opening: Promise<Database> | null = null;
  #hear: () => void = () => undefined;
  /** The write under way: those of one process go one after the other, and so their revisions come in order. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(url: string, cipher: CredentialCipher, keptRevisions: number) {
    this.#url = url;
    this.#cipher = cipher;
    this.#keptRevisions = keptRevisions;
  }

  get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null> {
    return this.#read((reader) => reader.get(kind, id));
  }

  list<K extends Kind>(kind: K, query: ListQuery): Promise<Page<RecordOf[K]>> {
    return this.#read((reader) => reader.list(kind, query));
  }

  gatewayParts(gatewayId: string): Promise<GatewayParts | null> {
    return this.#read((reader) => reader.gatewayParts(gatewayId));
  }

  prices(): Promise<StoredPrices | null> {
    return this.#read((reader) => reader.prices());
  }

  revision(): Promise<number> {
    const opening = this.#opening;
    let asked: Database | null = null;
    let broken: number | null = null;
    // Asked all the time, and behind no lock: when this gets no answer on connections that stand, they are cut off.
    const onExpired = () => {
      const isSilent = broken !== null && asked?.brokenConnections === broken;
      if (isSilent && opening === this.#opening) this.#reopen();
    };
    const read = async () => {
      asked = await this.#open();
      broken = asked.brokenConnections;
      return readRevision(asked.query);
    };
    return guarded(DEADLINE_MS, read, onExpired);
  }

  listRevisions(query: RevisionQuery) {
    return guarded(DEADLINE_MS, async () =>
      listRevisions((await this.#open()).query, this.#keptRevisions, query),
    );
  }

  getRevision(revision: number) {
    return guarded(DEADLINE_MS, async () =>
      getRevision((await this.#open()).query, this.#keptRevisions, revision, this.#cipher),
    );
  }

  view<T>(work: (view: ConsistentView) => Promise<T>): Promise<T> {
    return guarded(VIEW_DEADLINE_MS, async () =>
      (await this.#open()).readTransaction(async (query) =>
        work(new SqlView(query, this.#cipher, await readRevision(query))),
      ),
    );
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, options: WriteOptions = {}): Promise<Written<T>> {
    // The wait for one's turn counts: behind a database that says nothing a queue must not add up its deadlines.
    const deadline = performance.now() + (options.deadlineMs ?? DEADLINE_MS);
    const writing = this.#lastWrite.then(() => this.#writeNow(work, options, deadline));
    this.#lastWrite = writing.catch(() => undefined);
    return writing;
  }

  async #writeNow<T>(
    work: (transaction: Transaction) => Promise<T>,
    options: WriteOptions,
    deadline: number,
  ): Promise<Written<T>> {
    const left = deadline - performance.now();
    if (left <= 0) throw unavailable("The database did not answer in time; nothing was changed.");
    let expired = false;
    let committing = false;
    const refuseLate = () => {
      if (expired) throw unavailable("The database did not answer in time; nothing was changed.");
    };
    const writing = guarded(left, async () => {
      const database = await this.#open();
      return database.writeTransaction(async (query) => {
        // A statement that comes back after the deadline must not lead to a commit nobody waits for.
        const timelyQuery: Query = async (text, parameters) => {
          refuseLate();
          return query(text, parameters);
        };
        const transaction = new SqlTransaction(timelyQuery, this.#cipher, this.#keptRevisions);
        const value = await work(transaction);
        const { changes, history } = transaction;
        if (changes.length === 0) return { value, revision: await readRevision(timelyQuery), changes };
        const revision = await recordRevision(timelyQuery, history, options, this.#keptRevisions);
        await database.announce(timelyQuery);
        refuseLate();
        committing = true;
        return { value, revision, changes };
      });
    });
    return writing
      .catch((error: unknown) => {
        if (isReadOnly(error)) this.#reopen();
        if (!committing || !(error instanceof GatehouseError) || isLocal(error)) throw error;
        throw unavailable(
          "The database went away during the commit; whether it was made is not known.",
          error,
        );
      })
      .finally(() => (expired = true));
  }

  recordKeyUses(uses: ReadonlyMap<string, string>): Promise<void> {
    return guarded(DEADLINE_MS, async () => {
      const database = await this.#open();
      await database.writeTransaction(async (query) => {
        for (const [id, usedAt] of uses) {
          const isLater = "(last_used_at IS NULL OR last_used_at < $1)";
          await query(`UPDATE api_keys SET last_used_at = $1 WHERE id = $2 AND ${isLater}`, [usedAt, id]);
        }
      });
    });
  }

  onAnnouncement(hear: () => void): void {
    this.#hear = hear;
  }

  addUsage(batch: UsageBatch): Promise<void> {
    return guarded(DEADLINE_MS, async () => {
      const database = await this.#open();
      await database.writeTransaction((query) => addUsage(query, batch));
    });
  }

  sumUsage(asked: UsageQuery): Promise<UsageSum[]> {
    return guarded(DEADLINE_MS, async () => sumUsage((await this.#open()).query, asked));
  }

  async close(): Promise<void> {
    await this.#lastWrite;
    const database = await this.#opening?.catch(() => null);
    await database?.close();
  }

  /**
   * SQLite opens a file it may not write to as read-only, and keeps it so: only opening it anew finds that it may. And
   * connections that a firewall or a failover has cut off in silence would be waited for in vain.
   */
  #reopen(): void {
    const stale = this.#opening;
    this.#opening = null;
    stale?.then((database) => database.close()).catch(() => undefined);
  }

  #read<T>(work: (reader: SqlReader) => Promise<T>): Promise<T> {
    return guarded(DEADLINE_MS, async () => work(new SqlReader((await this.#open()).query, this.#cipher)));
  }

  /** One attempt at a time, shared by all who wait for it; a failed one is forgotten, so that the next use tries again. */
  #open(): Promise<Database> {
    this.#opening ??= this.#openNow().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #openNow(): Promise<Database> {
    const database = await openAndCheck(this.#url, this.#cipher);
    // A pooler between may not pass announcements on: then polling has to do.
    database.listen(() => this.#hear()).catch(() => undefined);
    return database;
  }
}

async function openAndCheck(url: string, cipher: CredentialCipher): Promise<Database> {
  const database = openDatabase(url);
  try {
    await withinDeadline(VIEW_DEADLINE_MS, migrate(database));
    await withinDeadline(DEADLINE_MS, checkEncryptionKey(database, cipher));
    return database;
  } catch (error) {
    await database.close().catch(() => undefined);
    throw error;
  }
}

function causeCode(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return String(cause?.code);
}

const isReadOnly = (error: unknown) => causeCode(error).startsWith("SQLITE_READONLY");
const isLocal = (error: unknown) => causeCode(error).startsWith("SQLITE_");

async function guarded<T>(deadline: number, work: () => Promise<T>, onExpired?: () => void): Promise<T> {
  try {
    return await withinDeadline(deadline, work(), onExpired);
  } catch (error) {
    throw storeError(error);
  }
}
