// Reports of thresholds by several processes.
import { expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import { budgetSchema } from "../model/budget.ts";
import { compileBudgets } from "../snapshot/compiled-budget.ts";
import { createLog } from "../telemetry/log/log.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import { BudgetBook } from "./budget-book.ts";
import { BudgetSubjects } from "./budget-subjects.ts";
import { BudgetWebhooks } from "./budget-webhooks.ts";

const RECORD = { id: "b", gateway_id: "g", created_at: "", updated_at: "" };
const [BUDGET] = compileBudgets([
  { ...RECORD, ...budgetSchema.parse({ name: "team", unit: "tokens", amount: 10, period: "total" }) },
])!;
const ACCOUNT = { kind: "budget", key: "b:", period: "total", endsAt: null } as const;

test("after a reset in another process a threshold is reported again, within a minute", async () => {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const registry = { noteBudgets: () => Promise.resolve(), budgetKeys: () => Promise.resolve([]) };
  const reports: string[] = [];
  const log = createLog({ level: "warn", format: "json" }, { write: (line) => void reports.push(line) });
  const process = () => {
    const webhooks = new BudgetWebhooks({ send: () => expect.unreachable() }, log, clock);
    return new BudgetBook(
      ledger,
      new BudgetSubjects(registry, clock, log),
      new Metrics(),
      log,
      webhooks,
      clock,
    );
  };
  const [one, other] = [process(), process()];
  const spend = async () => {
    ledger.adjust("g", ACCOUNT, 8);
    one.report({ ...ACCOUNT, budget: BUDGET!, subject: "" }, 8, null);
    await setImmediate();
    return reports.length;
  };
  expect(await spend()).toBe(1);
  expect(await spend()).toBe(1);
  ledger.clear("g", ACCOUNT);
  await other.reportAgain("g", BUDGET!, [ACCOUNT]);
  expect(await spend()).toBe(1);
  clock.advance(60_000);
  expect(await spend()).toBe(2);
  clock.advance(60_000);
  expect(await spend()).toBe(2);
});
