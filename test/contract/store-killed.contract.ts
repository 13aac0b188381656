// Ledgers in memory that are killed at any moment, also while they write: what they had spent is charged once, and what they had reserved as
// reserved. Random walks are compared with a naive sum.
import fc from "fast-check";
import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { thisProcess } from "../../src/journal/process-owner.ts";
import type { BudgetClaim, Reservation } from "../../src/ledger/ledger.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { SpentFile } from "../../src/ledger/spent-file.ts";
import type { SpentJournal } from "../../src/ledger/spent-journal.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";
import { openForTest, type StoreMaker } from "./store-fixture.ts";

const DAY_MS = 86_400_000;

/** How the next writes to the database end. */
type WriteMode = "ok" | "fails" | "is confirmed too late" | "hangs";

type Step =
  | { readonly kind: "reserve"; readonly key: number; readonly amount: number }
  | { readonly kind: "settle"; readonly which: number; readonly amount: number }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "write"; readonly mode: WriteMode }
  | { readonly kind: "lease"; readonly key: number }
  | { readonly kind: "kill"; readonly isConfirmed: boolean };

const which = fc.nat({ max: 20 });
const amount = fc.nat({ max: 50 });
const key = fc.nat({ max: 1 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("reserve" as const), key, amount }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("settle" as const), which, amount }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), which }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("pass" as const),
        ms: fc.constantFrom(100, 500, 1000, 10_000),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("write" as const),
        mode: fc.constantFrom<WriteMode>("ok", "ok", "fails", "is confirmed too late", "hangs"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("lease" as const), key }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill" as const), isConfirmed: fc.boolean() }) },
  ),
  { minLength: 5, maxLength: 60, size: "max" },
);

/** A journal whose writes end as the test wants. */
class FaultyJournal implements SpentJournal {
  mode: WriteMode = "ok";
  /** False: the next process that charges what a dead one has not written does not learn that it has done so. */
  isFinishConfirmed = true;
  readonly #journal: SpentJournal;
  readonly #calls = new Set<Promise<unknown>>();
  #hanging: (() => void)[] = [];

  constructor(journal: SpentJournal) {
    this.#journal = journal;
  }

  loadSpending: SpentJournal["loadSpending"] = (...args) => this.#journal.loadSpending(...args);
  readSpending: SpentJournal["readSpending"] = (...args) => this.#journal.readSpending(...args);
  finishSpending: SpentJournal["finishSpending"] = async (...args) => {
    await this.#journal.finishSpending(...args);
    if (this.isFinishConfirmed) return;
    this.isFinishConfirmed = true;
    throw new Error("the confirmation was lost");
  };
  writeSpending: SpentJournal["writeSpending"] = (batch) => {
    const { mode } = this;
    const call = this.#write(batch, mode);
    if (mode !== "hangs") this.#calls.add(call);
    return call;
  };

  async #write(batch: Parameters<SpentJournal["writeSpending"]>[0], mode: WriteMode) {
    if (mode === "fails") throw new Error("not written");
    if (mode === "hangs") await new Promise<void>((resolve) => this.#hanging.push(resolve));
    const totals = await this.#journal.writeSpending(batch);
    if (mode === "is confirmed too late") throw new Error("the confirmation was lost");
    return totals;
  }

  /** Resolves when all calls have ended that do not hang. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#calls);
    this.#calls.clear();
    await eventLoopTurns();
  }

  /** The database executes now what it has received from a process that is dead. */
  async resume(): Promise<void> {
    for (const resolve of this.#hanging.splice(0)) resolve();
    await eventLoopTurns(20);
  }
}

let walks = 0;

class KilledWalk {
  readonly #name = `walk ${++walks}`;
  readonly #directory = temporaryDirectory();
  readonly #journal: FaultyJournal;
  readonly #endsAt = Date.now() + 2 * DAY_MS;
  /** Another process, which takes others for dead. */
  readonly #observer: SpentJournal;
  #clock = new ManualClock();
  #ledger: MemoryLedger;
  #unixMs = this.#clock.unixNow();
  #open: { readonly reservation: Reservation; readonly claim: BudgetClaim }[] = [];
  readonly #spent = [0, 0];

  constructor(journal: SpentJournal) {
    this.#observer = journal;
    this.#journal = new FaultyJournal(journal);
    this.#ledger = this.#start();
  }

