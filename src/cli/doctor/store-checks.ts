// Checks the database and Redis: reachable, of a supported version, and with a clock that agrees with this machine's.
import { RedisClient, SQL } from "bun";
import { existsSync } from "node:fs";
import { withTimeout } from "../../base/with-timeout.ts";
import { SettingsError, type Settings } from "../../config/settings.ts";
import { RedisLedger } from "../../ledger/redis-ledger.ts";
import { seedsOf } from "../../redis/cluster-slots.ts";
import type { CredentialCipher } from "../../store/credential-cipher.ts";
import { SCHEMA_VERSION } from "../../store/migrate.ts";
import { redact } from "../../telemetry/log/redact.ts";
import { databaseUrl, findCipher } from "../store-access.ts";
import { fail, ok, warn, type CheckResult } from "./check-result.ts";
import { checkDataDirectory } from "./host-checks.ts";
import { checkRedisInfo } from "./redis-checks.ts";

const CONNECT_SECONDS = 5;
const DEADLINE_MS = 8000;
/** With a larger difference, logs of both machines cannot be compared, and tokens and rate limit windows become wrong. */
const MAX_SKEW_MS = 5000;

interface FoundDatabase {
  readonly version: number;
  /** Null for SQLite. */
  readonly clockMs: number | null;
  /** `PostgreSQL 16.3`; null for SQLite. */
  readonly product: string | null;
  /** Whether the user may do what the next start does: create tables, migrate them, or write to them. */
  readonly mayWrite: boolean;
}

type Select = (text: string) => Promise<Record<string, unknown>[]>;

/** Returns null if there is no database yet. Only reads: nothing is created or migrated. */
async function findDatabase(settings: Settings): Promise<FoundDatabase | null> {
  const url = databaseUrl(settings);
  const isSqlite = url.startsWith("sqlite:");
  const file = url.slice("sqlite://".length);
  if (isSqlite && !existsSync(file)) return null;
  const sql = isSqlite
    ? new SQL({ adapter: "sqlite", filename: file, readonly: true })
    : new SQL(url, { max: 1, connectionTimeout: CONNECT_SECONDS });
  const select: Select = (text) => sql.unsafe<Record<string, unknown>[]>(text);
  try {
    const clock = isSqlite
      ? null
      : await select(
          "SELECT extract(epoch from now()) * 1000 AS ms, current_setting('server_version') AS product",
        );
    const tables = isSqlite
      ? await select("SELECT name FROM sqlite_master WHERE name = 'schema_versions'")
      : await select("SELECT to_regclass('schema_versions') AS name");
    const hasTable = typeof tables[0]?.["name"] === "string";
    const [row] = hasTable ? await select("SELECT MAX(version) AS version FROM schema_versions") : [];
    const clockMs = clock === null ? null : Number(clock[0]?.["ms"]);
    const number: unknown = clock?.[0]?.["product"] ?? null;
    const product = typeof number === "string" ? `PostgreSQL ${number}` : null;
    const version = Number(row?.["version"] ?? 0);
    return { version, clockMs, product, mayWrite: isSqlite || (await mayUserWrite(select, version)) };
  } finally {
    await sql.close();
  }
}

/** Only the owner of a table can migrate it. `current_schema()` is null if the user may use no schema. */
async function mayUserWrite(select: Select, version: number): Promise<boolean> {
  const mayCreate = "has_schema_privilege(current_schema(), 'CREATE')";
  const isOwner =
    "(SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('configuration'))";
  const mayMigrate = version === 0 ? mayCreate : `${mayCreate} AND ${isOwner}`;
  const rights = version < SCHEMA_VERSION ? mayMigrate : "has_table_privilege('configuration', 'UPDATE')";
  const [row] = await select(`SELECT ${rights} AS may_write`);
  return row?.["may_write"] === true;
}

/**
 * Returns the cipher for a database of the current schema, or the result of a check that needs one and has none. `none` is the
 * detail if nothing is stored yet.
 */
export async function cipherForStored(
  name: string,
  none: string,
  settings: Settings,
): Promise<CredentialCipher | CheckResult> {
  const notChecked = (why: string, fix: string) => warn(name, `not checked because ${why}`, fix);
  let version: number;
  try {
    version = (await withinDeadline(findDatabase(settings)))?.version ?? 0;
  } catch {
    return notChecked("the database cannot be used", "see the check of the store");
  }
  if (version === 0) return ok(name, none);
  if (version < SCHEMA_VERSION)
    return notChecked("the database is not migrated yet", "start the gateway, then run doctor again");
  if (version > SCHEMA_VERSION)
    return notChecked("the database is of a newer version", "see the check of the store");
  try {
    return findCipher(settings) ?? notChecked("there is no secret to decrypt with", "set SERVER_SECRET_KEY");
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return notChecked("the secret cannot be read", "see the check of the secret");
  }
}

