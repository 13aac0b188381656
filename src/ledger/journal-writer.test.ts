// When the journal of what budgets have spent is written.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { BudgetClaim } from "./ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import type { JournalBatch, SpentJournal } from "./spent-journal.ts";

const CLAIM: BudgetClaim = {
  kind: "budget",
  key: "b",
  period: "p",
  endsAt: null,
  limit: 100,
  amount: 7,
  enforced: true,
};

test("a batch that is due while amounts are read is written after them", async () => {
  const clock = new ManualClock();
  const read = Promise.withResolvers<[]>();
  const written = Promise.withResolvers<JournalBatch>();
  const journal: SpentJournal = {
    loadSpending: () => Promise.resolve([]),
    readSpending: () => read.promise,
    writeSpending: (batch) => {
      written.resolve(batch);
      return Promise.resolve([]);
    },
    finishSpending: () => Promise.resolve(),
  };
  const ledger = new MemoryLedger({ clock, journal });
  await ledger.settled;
  const outcome = ledger.reserve("g", [CLAIM], "closed");
  if (outcome.reserved) outcome.settle([7]);
  // An operator reads the state of the budget.
  const shown = ledger.refresh("g", [CLAIM]);
  clock.advance(500);
  read.resolve([]);
  await shown;
  expect(await written.promise).toMatchObject({ number: 1, changes: [{ spentChange: 7 }] });
  await ledger.close();
});
