// One interface for SQLite and PostgreSQL: how to open, to write in a transaction, to read consistently, and to notify
// other nodes.
import { SQL } from "bun";
import { mkdirSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname } from "node:path";
import { withTimeout } from "../base/with-timeout.ts";
import { isBusy, unavailable } from "./store-error.ts";

export type Row = Record<string, Parameter>;
export type Parameter = string | number | null;
export type Query = (text: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

export interface Database {
  /** The SQL type of ids: text that is ordered by its bytes. */
  readonly idType: string;
  /** Returns an SQL expression for a text field of a JSON object in a column of type TEXT. */
  readonly jsonField: (column: string, field: string) => string;
  /** How many connections have broken (the driver replaces them); null for a database without connections. */
  readonly brokenConnections: number | null;
  query: Query;
  /**
   * Resolves to Unix milliseconds of the clock by which all processes judge rows of each other: the one of the server. Processes that share
   * an embedded database share the clock of their machine, which is `ownTime`.
   */
  time(query: Query, ownTime: number): Promise<number>;
  /** One writer at a time over all nodes: a lock is held until the end of the transaction. */
  writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * Removes values that were replaced or deleted from the files of the database. Does nothing for PostgreSQL, where this needs
   * exclusive locks (VACUUM FULL) and the write-ahead log keeps the values anyway.
   */
  eraseDeleted(): Promise<void>;
  /** Notifies the other nodes of a new revision or a change of blocks when this transaction commits. */
  announce(query: Query): Promise<void>;
  /** Calls `listener` on announcements of other nodes. Best effort: nodes poll as well. */
  listen(listener: () => void): Promise<void>;
  close(): Promise<void>;
}

const BUSY_DEADLINE_MS = 2000;
/** How long SQLite itself waits for another writer, and blocks the event loop. */
const WRITER_BUSY_MS = 20;
const CONNECT_SECONDS = 2;
/** An arbitrary constant. All nodes that share a database must use the same lock. */
const WRITE_LOCK = 4_283_715_911;
/** Ends the transaction, and so the lock, of a writer that has disappeared without the server noticing. */
const IDLE_IN_TRANSACTION_MS = 5000;
const CHANNEL = "gatehouse_revision";
/** Per connection. With SQLite's default of 2,000 KiB the caches slowly fill with old revisions. */
const PAGE_CACHE_KIB = 400;

/** `usesOwnTime`: the clock of the caller instead of the one of the server, so that tests can control it. */
export function openDatabase(url: string, usesOwnTime = false): Database {
  return url.startsWith("sqlite:")
    ? new SqliteDatabase(url.slice("sqlite://".length))
    : new PostgresDatabase(url, usesOwnTime);
}

function queryOn(sql: Pick<SQL, "unsafe">): Query {
  return async (text, parameters = []) => await sql.unsafe(text, [...parameters]);
}

/**
 * Reads use another connection than writes, so they never see an uncommitted write. Other processes lock the file for
 * milliseconds at a time. Writers wait for it asynchronously: waiting inside SQLite would block the event loop.
 */
class SqliteDatabase implements Database {
  readonly idType = "TEXT";
  readonly jsonField: Database["jsonField"] = (column, field) => `json_extract(${column}, '$.${field}')`;
  readonly brokenConnections = null;
  readonly query: Query;
  readonly #writer: SQL;
  readonly #reader: SQL;
  /** For views only: on their connection, a single read would see the revision of the view. */
  readonly #viewer: SQL;
  readonly #opened: Promise<void>;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#writer = new SQL({ adapter: "sqlite", filename: file });
    this.#reader = new SQL({ adapter: "sqlite", filename: file });
    this.#viewer = new SQL({ adapter: "sqlite", filename: file });
    this.#opened = this.#configure(file);
    // The first query reports the failure. Until then it must not count as an unhandled rejection.
    this.#opened.catch(() => undefined);
    const query = queryOn(this.#reader);
    this.query = async (text, parameters) => {
      await this.#opened;
      return query(text, parameters);
    };
  }

  async #configure(file: string): Promise<void> {
    const write = queryOn(this.#writer);
    await write("PRAGMA busy_timeout = 2000"); // switching to WAL cannot be retried like a transaction
    await write("PRAGMA journal_mode = WAL");
    await write("PRAGMA synchronous = FULL");
    await write("PRAGMA foreign_keys = ON");
    // The write-ahead log inherits this mode. A file of another owner keeps its mode.
    await chmod(file, 0o600).catch(() => undefined);
    await write(`PRAGMA busy_timeout = ${WRITER_BUSY_MS}`);
    await queryOn(this.#reader)("PRAGMA busy_timeout = 2000");
    await queryOn(this.#viewer)("PRAGMA busy_timeout = 2000");
    // The snapshot holds all records, so few pages are read again, and those are in the page cache of the system.
    for (const connection of [this.#writer, this.#reader, this.#viewer])
      await queryOn(connection)(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`);
  }

  time(_query: Query, ownTime: number): Promise<number> {
    return Promise.resolve(ownTime);
  }

  async writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#opened;
    const deadline = performance.now() + BUSY_DEADLINE_MS;
    for (;;) {
      let hasBegun = false;
      try {
        return await this.#writer.begin("IMMEDIATE", (transaction) => {
          hasBegun = true;
          return work(queryOn(transaction));
        });
      } catch (error) {
        if (hasBegun || !isBusy(error) || performance.now() > deadline) throw error;
        await Bun.sleep(5 + Math.random() * 20);
      }
    }
  }

  async readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#opened;
    return this.#viewer.begin("DEFERRED", (transaction) => work(queryOn(transaction)));
  }

  async eraseDeleted(): Promise<void> {
    await this.#opened;
    const write = queryOn(this.#writer);
    await write("PRAGMA busy_timeout = 2000");
    try {
      await write("VACUUM");
      // Otherwise the old pages stay in the file until the write-ahead log is full.
      const [checkpoint] = await write("PRAGMA wal_checkpoint(TRUNCATE)");
      if (checkpoint?.["busy"] !== 0) throw unavailable("Another process was reading the database.");
    } finally {
      await write(`PRAGMA busy_timeout = ${WRITER_BUSY_MS}`);
    }
  }

  /** SQLite has no notifications between processes. */
  async announce(): Promise<void> {}
  async listen(): Promise<void> {}

  async close(): Promise<void> {
    await this.#viewer.close();
    await this.#reader.close();
    await this.#writer.close();
  }
}

class PostgresDatabase implements Database {
  readonly idType = 'TEXT COLLATE "C"';
  readonly jsonField: Database["jsonField"] = (column, field) => `(${column}::json ->> '${field}')`;
  brokenConnections = 0;
  readonly query: Query;
  readonly #sql: SQL;
  readonly #usesOwnTime: boolean;

  constructor(url: string, usesOwnTime: boolean) {
    this.#usesOwnTime = usesOwnTime;
    // Passed separately, because the environment variable PGDATABASE would override the name in the URL.
    const database = decodeURIComponent(new URL(url).pathname.slice(1));
    this.#sql = new SQL(url, {
      max: 8,
      connectionTimeout: CONNECT_SECONDS,
      idleTimeout: 300,
      onclose: () => {
        this.brokenConnections++;
      },
      ...(database !== "" && { database }),
    });
    this.query = queryOn(this.#sql);
  }

  async time(query: Query, ownTime: number): Promise<number> {
    if (this.#usesOwnTime) return ownTime;
    const [row] = await query("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS ms");
    return Number(row?.["ms"]);
  }

  async writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#sql.begin(async (transaction) => {
      const query = queryOn(transaction);
      await query(
        `SELECT set_config('idle_in_transaction_session_timeout', '${IDLE_IN_TRANSACTION_MS}', true), pg_advisory_xact_lock(${WRITE_LOCK})`,
      );
      return work(query);
    });
  }

  async readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#sql.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", (transaction) =>
      work(queryOn(transaction)),
    );
  }

  async eraseDeleted(): Promise<void> {}

  async announce(query: Query): Promise<void> {
    await query(`NOTIFY ${CHANNEL}`);
  }

  /** The subscription survives lost connections. After reconnecting, the listener is called for what was missed. */
  async listen(listener: () => void): Promise<void> {
    await this.#sql.listen(CHANNEL, listener, listener);
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: 1 });
  }
}

/** Rejects with store_unavailable after the deadline: a database that accepts a query may still never respond. */
export function withinDeadline<T>(
  milliseconds: number,
  work: Promise<T>,
  onExpired?: () => void,
): Promise<T> {
  return withTimeout(milliseconds, work, () => {
    onExpired?.();
    return unavailable("The database did not respond in time.");
  });
}
