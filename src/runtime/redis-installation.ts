// Redis belongs to one installation: nodes with another database would not find in it what these nodes have spent.
import { SettingsError } from "../config/settings.ts";
import type { RedisLedger } from "../ledger/redis-ledger.ts";
import type { AccountJournal } from "../ledger/spent-journal.ts";
import type { Log } from "../telemetry/log/log.ts";

/** Throws a SettingsError if Redis belongs to another installation. If either is unavailable, `checkInstallation` checks it later. */
export async function requireInstallation(ledger: RedisLedger, journal: AccountJournal): Promise<void> {
  const problem = await problemOf(ledger, journal);
  if (problem !== null) throw new SettingsError(problem);
}

/** Call when Redis is available again, or has lost data: another one may have taken its place. */
export async function checkInstallation(
  ledger: RedisLedger,
  journal: AccountJournal,
  log: Log,
): Promise<void> {
  const problem = await problemOf(ledger, journal);
  if (problem !== null) log.error({ detail: problem }, "Redis belongs to another installation");
}

/** Returns null if there is none, or if it is not known. */
async function problemOf(ledger: RedisLedger, journal: AccountJournal): Promise<string | null> {
  try {
    const own = await journal.installationId();
    const found = await ledger.claim(own);
    if (found === own) return null;
    return (
      `the Redis at REDIS_URL belongs to the installation ${found}, but the database is that of ${own}; ` +
      "nodes that share Redis need the same DATABASE_URL. To use Redis for this one, stop the nodes of the other one " +
      "and delete the key gatehouse:installation"
    );
  } catch {
    return null;
  }
}
