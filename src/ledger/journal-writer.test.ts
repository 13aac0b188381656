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

test("an outage of the journal is reported once, also if it begins before the amounts were read", async () => {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  let attempts = 0;
  let isAway = true;
  const attempt = () => {
    attempts++;
    return isAway ? Promise.reject(new Error(`attempt ${attempts}`)) : Promise.resolve([]);
  };
  const journal: SpentJournal = {
    loadSpending: attempt,
    readSpending: attempt,
    writeSpending: attempt,
    finishSpending: () => Promise.resolve(),
  };
  const ledger = new MemoryLedger({ clock, journal, onJournalError: (error) => errors.push(error) });
  await ledger.settled;
  const retryUntil = async (count: number) => {
    while (attempts < count) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
  };
  await retryUntil(3);
  expect(errors).toEqual([new Error("attempt 1")]);
  isAway = false;
  await retryUntil(4);
  isAway = true;
  const outcome = ledger.reserve("g", [CLAIM], "closed");
  if (outcome.reserved) outcome.settle([7]);
  await retryUntil(7);
  expect(errors).toEqual([new Error("attempt 1"), new Error("attempt 5")]);
  isAway = false;
  await ledger.close();
});
