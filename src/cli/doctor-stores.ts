// What the doctor finds of the database and of Redis: reachable, of our version, and of our time.
import { RedisClient, SQL } from "bun";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../config/settings.ts";
import { withTimeout } from "../base/with-timeout.ts";
import { RedisCounters } from "../counters/redis.ts";
import { SCHEMA_VERSION } from "../store/migrate.ts";
import { redact } from "../telemetry/log/redact.ts";
import { fail, ok, warn, type Check } from "./doctor-check.ts";

const CONNECT_SECONDS = 5;
const DEADLINE_MS = 8000;
/** More than this between two clocks confuses whoever reads logs of both; tokens and windows mind sooner or later. */
const SKEW_MS = 5000;

export function databaseUrl({ DATABASE_URL, DATA_DIR }: Settings): string {
  return DATABASE_URL ?? `sqlite://${join(DATA_DIR, "gatehouse.db")}`;
}

/** Null: there is no database yet. Only looks: nothing is made or migrated. */
export async function schemaVersion(
  settings: Settings,
): Promise<{ version: number; clockMs: number | null } | null> {
  const url = databaseUrl(settings);
  const isSqlite = url.startsWith("sqlite:");
  const file = url.slice("sqlite://".length);
  if (isSqlite && !existsSync(file)) return null;
  const sql = isSqlite
    ? new SQL({ adapter: "sqlite", filename: file, readonly: true })
    : new SQL(url, { max: 1, connectionTimeout: CONNECT_SECONDS });
  const select = async (text: string) => (await sql.unsafe(text)) as Record<string, unknown>[];
  try {
    const clock = isSqlite ? null : await select("SELECT extract(epoch from now()) * 1000 AS ms");
    const tables = isSqlite
      ? await select("SELECT name FROM sqlite_master WHERE name = 'schema_versions'")
      : await select("SELECT to_regclass('schema_versions') AS name");
    const isThere = typeof tables[0]?.["name"] === "string";
    const [row] = isThere ? await select("SELECT MAX(version) AS version FROM schema_versions") : [];
    const clockMs = clock === null ? null : Number(clock[0]?.["ms"]);
    return { version: Number(row?.["version"] ?? 0), clockMs };
  } finally {
    await sql.close();
  }
}

export async function checkStore(settings: Settings): Promise<Check[]> {
  const where = settings.DATABASE_URL === null ? "DATA_DIR" : "DATABASE_URL";
  try {
    const found = await withinDeadline(schemaVersion(settings));
    if (found === null) return [ok("store", "the embedded database will be made at the first start")];
    const { version, clockMs } = found;
    const clock = clockMs === null ? [] : [checkClock("the database", clockMs)];
    if (version > SCHEMA_VERSION) {
      const detail = `the database has schema version ${version}, this Gatehouse knows up to ${SCHEMA_VERSION}`;
      return [fail("store", detail, "start the newer Gatehouse that migrated it"), ...clock];
    }
    const step = version < SCHEMA_VERSION ? `, which the next start brings to ${SCHEMA_VERSION}` : "";
    return [ok("store", `the database answers, schema version ${version}${step}`), ...clock];
  } catch (error) {
    const reason = redact(error instanceof Error ? error.message : String(error));
    return [
      fail("store", `the database cannot be used (${reason})`, `see that it runs and that ${where} is right`),
    ];
  }
}

export async function checkCounters({ REDIS_URL, WORKERS }: Settings): Promise<Check[]> {
  if (REDIS_URL === null) {
    if (WORKERS > 1)
      return [warn("counters", "without REDIS_URL each process counts limits for itself", "set REDIS_URL")];
    return [ok("counters", "in memory: one process counts for itself")];
  }
  // The very counters of a server: what they need of Redis they try.
  const counters = new RedisCounters(REDIS_URL);
  try {
    await withinDeadline(counters.settled);
    const { state, detail = "it did not answer" } = counters.state;
    if (state !== "ok")
      return [fail("counters", redact(detail), "see that Redis runs and that REDIS_URL is right")];
    return [ok("counters", "Redis answers and counts"), checkClock("Redis", await redisClock(REDIS_URL))];
  } catch (error) {
    const reason = redact(error instanceof Error ? error.message : String(error));
    return [
      fail("counters", `Redis cannot be used (${reason})`, "see that it runs and that REDIS_URL is right"),
    ];
  } finally {
    await counters.close();
  }
}

async function redisClock(url: string): Promise<number> {
  const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: CONNECT_SECONDS * 1000 });
  try {
    const [seconds, microseconds] = (await client.send("TIME", [])) as [string, string];
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  } finally {
    client.close();
  }
}

function checkClock(whose: string, clockMs: number): Check {
  const skewMs = Math.round(Date.now() - clockMs);
  if (Math.abs(skewMs) <= SKEW_MS) return ok("clock", `agrees with that of ${whose}`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const detail = `this clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} that of ${whose}`;
  return warn("clock", detail, "let NTP set both");
}

const withinDeadline = <T>(work: Promise<T>) =>
  withTimeout(DEADLINE_MS, work, () => new Error(`no answer within ${DEADLINE_MS / 1000} s`));
