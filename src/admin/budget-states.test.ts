// The state of a budget with more subjects than have an amount of their own in one process.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import type { Budget } from "../model/budget.ts";
import type { BudgetBook } from "../runtime/budget-book.ts";
import { BudgetSubjects, MAX_SUBJECTS, SHARED_SUBJECT } from "../runtime/budget-subjects.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import { compileBudgets } from "../snapshot/compiled-budget.ts";
import { NO_LOG } from "../telemetry/log/log.ts";
import { BudgetStates } from "./budget-states.ts";

const RECORD = {
  ...{
    id: "b",
    gateway_id: "g",
    name: "each",
    unit: "tokens",
    amount: 100,
    period: "total",
    timezone: "UTC",
  },
  ...{ scope: "user", label: null, value: null, each: true, models: null, mode: "enforce", warn_at: [] },
  ...{ on_unknown_price: "refuse", on_store_failure: null, webhook: null, created_at: "", updated_at: "" },
} as Budget;

/** States of a budget with subjects that other processes have noted. */
function statesOf(subjects: readonly string[]) {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const target = (_: unknown, subject: string) =>
    ({ kind: "budget", key: `b:${subject}`, period: "total", endsAt: null }) as const;
  const keys = subjects.map((subject) => `b:${subject}`).sort();
  const registry = {
    noteBudgets: () => Promise.resolve(),
    budgetKeys: (_prefix: string, _period: string, limit: number, after = "") => {
      const first = keys.findIndex((key) => key > after);
      return Promise.resolve(first < 0 ? [] : keys.slice(first, first + limit));
    },
  };
  const known = new BudgetSubjects(registry, clock, NO_LOG);
  const book = {
    ledger,
    target,
    reportAgain: () => Promise.resolve(),
    subjectPages: (_: unknown, __: unknown, others: Iterable<string>) => known.pages("b", "total", others),
  };
  const snapshot = {
    gateways: new Map([["g", { budgets: compileBudgets([RECORD]) }]]),
    apiKeysByGateway: new Map(),
    apiKeysById: new Map(),
  };
  const states = new BudgetStates(
    { snapshot } as unknown as CurrentConfiguration,
    book as unknown as BudgetBook,
    clock,
    () => Promise.resolve(new Map()),
  );
  const spend = (subject: string, amount: number) => ledger.adjust("g", target(null, subject), amount);
  return { states, spend };
}

const names = (count: number) => Array.from({ length: count }, (_, at) => `/user ${at}`);

test("what newcomers share is part of the state and of a reset", async () => {
  const { states, spend } = statesOf(names(MAX_SUBJECTS));
  spend(SHARED_SUBJECT, 7);
  spend("/user 0", 3);
  expect(await states.read("g", "b")).toMatchObject({
    spent: 10,
    top_spenders: [
      { subject: SHARED_SUBJECT, spent: 7 },
      { subject: "/user 0", spent: 3 },
    ],
  });
  await states.reset("g", "b", undefined);
  expect(await states.read("g", "b")).toMatchObject({ spent: 0 });
});

test("the subjects of several processes are all part of the state and of a reset", async () => {
  const subjects = names(2 * MAX_SUBJECTS + 1);
  const { states, spend } = statesOf(subjects);
  for (const subject of subjects) spend(subject, 1);
  spend("/user 20000", 5);
  spend("/user 9999", 3);
  const state = await states.read("g", "b");
  expect(state).toMatchObject({ spent: 20_009, reserved: 0, remaining: null });
  expect(state.top_spenders).toHaveLength(10);
  expect(state.top_spenders.slice(0, 2)).toMatchObject([
    { subject: "/user 20000", spent: 6 },
    { subject: "/user 9999", spent: 4 },
  ]);
  await states.reset("g", "b", "/user 9999");
  expect(await states.read("g", "b")).toMatchObject({ spent: 20_005 });
  await states.reset("g", "b", undefined);
  expect(await states.read("g", "b")).toMatchObject({ spent: 0, top_spenders: [] });
});
