// Opens the database, the ledger of limits and budgets, and the usage that is written to the database in batches.
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import type { RedisLedgerOptions } from "../ledger/redis-ledger-options.ts";
import { CredentialCipher } from "../store/credential-cipher.ts";
import { openStore } from "../store/sql-store.ts";
import type { Store } from "../store/store.ts";
import type { Dependency, Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { KeyUsage } from "../usage/key-usage.ts";
import { GameDays } from "./game-days/game-days.ts";
import { ResponseStores, type OpenRedis } from "./responses/response-stores.ts";
import { UsageTotals } from "../usage/usage-totals.ts";

const REDIS_LOSS = "Redis lost data of limits and budgets; budgets are set to the amounts in the database";
/** The duration of a write to the database is part of the measured difference. */
const MAX_CLOCK_SKEW_MS = 60_000;
const JOURNAL_FAILURE = "spent amounts of budgets not read or written; will retry";

export interface Storage {
  readonly databaseUrl: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly keyUsage: KeyUsage;
  readonly usageTotals: UsageTotals;
  readonly gameDays: GameDays;
  readonly responses: ResponseStores;
  close(): Promise<void>;
}

/** `secret` encrypts the secrets of targets unless ENCRYPTION_KEY is set. */
export async function openStorage(
  settings: Settings,
  secret: string,
  health: Health,
  log: Log,
  clock: Clock,
): Promise<Storage> {
  const databaseUrl = settings.DATABASE_URL ?? `sqlite://${join(settings.DATA_DIR, "gatehouse.db")}`;
  const cipher = new CredentialCipher(...(settings.ENCRYPTION_KEY ?? ([secret] as const)));
  const store = openStore(databaseUrl, cipher, settings.REVISIONS_KEPT, settings.AUDIT_KEPT);
  const ledger = await openLedger(settings, store, health, log, clock);
  const keyUsage = new KeyUsage(store, log, clock);
  const usageTotals = new UsageTotals(store, log, clock, join(settings.DATA_DIR, "usage"));
  const gameDays = new GameDays(store.gameDays, clock, log);
  const responses = new ResponseStores(clock, redisForResponses(settings, secret, clock));
  const close = async () => {
    await responses.close();
    await gameDays.close();
    await keyUsage.stop();
    await usageTotals.stop();
    await ledger.close();
    await store.close();
  };
  return { databaseUrl, store, ledger, keyUsage, usageTotals, gameDays, responses, close };
}

/** Opens a ledger that is shared through Redis if REDIS_URL is set, else one in memory that keeps what is spent in the database. */
async function openLedger(
  settings: Settings,
  store: Store,
  health: Health,
  log: Log,
  clock: Clock,
): Promise<Ledger> {
  if (settings.REDIS_URL !== null)
    return openSharedLedger(settings.REDIS_URL, settings, store, health, log, clock);
  const ledger = new MemoryLedger({ clock, ...journalOf(settings, store, log) });
  await ledger.settled;
  return ledger;
}

/** Returns what reports once that the clock is wrong: periods of budgets begin and end by the clock of each node. */
function clockReport(log: Log): (aheadMs: number) => void {
  let isReported = false;
  return (aheadMs) => {
    const isWrong = Math.abs(aheadMs) > MAX_CLOCK_SKEW_MS;
    if (isWrong && !isReported)
      log.warn(
        { ahead_ms: Math.round(aheadMs) },
        "clock of this node differs from the clock of the database; periods of budgets are wrong; synchronize both with NTP",
      );
    isReported = isWrong;
  };
}

/** Returns how a ledger keeps what is spent. */
function journalOf(settings: Settings, store: Store, log: Log) {
  return {
    journal: store.spending,
    directory: join(settings.DATA_DIR, "spending"),
    onFileError: (error) =>
      log.warn(
        { err: error },
        "file for unwritten budgets not created in DATA_DIR; the last half second is not charged if this process is killed",
      ),
    onDamagedFile: (path) =>
      log.warn({ path }, "file with spent amounts of a killed process is damaged; they are not charged"),
    onJournalError: (error) => log.warn({ err: error }, JOURNAL_FAILURE),
    onClockMeasured: clockReport(log),
  } satisfies RedisLedgerOptions;
}

/** `onReplaced` is called when another Redis may have taken the place of the one before. */
function ledgerReports(
  health: Health,
  log: Log,
  onReplaced: () => void,
): Pick<RedisLedgerOptions, "onLocalDecision" | "onLost" | "onRaised" | "onUnusableKeys"> {
  return {
    onLocalDecision: () => {
      health.localDecisions++;
    },
    onLost: ({ gatewayId, keptUntil }) => {
      health.ledgerLosses++;
      const fields = { gateway_id: gatewayId, kept_until: new Date(keptUntil).toISOString() };
      if (keptUntil === 0)
        log.warn(
          { gateway_id: gatewayId },
          `${REDIS_LOSS}; windows of limits are rebuilt from what the running processes have admitted`,
        );
      else
        log.warn(
          fields,
          `${REDIS_LOSS}; windows of limits are as Redis had them then, with what the running processes have admitted since`,
        );
      onReplaced();
    },
    onUnusableKeys: ({ gatewayId, keys, error }) =>
      log.error(
        { gateway_id: gatewayId, keys, err: error },
        "Redis has keys of a gateway with unusable data; its limits and budgets are decided as without Redis until these keys are deleted",
      ),
    onRaised: (gatewayId, { key, period }, raised) => {
      health.budgetsRaised++;
      log.warn(
        { gateway_id: gatewayId, budget: key, period, raised },
        "Redis had less of a budget than the database; its amount was raised",
      );
    },
  };
}

/** Health, metrics and logs call the shared ledger "shared counters". */
async function openSharedLedger(
  url: string,
  settings: Settings,
  store: Store,
  health: Health,
  log: Log,
  clock: Clock,
): Promise<Ledger> {
  const [{ RedisLedger }, { checkInstallation, requireInstallation }] = await Promise.all([
    import("../ledger/redis-ledger.ts"),
    import("./redis-installation.ts"),
  ]);
  let reported: Dependency["state"] | null = null;
  let isStarted = false;
  const ledger = new RedisLedger(url, {
    clock,
    ...journalOf(settings, store, log),
    silenceTimeoutMs: settings.REDIS_SILENT_MS,
    closedTimeoutMs: settings.REDIS_CLOSED_MS,
    ...ledgerReports(health, log, () => void checkInstallation(ledger, store.spending, log)),
    onStateChange: (state) => {
      health.counters = health.ledger = state;
      // The detail changes during an outage: first Redis does not respond, then it cannot be reached.
      if (state.state === reported) return;
      reported = state.state;
      if (state.state === "away") {
        health.countersLost++;
        log.warn({ detail: state.detail }, "shared counters unavailable");
      } else {
        log.info("shared counters available");
        if (isStarted) void checkInstallation(ledger, store.spending, log);
      }
    },
  });
  // Until Redis is connected, this process would decide alone and admit too many requests.
  await ledger.settled;
  try {
    await requireInstallation(ledger, store.spending);
  } catch (error) {
    await Promise.all([ledger.close(), store.close()]);
    throw error;
  }
  isStarted = true;
  health.counters = health.ledger = ledger.state;
  return ledger;
}

/** The code and the connection are needed only if a plugin keeps responses. */
function redisForResponses(settings: Settings, secret: string, clock: Clock): OpenRedis {
  const { REDIS_URL: url, REDIS_SILENT_MS: silenceTimeoutMs } = settings;
  if (url === null) return null;
  return async () => {
    const { ResponseRedis } = await import("./responses/redis-responses.ts");
    return new ResponseRedis(url, secret, clock, silenceTimeoutMs);
  };
}