  #start(): MemoryLedger {
    this.#clock = new ManualClock();
    this.#clock.shiftDate(this.#unixMs - this.#clock.unixNow());
    this.#journal.mode = "ok";
    return new MemoryLedger({ clock: this.#clock, journal: this.#journal, directory: this.#directory });
  }

  #claim(at: number, amount: number): BudgetClaim {
    const budget = { kind: "budget", key: `${this.#name} ${at}`, period: "p", endsAt: this.#endsAt } as const;
    return { ...budget, limit: 1_000_000, amount, enforced: true };
  }

  async run(step: Step): Promise<void> {
    await this.#ledger.settled;
    switch (step.kind) {
      case "reserve": {
        const claim = this.#claim(step.key, step.amount);
        const reservation = this.#ledger.reserve("gw", [claim], "closed");
        if (reservation.reserved) this.#open.push({ reservation, claim });
        return;
      }
      case "settle":
      case "release": {
        const [ended] = this.#open.splice(step.which % Math.max(1, this.#open.length), 1);
        if (ended === undefined) return;
        if (step.kind === "release") ended.reservation.release();
        else {
          ended.reservation.settle([step.amount]);
          this.#add(ended.claim, step.amount);
        }
        return;
      }
      case "pass":
        for (let left = step.ms; left > 0; left -= 500) {
          this.#clock.advance(Math.min(left, 500));
          await this.#journal.idle();
        }
        return;
      case "write":
        if (step.mode === "ok") await this.#journal.resume();
        this.#journal.mode = step.mode;
        return;
      case "lease": {
        // The other process has another clock, so that it charges reservations of processes that run.
        const writtenAt = this.#clock.unixNow() + 31_000;
        const change = { budget: this.#claim(step.key, 0), spentChange: 1, reserved: 0, reservedBefore: 0 };
        await this.#observer.writeSpending({
          writer: crypto.randomUUID(),
          number: 1,
          writtenAt,
          changes: [change],
        });
        this.#add(change.budget, 1);
        return;
      }
      case "kill":
        await this.kill(step.isConfirmed);
    }
  }

  #add({ key: name }: BudgetClaim, sum: number): void {
    const at = Number(name.at(-1));
    this.#spent[at] = (this.#spent[at] ?? 0) + sum;
  }

  /** The process ends without any further step. Another one starts, and knows everything at once. */
  async kill(isConfirmed = true): Promise<void> {
    this.#unixMs = this.#clock.unixNow();
    this.#journal.isFinishConfirmed = isConfirmed;
    this.#ledger = this.#start();
    for (const { claim } of this.#open.splice(0)) this.#add(claim, claim.amount);
    await this.#ledger.settled;
    // Without the confirmation, it tries again after a second. Until then it admits nothing.
    const isLoaded = () => this.#ledger.reserve("gw", [this.#claim(0, 0)], "closed").reserved;
    if (!isLoaded()) this.#clock.advance(1000);
    await waitUntil(isLoaded);
    this.#journal.isFinishConfirmed = true;
    this.check();
    await this.#journal.resume();
    await this.#ledger.refresh("gw", this.#budgets());
    this.check();
  }

  #budgets(): BudgetClaim[] {
    return this.#spent.map((_, at) => this.#claim(at, 0));
  }

  check(): void {
    const amounts = this.#ledger.read("gw", this.#budgets());
    expect(amounts).toEqual(this.#spent.map((spent) => ({ spent, reserved: 0 })));
  }

  async close(): Promise<void> {
    await this.#ledger.close();
    expect(readdirSync(this.#directory).flatMap((name) => (name.endsWith(".spent") ? [name] : []))).toEqual(
      [],
    );
    rmSync(this.#directory, { recursive: true });
  }
}

export function describeStoreKilled({ createMigrated, database }: StoreMaker): void {
  describe("ledgers that are killed", () => {
    test("a process that runs knows soon what a killed one had spent", async () => {
      const store = openForTest(await createMigrated());
      const directory = temporaryDirectory();
      const clock = new ManualClock();
      const ledger = new MemoryLedger({ clock, journal: store.spending, directory });
      await ledger.settled;
      const budget = { kind: "budget", key: "shared", period: "p", endsAt: null } as const;
      const killed = new SpentFile(directory, "killed", false, { ...thisProcess(), startedAt: "before" });
      killed.update(killed.allocate(budget, 0), 70, 10);
      clock.advance(10_000);
      await waitUntil(() => ledger.read("gw", [budget])[0]?.spent === 80);
      const claim = { ...budget, limit: 100, amount: 30, enforced: true };
      expect(ledger.reserve("gw", [claim], "closed").reserved).toBe(false);
      await ledger.close();
      rmSync(directory, { recursive: true });
    });

    test("in random walks everything spent is charged once, and everything reserved as reserved", async () => {
      const store = openForTest(await createMigrated());
      const property = fc.asyncProperty(steps, async (all) => {
        const walk = new KilledWalk(store.spending);
        for (const step of all) await walk.run(step);
        await walk.kill();
        await walk.close();
      });
      const short = database === "SQLite" ? 15 : 5;
      await fc.assert(property, { numRuns: runs({ short, long: 20 * short }) });
    }, 300_000);
  });
}
