// The two databases behind one small interface: how to open, to write in a transaction, and to read consistently.
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
  /** Text type whose order is that of its bytes, as ids need it. */
  readonly idType: string;
  /** How many connections have broken, which are replaced by themselves; null where there are none to break. */
  readonly brokenConnections: number | null;
  query: Query;
  /** One writer at a time; `lock` is held until the end of the transaction. */
  writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** Tells the other nodes, at the commit of this transaction, that there is a new revision. */
  announce(query: Query): Promise<void>;
  /** Calls `hear` on what other nodes announce, as far as the database can tell; polling is the floor. */
  listen(hear: () => void): Promise<void>;
  close(): Promise<void>;
}

const BUSY_DEADLINE_MS = 2000;
const CONNECT_SECONDS = 2;
/** Any constant: all nodes of one database must queue for the same lock. */
const WRITE_LOCK = 4_283_715_911;
/** A writer whose connection is gone without the server's knowing must not hold the lock for ever. */
const ORPHAN_MS = 5000;
const CHANNEL = "gatehouse_revision";
/** Of each connection; SQLite would take 2,000, and fill them slowly with old revisions. */
const PAGE_CACHE_KIB = 400;

export function openDatabase(url: string): Database {
  return url.startsWith("sqlite:")
    ? new SqliteDatabase(url.slice("sqlite://".length))
    : new PostgresDatabase(url);
}

function queryOn(sql: Pick<SQL, "unsafe">): Query {
  return async (text, parameters = []) => await sql.unsafe(text, [...parameters]);
}

/**
 * One connection writes, another reads: on a connection of its own a read never sees a half-done write.
 * A file beside other processes is locked for milliseconds; waiting happens here, not inside SQLite, which would
 * stop the whole process for as long.
 */
class SqliteDatabase implements Database {
  readonly idType = "TEXT";
  readonly brokenConnections = null;
  readonly query: Query;
  readonly #writer: SQL;
  readonly #reader: SQL;
  /** Views have a connection of their own: a single read on it would be held at the view's revision. */
  readonly #viewer: SQL;
  readonly #opened: Promise<void>;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#writer = new SQL({ adapter: "sqlite", filename: file });
    this.#reader = new SQL({ adapter: "sqlite", filename: file });
    this.#viewer = new SQL({ adapter: "sqlite", filename: file });
    this.#opened = this.#configure(file);
    // Whoever queries first sees the failure; until then it must not count as unhandled.
    this.#opened.catch(() => undefined);
    const query = queryOn(this.#reader);
    this.query = async (text, parameters) => {
      await this.#opened;
      return query(text, parameters);
    };
  }

  async #configure(file: string): Promise<void> {
    const write = queryOn(this.#writer);
    await write("PRAGMA busy_timeout = 2000"); // switching to WAL cannot be retried from outside
    await write("PRAGMA journal_mode = WAL");
    await write("PRAGMA synchronous = FULL");
    await write("PRAGMA foreign_keys = ON");
    // The write-ahead log takes its mode from here. Another owner's file keeps the mode it has.
    await chmod(file, 0o600).catch(() => undefined);
    await write("PRAGMA busy_timeout = 20");
    await queryOn(this.#reader)("PRAGMA busy_timeout = 2000");
    await queryOn(this.#viewer)("PRAGMA busy_timeout = 2000");
    // Records are read whole and kept in the snapshot; a page that is needed again is in the system's own cache.
    for (const connection of [this.#writer, this.#reader, this.#viewer])
      await queryOn(connection)(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`);
  }

  async writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#opened;
    const deadline = performance.now() + BUSY_DEADLINE_MS;
    for (;;) {
      let begun = false;
      try {
        return await this.#writer.begin("IMMEDIATE", (transaction) => {
          begun = true;
          return work(queryOn(transaction));
        });
      } catch (error) {
        if (begun || !isBusy(error) || performance.now() > deadline) throw error;
        await Bun.sleep(5 + Math.random() * 20);
      }
    }
  }

  async readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#opened;
    return this.#viewer.begin("DEFERRED", (transaction) => work(queryOn(transaction)));
  }

  /** A file calls nobody. */
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
  brokenConnections = 0;
  readonly query: Query;
  readonly #sql: SQL;

  constructor(url: string) {
    // The database is named apart from the URL, else PGDATABASE of the environment would win over it.
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

  async writeTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#sql.begin(async (transaction) => {
      const query = queryOn(transaction);
      await query(
        `SELECT set_config('idle_in_transaction_session_timeout', '${ORPHAN_MS}', true), pg_advisory_xact_lock(${WRITE_LOCK})`,
      );
      return work(query);
    });
  }

  async readTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#sql.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", (transaction) =>
      work(queryOn(transaction)),
    );
  }

  async announce(query: Query): Promise<void> {
    await query(`NOTIFY ${CHANNEL}`);
  }

  /** The subscription outlives lost connections; what was announced meanwhile is caught up with at its return. */
  async listen(hear: () => void): Promise<void> {
    await this.#sql.listen(CHANNEL, hear, hear);
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: 1 });
  }
}

/** Every wait has a deadline: a database that accepts and then says nothing is away. */
export function withinDeadline<T>(
  milliseconds: number,
  work: Promise<T>,
  onExpired?: () => void,
): Promise<T> {
  return withTimeout(milliseconds, work, () => {
    onExpired?.();
    return unavailable("The database did not answer in time.");
  });
}
