// Nodes with Redis that are killed before they write to the database, and a Redis that loses its data later: no amount is open again, and
// none counts twice. A node of this test is killed by never calling it again: its clock stands still.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { BudgetAmounts, Reservation } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { untilConnected, waitUntil } from "../support/waiting.ts";

const LIMIT = 100;

describe.skipIf(!hasRedis).each([
  { database: "SQLite", isHere: true, createUrl: () => Promise.resolve(undefined) },
  {
    database: "PostgreSQL",
    isHere: hasPostgres,
    createUrl: async () => (await sharedPostgres()).createMigrated(),
  },
])("with $database", ({ isHere, createUrl }) => {
  describe.skipIf(!isHere)("a node that was killed", () => {
    let redis: RedisServer;
    let store: LedgerStore;
    beforeAll(async () => {
      redis = await startRedis(["--appendonly", "no"]);
      store = openLedgerStore(await createUrl());
    });
    afterAll(async () => {
      await redis.stop();
      await store.close();
    });

    /** Dates are those of the shared clock; timers run with the clock of the node. */
    async function start(shared: ManualClock, directory: string) {
      const own = new ManualClock();
      const clock: Clock = {
        now: () => own.now(),
        unixNow: () => shared.unixNow(),
        setTimeout: (callback, ms) => own.setTimeout(callback, ms),
        setInterval: (callback, ms) => own.setInterval(callback, ms),
      };
      const ledger = new RedisLedger(redis.url, {
        clock,
        time: () => shared.unixNow(),
        journal: store.journal,
        directory,
        silenceTimeoutMs: 1_000_000,
        closedTimeoutMs: 1_000_000,
      });
      await untilConnected(ledger, own);
      return { ledger, clock: own };
    }

    const budgetOf = (gateway: string) =>
      ({ kind: "budget", key: gateway, period: "total", endsAt: null }) as const;

    async function reserve(ledger: RedisLedger, gateway: string, amount: number): Promise<Reservation> {
      const claim = { ...budgetOf(gateway), limit: LIMIT, amount, enforced: true };
      const outcome = await ledger.reserve(gateway, [claim], "closed");
      expect(outcome.source).toBe("redis");
      if (!outcome.reserved) throw new Error(`refused: ${JSON.stringify(outcome.states)}`);
      return outcome;
    }

    async function amountsIn(ledger: RedisLedger, gateway: string): Promise<BudgetAmounts> {
      const [amounts] = await ledger.read(gateway, [budgetOf(gateway)]);
      return amounts!;
    }

    /** The largest amount that fits. */
    async function left(ledger: RedisLedger, gateway: string): Promise<number> {
      const claim = { ...budgetOf(gateway), limit: LIMIT, amount: 0, enforced: true };
      return (await ledger.peek(gateway, [claim], "closed")).states[0]!.remaining;
    }

    test("has its last moment charged by its successor, although Redis has lost its data", async () => {
      const [gateway, shared, directory] = [crypto.randomUUID(), new ManualClock(), temporaryDirectory()];
      const killed = await start(shared, directory);
      (await reserve(killed.ledger, gateway, 60)).settle([60]);
      await waitUntil(async () => (await amountsIn(killed.ledger, gateway)).spent === 60);
      await redis.command("FLUSHALL");
      const next = await start(shared, directory);
      expect(await left(next.ledger, gateway)).toBe(40);
      (await reserve(next.ledger, gateway, 40)).settle([40]);
      await waitUntil(async () => (await amountsIn(next.ledger, gateway)).spent === LIMIT);
      await next.ledger.close();
    });

    test("is charged once, if Redis has kept its data", async () => {
      const [gateway, shared, directory] = [crypto.randomUUID(), new ManualClock(), temporaryDirectory()];
      const killed = await start(shared, directory);
      (await reserve(killed.ledger, gateway, 30)).settle([30]);
      await reserve(killed.ledger, gateway, 20);
      await waitUntil(async () => (await amountsIn(killed.ledger, gateway)).spent === 30);
      const next = await start(shared, directory);
      expect(await amountsIn(next.ledger, gateway)).toEqual({ spent: 30, reserved: 20 });
      shared.advance(31_000);
      next.clock.advance(31_000);
      (await reserve(next.ledger, gateway, 10)).settle([10]);
      next.clock.advance(1000);
      await waitUntil(async () => (await amountsIn(next.ledger, gateway)).spent === 60);
      await next.ledger.close();
      await redis.command("FLUSHALL");
      const last = await start(shared, directory);
      expect(await left(last.ledger, gateway)).toBe(40);
      await last.ledger.close();
    });
  });
});
