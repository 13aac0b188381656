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

export function describeStoreSpending({ createMigrated, database }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe("spending", () => {
    test("a ledger that was closed loses no spent amount", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const first = await start(clock, store.spending);
      const total = claimOf(clock, 7, { key: "t", period: "total", endsAt: null });
      reserve(first, claimOf(clock, 40)).settle([30]);
      reserve(first, total).settle([7]);
      await first.close();
      const second = await start(clock, store.spending);
      expect(second.read("gw", [claimOf(clock, 0), total])).toEqual([
        { spent: 30, reserved: 0 },
        { spent: 7, reserved: 0 },
      ]);
      await second.close();
    });

    test("a budget whose period becomes a longer one with the same start is loaded until the end of that one", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const first = await start(clock, store.spending);
      const month = claimOf(clock, 2, { endsAt: clock.unixNow() + 30 * DAY_MS });
      reserve(first, claimOf(clock, 1)).settle([1]);
      await first.close();
      const second = await start(clock, store.spending);
      reserve(second, month).settle([2]);
      await second.close();
      clock.advance(3 * DAY_MS);
      const third = await start(clock, store.spending);
      expect(third.read("gw", [month])).toEqual([{ spent: 3, reserved: 0 }]);
      await third.close();
    });

    test("a killed ledger's spent amounts are there, and its reservations are charged after the lease", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const killed = await start(clock, store.spending);
      const claim = claimOf(clock, 20);
      reserve(killed, claim).settle([20]);
      reserve(killed, claim);
      clock.advance(500);
      await waitUntil(async () => (await store.spending.loadSpending("other", clock.unixNow())).length === 1);
      // It is not closed, and its timers do not run any more.
      const restarted = new ManualClock();
      restarted.shiftDate(clock.unixNow() - restarted.unixNow());
      const second = await start(restarted, store.spending);
      expect(second.read("gw", [claim])).toEqual([{ spent: 20, reserved: 20 }]);
      restarted.shiftDate(30_000);
      const third = await start(restarted, store.spending);
      expect(third.read("gw", [claim])).toEqual([{ spent: 40, reserved: 0 }]);
      await Promise.all([second.close(), third.close()]);
    });

    test("a process that only reads charges the reservations of a killed one after the lease, before a reset", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const claim = claimOf(clock, 100);
      const [killed, other] = [await start(clock, store.spending), await start(clock, store.spending)];
      reserve(killed, claim);
      clock.advance(500);
      const written = async () =>
        (await store.spending.loadSpending("x", clock.unixNow()))[0]?.reservedElsewhere;
      await waitUntil(async () => (await written()) === 100);
      // Only the date of the other process changes, so that no timer of the killed one runs.
      clock.shiftDate(29_000);
      await other.refresh("gw", [claim]);
      expect(other.read("gw", [claim])).toEqual([{ spent: 0, reserved: 100 }]);
      clock.shiftDate(1000);
      expect(other.reserve("gw", [{ ...claim, amount: 1 }], "closed").reserved).toBe(false);
      await other.refresh("gw", [claim]);
      expect(other.read("gw", [claim])).toEqual([{ spent: 100, reserved: 0 }]);
      other.clear("gw", claim);
      await other.close();
      const next = await start(clock, store.spending);
      expect(next.read("gw", [claim])).toEqual([{ spent: 0, reserved: 0 }]);
      await next.close();
    });

    test("a reset includes what was charged for a process that seemed to have ended, and its next charge counts in full", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const claim = claimOf(clock, 50);
      const [slow, other] = [await start(clock, store.spending), await start(clock, store.spending)];
      const open = reserve(slow, claim);
      clock.advance(500);
      await waitUntil(async () => {
        await other.refresh("gw", [claim]);
        return other.read("gw", [claim])[0]?.reserved === 50;
      });
      // No timer of the slow process runs.
      clock.shiftDate(30_000);
      await other.refresh("gw", [claim]);
      expect(other.read("gw", [claim])).toEqual([{ spent: 50, reserved: 0 }]);
      other.clear("gw", claim);
      reserve(other, { ...claim, amount: 40 }).settle([40]);
      await other.close();
      open.settle([50]);
      await slow.close();
      const next = await start(clock, store.spending);
      expect(next.read("gw", [claim])).toEqual([{ spent: 90, reserved: 0 }]);
      await next.close();
    });

    test("processes learn what others have spent and reserved with their own next write", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const [first, second] = [await start(clock, store.spending), await start(clock, store.spending)];
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
        changes: [{ budget, spentChange, reserved: 0, reservedBefore: 0 }],
      });
      const expectSpent = async (number: number, change: number, spent: number) => {
        expect(await store.spending.writeSpending(batch(number, change))).toEqual([
          { budget, spent, reservedElsewhere: 0, version: 0 },
        ]);
      };
      await expectSpent(1, 9_007_199_254_740_991, 9_007_199_254_740_991);
      await expectSpent(1, 5, 9_007_199_254_740_991);
      await expectSpent(2, -9_007_199_254_740_981, 10);
      await expectSpent(2, -1, 10);
      await expectSpent(3, -11, 0);
    });

    test("many budgets are written and read within the deadline, and nothing of them is lost at the end", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const first = await start(clock, store.spending);
      const claims = Array.from({ length: 6000 }, (_, index) => claimOf(clock, 2, { key: `b:${index}` }));
      for (const claim of claims) reserve(first, claim).settle([2]);
      const open = reserve(first, claims[0] ?? claimOf(clock, 1));
      await first.close();
      const second = await start(clock, store.spending);
      const amounts = second.read("gw", claims);
      expect([amounts.length, amounts.filter(({ spent }) => spent !== 2)]).toEqual([6000, []]);
      expect(amounts[0]).toEqual({ spent: 2, reserved: 2 });
      open.release();
      await second.close();
      expect(await store.spending.budgetKeys("b:", "p", 3)).toEqual(["b:0", "b:1", "b:10"]);
      const withoutSubject = claimOf(clock, 0, { key: "b:" });
      await store.spending.noteBudgets([withoutSubject]);
      expect(await store.spending.budgetKeys("b:", "p", 2)).toEqual(["b:", "b:0"]);
      expect(await store.spending.budgetKeys("b:", "p", 2, "b:")).toEqual(["b:0", "b:1"]);
      expect(await store.spending.budgetKeys("b:", "p", 2, "b:10")).toEqual(["b:100", "b:1000"]);
      expect(await store.spending.budgetKeys("b:", "p", 2, "b:999")).toEqual([]);
    }, 60_000);

    test("a process that rejects requests sees the reset by another one, and one that served none can read and reset", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const claim = claimOf(clock, 60);
      const [full, idle] = [await start(clock, store.spending), await start(clock, store.spending)];
      reserve(full, claim).settle([100]);
      clock.advance(500);
      await waitUntil(async () => {
        await idle.refresh("gw", [claim]);
        return idle.read("gw", [claim])[0]?.spent === 100;
      });
      idle.clear("gw", claim);
      await idle.close();
      expect(full.reserve("gw", [claim], "closed").reserved).toBe(false);
      clock.advance(500);
      await waitUntil(() => full.read("gw", [claim])[0]?.spent === 0);
      reserve(full, claim).release();
      await full.close();
    });

    test("periods that have ended are removed while a process runs", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const endsAt = clock.unixNow() + DAY_MS;
      const write = (number: number, writtenAt: number) =>
        store.spending.writeSpending({
          writer: "w",
          number,
          writtenAt,
          changes: [
            {
              budget: { kind: "budget", key: "b:1", period: String(number), endsAt },
              spentChange: 1,
              reserved: 0,
              reservedBefore: 0,
            },
          ],
        });
      await write(1, clock.unixNow());
      await write(501, endsAt + 35 * DAY_MS + 1);
      expect(await store.spending.budgetKeys("b:", "1", 10)).toEqual([]);
    });

    test("a process whose clock is wrong by weeks removes no amount, and no process that is alive", async () => {
      const store = openForTest(await createMigrated(), { usesOwnTime: false });
      const now = Date.now();
      const budget = { kind: "budget", key: "b:1", period: "p", endsAt: now + DAY_MS } as const;
      const write = (writer: string, writtenAt: number, spentChange: number) =>
        store.spending.writeSpending({
          ...{ writer, number: 1, writtenAt },
          changes: [{ budget, spentChange, reserved: writer === "alive" ? 5 : 0, reservedBefore: 0 }],
        });
      await write("alive", now, 40);
      const [total] = await write("wrong", now + 30 * DAY_MS, 0);
      // The clock of a database server is the one that counts.
      if (database === "PostgreSQL") expect(total).toMatchObject({ spent: 40, reservedElsewhere: 5 });
      else expect(total!.spent + total!.reservedElsewhere).toBe(45);
      const ahead = Math.round((store.spending.clockAheadMs ?? NaN) / DAY_MS);
      expect(ahead).toBe(database === "PostgreSQL" ? 30 : 0);
      // A batch of a process that is forgotten would be added again.
      expect(await write("alive", now, 40)).toMatchObject([{ spent: total!.spent }]);
    });

    test("a process whose clock was corrected removes nothing", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const first = await start(clock, store.spending);
      reserve(first, claimOf(clock, 40, { key: "b:1" })).settle([40]);
      await first.close();
      const second = await start(clock, store.spending);
      clock.shiftDate(400 * DAY_MS);
      reserve(second, claimOf(clock, 1, { key: "b:2", period: "later" })).settle([1]);
      await second.close();
      expect(await store.spending.budgetKeys("b:", "p", 10)).toEqual(["b:1"]);
    });

    test("without the store, enforced budgets are refused until it can be read, then amounts add up", async () => {
      const clock = new ManualClock();
      const store = await openEmpty();
      const earlier = await start(clock, store.spending);
      const claim = claimOf(clock, 50);
      reserve(earlier, claim).settle([50]);
      await earlier.close();
      let isAvailable = false;
      const errors: unknown[] = [];
      const journal: SpentJournal = {
        loadSpending: (writer, unixMs) =>
          isAvailable
            ? store.spending.loadSpending(writer, unixMs)
            : Promise.reject(new Error("unavailable")),
        readSpending: (...args) => store.spending.readSpending(...args),
        writeSpending: (batch) =>
          isAvailable ? store.spending.writeSpending(batch) : Promise.reject(new Error("unavailable")),
        finishSpending: (...given) => store.spending.finishSpending(...given),
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
      const [total] = await store.spending.loadSpending("other", clock.unixNow());
      expect(total?.spent).toBe(70);
    });
  });
}
