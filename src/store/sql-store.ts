// The Store with SQL: one implementation for SQLite and PostgreSQL. Every operation has a deadline.
import { GatehouseError } from "../base/errors.ts";
import { recordWrite } from "./audit-revision.ts";
import type { AuditOrigin } from "./audit.ts";
import { addBlocks, listBlocks, readBlockChanges, readBlockSequence, removeBlocksByHand } from "./blocks.ts";
import { removeExpiredBlocks, type Block, type BlockChanges } from "./blocks.ts";
import type { BlockPage, RemovedBlocks } from "./blocks.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Database, Query } from "./database.ts";
import { finishUsage } from "./finish-usage.ts";
import { expiredWrite, guarded } from "./guarded.ts";
import { DEADLINE_MS, openAndCheck, VIEW_DEADLINE_MS } from "./open-and-check.ts";
import { getRevision, listRevisions, readRevision, readVersion } from "./revisions.ts";
import { readChangesBetween } from "./revision-range.ts";
import { SqlAudit, type AuditStore } from "./sql-audit.ts";
import { SqlGameDays, type GameDayStore } from "./sql-game-days.ts";
import { SqlIdentities, type IdentityStore } from "./sql-identities.ts";
import { SqlReader, SqlView } from "./sql-reader.ts";
import { SqlCanaries, type CanaryStore } from "./sql-canaries.ts";
import { SqlMcpTools, type McpToolStore } from "./sql-mcp-tools.ts";
import { SqlSpending, type SpendingStore } from "./sql-spending.ts";
import { SqlTraffic, type TrafficStore } from "./sql-traffic.ts";
import { SqlTransaction } from "./sql-transaction.ts";
import { isEmbedded, isReadOnly, unavailable } from "./store-error.ts";
import type { GatewayParts, Kind, RecordOf } from "../kinds/kind.ts";
import type { ConsistentView, ListQuery, Page, RevisionQuery, Store, StoredPrices } from "./store.ts";
import type { Transaction, WriteOptions, Written } from "./store.ts";
import { recordKeyUses, writeNothing } from "./small-writes.ts";
import { sumUsage } from "./usage-sums.ts";
import { addUsage, type UsageQuery, type UsageSum } from "./usage.ts";

/** Returns the store at this URL. Its database is opened, and created or migrated, on first use. `usesOwnTime`: see openDatabase. */
export function openStore(
  url: string,
  cipher: CredentialCipher,
  keptRevisions = 10_000,
  keptAudit = 100_000,
  usesOwnTime = false,
): Store {
  const kept = { revisions: keptRevisions, audit: keptAudit };
  return new SqlStore(() => openAndCheck(url, cipher, usesOwnTime), cipher, kept);
}

type Kept = Readonly<Record<"revisions" | "audit", number>>;
class SqlStore implements Store {
  readonly identities: IdentityStore;
  readonly audit: AuditStore;
  readonly traffic: TrafficStore;
  readonly spending: SpendingStore;
  readonly gameDays: GameDayStore;
  readonly canaries: CanaryStore;
  readonly mcpTools: McpToolStore;
  readonly #openDatabase: () => Promise<Database>;
  readonly #cipher: CredentialCipher;
  readonly #kept: Kept;
  #opening: Promise<Database> | null = null;
  #announcementListener: () => void = () => undefined;
  /** Writes of one process run one after the other, so that their revisions arrive in order. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(open: () => Promise<Database>, cipher: CredentialCipher, kept: Kept) {
    this.#openDatabase = open;
    this.#cipher = cipher;
    this.#kept = kept;
    const use = <T>(work: (database: Database) => Promise<T>, isLong = false) =>
      guarded(isLong ? VIEW_DEADLINE_MS : DEADLINE_MS, async () => work(await this.#open()));
    this.identities = new SqlIdentities(use, kept.audit);
    this.audit = new SqlAudit(use, kept.audit);
    this.traffic = new SqlTraffic(use);
    this.spending = new SqlSpending(use);
    this.gameDays = new SqlGameDays(use);
    this.canaries = new SqlCanaries(use);
    this.mcpTools = new SqlMcpTools(use);
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

  version(): Promise<string> {
    return this.#read((reader) => reader.version());
  }

  revision(): Promise<number> {
    return this.#poll(readRevision);
  }

  blockSequence(): Promise<number> {
    return this.#poll(readBlockSequence);
  }

  /** Reads a number that is read all the time and never waits for a lock. */
  #poll(read: (query: Query) => Promise<number>): Promise<number> {
    const opening = this.#opening;
    let database: Database | null = null;
    let brokenBefore: number | null = null;
    // If the query expires although no connection is broken, a firewall or a failover has silently cut the connections off.
    const onExpired = () => {
      const isSilent = brokenBefore !== null && database?.brokenConnections === brokenBefore;
      if (isSilent && opening === this.#opening) this.#reopen();
    };
    const readNow = async () => {
      database = await this.#open();
      brokenBefore = database.brokenConnections;
      return read(database.query);
    };
    return guarded(DEADLINE_MS, readNow, onExpired);
  }

