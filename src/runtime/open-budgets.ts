// Opens the budgets of this process.
import type { Clock } from "../base/clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { BudgetBook } from "./budget-book.ts";
import { BudgetWebhooks } from "./budget-webhooks.ts";

export function openBudgets(
  ledger: Ledger,
  metrics: Metrics,
  log: Log,
  upstreamPool: UpstreamPool,
  clock: Clock,
): BudgetBook {
  return new BudgetBook(ledger, metrics, log, new BudgetWebhooks(upstreamPool, log, clock));
}
