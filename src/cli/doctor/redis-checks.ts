// Checks how Redis keeps limits and budgets, from its INFO. Budgets are in the database as well; limits are not.
import { ok, warn, type CheckResult } from "./check-result.ts";

const NAME = "counters";
const UNKNOWN_FIX = "allow the user of REDIS_URL the command INFO, or check the settings of Redis yourself";

/** `info`: the sections `server`, `replication`, `memory` and `persistence`. Fields that Redis does not report are said to be unknown. */
export function checkRedisInfo(info: string): CheckResult[] {
  const valueOf = (field: string) => new RegExp(`^${field}:(\\S+)`, "m").exec(info)?.[1];
  return [
    evictionOf(valueOf("maxmemory_policy"), valueOf("maxmemory")),
    persistenceOf(valueOf("aof_enabled"), valueOf("rdb_last_save_time")),
    ...identityOf(valueOf("run_id") ?? valueOf("master_replid")),
  ];
}

function identityOf(id: string | undefined): CheckResult[] {
  if (id !== undefined) return [];
  const detail =
    "Redis does not say which of its processes replies (no run_id): after each new connection it is taken to have lost data, and budgets are compared with the database again";
  return [warn(NAME, detail, "allow the user of REDIS_URL the command INFO")];
}

function evictionOf(policy: string | undefined, maxMemory: string | undefined): CheckResult {
  if (policy === undefined)
    return warn(NAME, "unknown whether Redis drops keys when it is full: no maxmemory_policy", UNKNOWN_FIX);
  if (policy === "noeviction" || maxMemory === "0")
    return ok(
      NAME,
      `Redis drops no limits and budgets (maxmemory_policy ${policy}, maxmemory ${maxMemory ?? "unknown"})`,
    );
  const detail = `Redis drops limits and budgets when it is full: maxmemory_policy is ${policy}`;
  return warn(NAME, detail, "set maxmemory-policy of Redis to noeviction");
}

function persistenceOf(aof: string | undefined, savedAt: string | undefined): CheckResult {
  const seconds = Number(savedAt);
  const saved =
    savedAt === undefined || !Number.isSafeInteger(seconds)
      ? "rdb_last_save_time is unknown"
      : `last saved ${new Date(seconds * 1000).toISOString()}`;
  if (aof === undefined)
    return warn(
      NAME,
      `unknown whether Redis keeps its data over a restart: no aof_enabled; ${saved}`,
      UNKNOWN_FIX,
    );
  if (aof === "1") return ok(NAME, `Redis appends what it writes to a file (aof_enabled 1); ${saved}`);
  const detail = `a restart of Redis loses what limits have counted since it was last saved (aof_enabled ${aof}); ${saved}`;
  return warn(NAME, detail, "set appendonly of Redis to yes");
}