  listRevisions(query: RevisionQuery) {
    return guarded(DEADLINE_MS, async () =>
      listRevisions((await this.#open()).query, this.#kept.revisions, query),
    );
  }

  getRevision(revision: number) {
    return guarded(DEADLINE_MS, async () =>
      getRevision((await this.#open()).query, this.#kept.revisions, revision, this.#cipher),
    );
  }

  changesBetween(from: number, to: number | null) {
    return guarded(VIEW_DEADLINE_MS, async () =>
      (await this.#open()).readTransaction((query) =>
        readChangesBetween(query, this.#kept.revisions, this.#cipher, from, to),
      ),
    );
  }

  view<T>(work: (view: ConsistentView) => Promise<T>): Promise<T> {
    return guarded(VIEW_DEADLINE_MS, async () => {
      const db = await this.#open();
      const open = async (query: Query) => new SqlView(query, db, this.#cipher, await readRevision(query));
      return db.readTransaction(async (query) => work(await open(query)));
    });
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, options: WriteOptions = {}): Promise<Written<T>> {
    // The deadline includes the time in the queue. Otherwise the deadlines of all queued writes would add up if the
    // database does not respond.
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
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) throw expiredWrite();
    let isExpired = false;
    let isCommitting = false;
    const rejectIfExpired = () => {
      if (isExpired) throw expiredWrite();
    };
    const writing = guarded(remainingMs, async () => {
      const database = await this.#open();
      return database.writeTransaction(async (query) => {
        // A statement that completes after the deadline must not lead to a commit: the caller has got an error by then.
        const timely: Query = async (text, parameters) => {
          rejectIfExpired();
          return query(text, parameters);
        };
        const { revisions } = this.#kept;
        const transaction = new SqlTransaction(timely, database, this.#cipher, revisions, options.newId);
        const value = await work(transaction);
        const { changes, recorder } = transaction;
        if (changes.length === 0) return { value, ...(await readVersion(timely)), changes, audit: null };
        const recorded = await recordWrite(timely, recorder, options, this.#kept, this.#cipher);
        await database.announce(timely);
        rejectIfExpired();
        isCommitting = true;
        return { value, ...recorded, changes };
      });
    });
    return writing
      .catch((error: unknown) => {
        if (isReadOnly(error)) this.#reopen();
        if (!isCommitting || !(error instanceof GatehouseError) || isEmbedded(error)) throw error;
        throw unavailable(
          "The database did not confirm the commit. It is unknown whether the change was saved.",
          error,
        );
      })
      .finally(() => (isExpired = true));
  }

  recordKeyUses(uses: ReadonlyMap<string, string>): Promise<void> {
    return this.#writeApart((query) => recordKeyUses(query, uses));
  }

  addBlocks(blocks: readonly Block[], maxPerType: number, now: string): Promise<readonly Block[]> {
    return this.#writeBlocks((query) => addBlocks(query, blocks, maxPerType, now));
  }

  removeBlocks(gatewayId: string, id: string | null, audit?: AuditOrigin): Promise<RemovedBlocks> {
    return this.#writeBlocks((query) => removeBlocksByHand(query, gatewayId, id, audit, this.#kept.audit));
  }

  removeExpiredBlocks(now: string): Promise<void> {
    return this.#writeBlocks((query) => removeExpiredBlocks(query, now));
  }

  listBlocks(gatewayId: string, page: { limit: number; offset: number }): Promise<BlockPage> {
    return guarded(DEADLINE_MS, async () => listBlocks((await this.#open()).query, gatewayId, page));
  }

  blockChangesAfter(sequence: number): Promise<BlockChanges> {
    return guarded(VIEW_DEADLINE_MS, async () =>
      (await this.#open()).readTransaction((query) => readBlockChanges(query, sequence)),
    );
  }

  #writeBlocks<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#writeApart(async (query, database) => {
      const result = await work(query);
      await database.announce(query);
      return result;
    });
  }

  onAnnouncement(listener: () => void): void {
    this.#announcementListener = listener;
  }

  async checkWritable(): Promise<void> {
    await this.#writeApart(writeNothing);
  }

  addUsage: Store["addUsage"] = (batch) => this.#writeApart(addUsage(batch));
  finishUsage: Store["finishUsage"] = (...given) => this.#writeApart(finishUsage(...given));

  /** Writes in a transaction without a revision. */
  #writeApart<T>(work: (query: Query, database: Database) => Promise<T>): Promise<T> {
    const writing = guarded(DEADLINE_MS, async () => {
      const database = await this.#open();
      return database.writeTransaction((query) => work(query, database));
    });
    return writing.catch((error: unknown) => {
      if (isReadOnly(error)) this.#reopen();
      throw error;
    });
  }

  sumUsage(query: UsageQuery): Promise<UsageSum[]> {
    return guarded(DEADLINE_MS, async () => sumUsage(await this.#open(), query));
  }

  async close(): Promise<void> {
    await this.#lastWrite;
    const database = await this.#opening?.catch(() => null);
    await database?.close();
  }

  /**
   * Closes the database; the next use opens it again. Needed for a SQLite file that was not writable, because SQLite
   * keeps the connection read-only after the file has become writable, and for connections that were silently cut off.
   */
  #reopen(): void {
    const stale = this.#opening;
    this.#opening = null;
    stale?.then((database) => database.close()).catch(() => undefined);
  }

  #read<T>(work: (reader: SqlReader) => Promise<T>): Promise<T> {
    return guarded(DEADLINE_MS, async () => work(new SqlReader(await this.#open(), this.#cipher)));
  }

  /** Concurrent calls share one attempt. After a failed attempt, the next use tries again. */
  #open(): Promise<Database> {
    this.#opening ??= this.#openNow().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #openNow(): Promise<Database> {
    const database = await this.#openDatabase();
    // A connection pooler may not support announcements. Polling is sufficient then.
    database.listen(() => this.#announcementListener()).catch(() => undefined);
    return database;
  }
}
