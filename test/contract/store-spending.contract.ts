// What budgets have spent, in the Store: sums and open reservations of ledgers in memory survive their processes.
import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { BudgetClaim } from "../../src/ledger/ledger.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import type { SpentJournal } from "../../src/ledger/spent-journal.ts";
import { waitUntil } from "../support/waiting.ts";
import { openForTest, type StoreMaker } from "./store-fixture.ts";

const DAY_MS = 86_400_000;

function claimOf(clock: ManualClock, amount: number, fields: Partial<BudgetClaim> = {}): BudgetClaim {
  const endsAt = clock.unixNow() + DAY_MS;
  return { kind: "budget", key: "b", period: "p", endsAt, limit: 100, amount, enforced: true, ...fields };
}

async function start(clock: ManualClock, journal: SpentJournal): Promise<MemoryLedger> {
  const ledger = new MemoryLedger({ clock, journal });
  await ledger.settled;
  return ledger;
}

function reserve(ledger: MemoryLedger, claim: BudgetClaim) {
  const outcome = ledger.reserve("gw", [claim], "closed");
  if (!outcome.reserved) throw new Error("refused");
  return outcome;
}

export function describeStoreSpending({ createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe("spending", () => {
    test("a ledger that was closed loses no spent amount", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const first = await start(clock, store);
      const total = claimOf(clock, 7, { key: "t", period: "total", endsAt: null });
      reserve(first, claimOf(clock, 40)).settle([30]);
      reserve(first, total).settle([7]);
      await first.close();
      const second = await start(clock, store);
      expect(second.read("gw", [claimOf(clock, 0), total])).toEqual([
        { spent: 30, reserved: 0 },
        { spent: 7, reserved: 0 },
      ]);
      await second.close();
    });

    test("a killed ledger's spent amounts are there, and its reservations are charged after the lease", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const killed = await start(clock, store);
      const claim = claimOf(clock, 20);
      reserve(killed, claim).settle([20]);
      reserve(killed, claim);
      clock.advance(500);
      await waitUntil(async () => (await store.loadSpending("other", clock.unixNow())).length === 1);
      // It is not closed, and its timers do not run any more.
      const restarted = new ManualClock();
      restarted.shiftDate(clock.unixNow() - restarted.unixNow());
      const second = await start(restarted, store);
      expect(second.read("gw", [claim])).toEqual([{ spent: 20, reserved: 20 }]);
      restarted.shiftDate(30_000);
      const third = await start(restarted, store);
      expect(third.read("gw", [claim])).toEqual([{ spent: 40, reserved: 0 }]);
      await Promise.all([second.close(), third.close()]);
    });

    test("processes learn what others have spent and reserved with their own next write", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const [first, second] = [await start(clock, store), await start(clock, store)];
      const claim = claimOf(clock, 30);
      reserve(first, claim).settle([30]);
      const open = reserve(first, claim);
      await first.close();
      reserve(second, claim).settle([10]);
      clock.advance(500);
      await waitUntil(() => second.read("gw", [claim])[0]?.spent === 40);
      expect(second.read("gw", [claim])).toEqual([{ spent: 40, reserved: 30 }]);
      expect(second.reserve("gw", [{ ...claim, amount: 31 }], "closed").reserved).toBe(false);
      open.release();
      await second.close();
    });

    test("a batch is added once, and corrections do not go below zero", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const endsAt = clock.unixNow() + DAY_MS;
      const budget = { kind: "budget", key: "b", period: "p", endsAt } as const;
      const batch = (number: number, spentChange: number) => ({
        writer: "w",
        number,
        writtenAt: clock.unixNow(),
        changes: [{ budget, spentChange, reserved: 0 }],
      });
      const expectSpent = async (number: number, change: number, spent: number) => {
        expect(await store.writeSpending(batch(number, change))).toEqual([
          { budget, spent, reservedElsewhere: 0 },
        ]);
      };
      await expectSpent(1, 9_007_199_254_740_991, 9_007_199_254_740_991);
      await expectSpent(1, 5, 9_007_199_254_740_991);
      await expectSpent(2, -9_007_199_254_740_981, 10);
      await expectSpent(2, -1, 10);
      await expectSpent(3, -11, 0);
    });

    test("without the store, enforced budgets are refused until it can be read, then amounts add up", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const earlier = await start(clock, store);
      const claim = claimOf(clock, 50);
      reserve(earlier, claim).settle([50]);
      await earlier.close();
      let isAvailable = false;
      const errors: unknown[] = [];
      const journal: SpentJournal = {
        loadSpending: (writer, unixMs) =>
          isAvailable ? store.loadSpending(writer, unixMs) : Promise.reject(new Error("unavailable")),
        writeSpending: (batch) =>
          isAvailable ? store.writeSpending(batch) : Promise.reject(new Error("unavailable")),
      };
      const ledger = new MemoryLedger({ clock, journal, onJournalError: (error) => errors.push(error) });
      await ledger.settled;
      expect(errors).toHaveLength(1);
      expect(ledger.reserve("gw", [claim], "closed")).toMatchObject({ reserved: false, source: "closed" });
      const local = ledger.reserve("gw", [claim], "local");
      if (local.reserved) local.settle([20]);
      isAvailable = true;
      clock.advance(1000);
      await waitUntil(() => ledger.read("gw", [claim])[0]?.spent === 70);
      await ledger.close();
      const [total] = await store.loadSpending("other", clock.unixNow());
      expect(total?.spent).toBe(70);
    });
  });
}