export async function checkStore(settings: Settings): Promise<CheckResult[]> {
  const setting = settings.DATABASE_URL === null ? "DATA_DIR" : "DATABASE_URL";
  try {
    const found = await withinDeadline(findDatabase(settings));
    if (found === null) {
      const canCreate =
        setting !== "DATA_DIR" || checkDataDirectory(settings).every(({ state }) => state !== "fail");
      if (canCreate) return [ok("store", "the first start will create the embedded database")];
      const detail = "the embedded database cannot be created in DATA_DIR";
      return [fail("store", detail, "fix DATA_DIR, or set DATABASE_URL")];
    }
    const { version, clockMs, product, mayWrite } = found;
    const clock = clockMs === null ? [] : [checkClock("the database", clockMs)];
    if (version > SCHEMA_VERSION) {
      const detail = `the database has schema version ${version}, newer than ${SCHEMA_VERSION}, the latest that this Gatehouse supports`;
      return [fail("store", detail, "run the newer Gatehouse that migrated it"), ...clock];
    }
    if (!mayWrite) {
      const detail = `the user in DATABASE_URL may not ${version < SCHEMA_VERSION ? "create or migrate" : "write to"} the tables`;
      return [fail("store", detail, "grant the rights, or use the user that owns the tables"), ...clock];
    }
    const migration = version < SCHEMA_VERSION ? `; the next start migrates it to ${SCHEMA_VERSION}` : "";
    const label = product ?? "the database";
    return [ok("store", `${label} is reachable, schema version ${version}${migration}`), ...clock];
  } catch (error) {
    const detail = `the database cannot be used (${reasonOf(error)})`;
    return [fail("store", detail, `check that it is running and that ${setting} is correct`)];
  }
}

export async function checkCounters({ REDIS_URL, WORKERS }: Settings): Promise<CheckResult[]> {
  if (REDIS_URL === null) {
    if (WORKERS > 1) {
      const detail = `rate limits apply per process: WORKERS is ${WORKERS} and REDIS_URL is not set`;
      return [warn("counters", detail, "set REDIS_URL")];
    }
    return [ok("counters", "in memory of the one process")];
  }
  const fix = "check that Redis is running and that REDIS_URL is correct";
  // Use the server's own implementation: it tries every Redis feature that it needs.
  const counters = new RedisLedger(REDIS_URL);
  try {
    await withinDeadline(counters.settled);
    const { state, detail = "Redis did not respond" } = counters.state;
    if (state !== "ok") return [fail("counters", redact(detail), fix)];
    const { clockMs, info } = await askRedis(REDIS_URL);
    return [
      ok("counters", "Redis is reachable and counts"),
      ...checkRedisInfo(info),
      checkClock("Redis", clockMs),
    ];
  } catch (error) {
    return [fail("counters", `Redis cannot be used (${reasonOf(error)})`, fix)];
  } finally {
    await counters.close();
  }
}

/** Returns the time of Redis in milliseconds since the epoch, and sections of INFO; empty if the user may not read it. */
async function askRedis(url: string): Promise<{ clockMs: number; info: string }> {
  const client = new RedisClient(seedsOf(url)[0] ?? url, {
    autoReconnect: false,
    connectionTimeout: CONNECT_SECONDS * 1000,
  });
  try {
    const reply: unknown = await client.send("TIME", []);
    const [seconds, microseconds] = Array.isArray(reply) ? reply.map(Number) : [];
    if (seconds === undefined || microseconds === undefined) throw new Error("TIME returned no time");
    const sections: string[] = [];
    for (const section of ["server", "replication", "memory", "persistence"])
      sections.push(String(await client.send("INFO", [section]).catch(() => "")));
    return { clockMs: seconds * 1000 + microseconds / 1000, info: sections.join("\n") };
  } finally {
    client.close();
  }
}

function checkClock(owner: string, clockMs: number): CheckResult {
  const skewMs = Math.round(Date.now() - clockMs);
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return ok("clock", `agrees with the clock of ${owner}`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const detail = `this machine's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the clock of ${owner}`;
  return warn("clock", detail, "synchronize both with NTP");
}

function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error));
}

const withinDeadline = <T>(work: Promise<T>) =>
  withTimeout(DEADLINE_MS, work, () => new Error(`no response within ${DEADLINE_MS / 1000} s`));
