// The state of a budget with more subjects than have an amount of their own.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import type { Budget } from "../model/budget.ts";
import type { BudgetBook } from "../runtime/budget-book.ts";
import { MAX_SUBJECTS, SHARED_SUBJECT } from "../runtime/budget-subjects.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import { compileBudgets } from "../snapshot/compiled-budget.ts";
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

test("what newcomers share is part of the state and of a reset", async () => {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const target = (_: unknown, subject: string) =>
    ({ kind: "budget", key: `b:${subject}`, period: "total", endsAt: null }) as const;
  const subjects = Array.from({ length: MAX_SUBJECTS }, (_, at) => `user ${at}`);
  const book = { ledger, target, subjectsOf: () => Promise.resolve(subjects) };
  const snapshot = {
    gateways: new Map([["g", { budgets: compileBudgets([RECORD]) }]]),
    apiKeysByGateway: new Map(),
    apiKeysById: new Map(),
  };
  const states = new BudgetStates(
    { snapshot } as unknown as CurrentConfiguration,
    book as unknown as BudgetBook,
    clock,
  );
  ledger.adjust("g", target(null, SHARED_SUBJECT), 7);
  ledger.adjust("g", target(null, "user 0"), 3);
  expect(await states.read("g", "b")).toMatchObject({
    spent: 10,
    top_spenders: [
      { subject: SHARED_SUBJECT, spent: 7 },
      { subject: "user 0", spent: 3 },
    ],
  });
  await states.reset("g", "b", undefined);
  expect(await states.read("g", "b")).toMatchObject({ spent: 0 });
});
