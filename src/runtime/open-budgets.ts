// Opens the budgets of this process.
import type { Clock } from "../base/clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { BudgetBook } from "./budget-book.ts";
import { BudgetSubjects, type SubjectRegistry } from "./budget-subjects.ts";
import { BudgetWebhooks } from "./budget-webhooks.ts";

interface BudgetStorage {
  readonly ledger: Ledger;
  readonly store: { readonly spending: SubjectRegistry };
}

export function openBudgets(
  { ledger, store }: BudgetStorage,
  metrics: Metrics,
  log: Log,
  upstreamPool: UpstreamPool,
  clock: Clock,
): BudgetBook {
  const subjects = new BudgetSubjects(store.spending, clock, log);
  const webhooks = new BudgetWebhooks(upstreamPool, log, clock);
  return new BudgetBook(ledger, subjects, metrics, log, webhooks, clock);
}
