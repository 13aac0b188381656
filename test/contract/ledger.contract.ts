// The contract of the ledger for every implementation. The test controls the time; the code is that of production.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import {
  MAX_AMOUNT,
  type BudgetClaim,
  type Claim,
  type Ledger,
  type LedgerSource,
  type Refusal,
  type RequestsClaim,
  type Reservation,
  type TokensClaim,
} from "../../src/ledger/ledger.ts";
import { LEASE_AT_END_OF_WINDOW, LEASES_THAT_END_TOGETHER, walkSteps } from "./ledger-oracle.ts";
import { passTime, walk } from "./ledger-walk.ts";

/** The start time: Unix time in milliseconds, at a whole second. Not in the past, where Redis drops keys. */
const START_MS = Math.ceil(Date.now() / 1000) * 1000;
const MINUTE_MS = 60_000;

interface LedgerMaker {
  readonly source: LedgerSource;
  /** Creates a ledger that uses the time of this clock. */
  create(clock: ManualClock): Promise<Ledger>;
  /** Creates ledgers that share their data. All but the first one do not renew their leases. */
  createSeveral(clock: ManualClock): Promise<readonly Ledger[]>;
  /** Number of random walks; fewer for a server, because a round trip takes longer than a call. */
  readonly walks: number;
  /** Number of concurrent reservations, of which a hundred fit. */
  readonly concurrent: number;
}

let keys = 0;
const freshKey = () => `contract key ${++keys}`;

const tokens = (amount: number, limit: number, key = freshKey()): TokensClaim => ({
  kind: "tokens",
  key,
  limit,
  amount,
  windowMs: MINUTE_MS,
});
const requests = (limit: number, key = freshKey()): RequestsClaim => ({
  kind: "requests",
  key,
  limit,
  windowMs: MINUTE_MS,
});
const budget = (amount: number, limit: number, key = freshKey()): BudgetClaim => ({
  kind: "budget",
  key,
  limit,
  amount,
  period: "2025-06",
  endsAt: START_MS + 30 * 86_400_000,
  enforced: true,
});
/** The same limit or budget with another amount. */
const withAmount = <T extends TokensClaim | BudgetClaim>(claim: T, amount: number): T => ({
  ...claim,
  amount,
});
const seconds = (ms: number) => Math.ceil(ms / 1000);

export function describeLedger(maker: LedgerMaker): void {
  const clock = new ManualClock();
  clock.shiftDate(START_MS - clock.unixNow());
  let ledger: Ledger;
  beforeAll(async () => {
    ledger = await maker.create(clock);
  });
  afterAll(() => ledger.close());

  const pass = (ms: number) => passTime(ledger, clock, ms);
  const reserve = async (...claims: Claim[]): Promise<Reservation> => {
    const outcome = await ledger.reserve("gw", claims, "closed");
    if (!outcome.reserved) throw new Error(`refused by claim ${outcome.refusedBy}`);
    return outcome;
  };
  const refuse = async (...claims: Claim[]): Promise<Refusal> => {
    const outcome = await ledger.reserve("gw", claims, "closed");
    if (outcome.reserved) throw new Error("not refused");
    return outcome;
  };
  const used = async (claim: Claim): Promise<number> => {
    const { states, refusedBy } = await ledger.peek("gw", [claim], "closed");
    const amount = claim.kind === "requests" ? 1 : claim.amount;
    return (states[0]?.used ?? NaN) - (refusedBy === -1 ? amount : 0);
  };

  describe("one token limit", () => {
    test("reserves up to the limit, and reports what remains and how long to wait", async () => {
      const claim = tokens(60, 100);
      const resetAt = seconds(START_MS + MINUTE_MS);
      const first = await reserve(claim);
      expect(first).toMatchObject({
        reserved: true,
        source: maker.source,
        states: [{ used: 60, remaining: 40, resetAt, waitMs: 0 }],
      });
      expect(await refuse(claim)).toEqual({
        reserved: false,
        refusedBy: 0,
        source: maker.source,
        states: [{ used: 60, remaining: 40, resetAt, waitMs: 1 }],
      });
      first.settle([60]);
      await pass(10_000);
      expect(await refuse(claim)).toMatchObject({
        states: [{ used: 60, remaining: 40, resetAt, waitMs: 50_000 }],
      });
      await reserve(withAmount(claim, 40));
    });

    test("returns the difference at once when less was used than reserved", async () => {
      const claim = tokens(100, 100);
      (await reserve(claim)).settle([30]);
      expect(await used(claim)).toBe(30);
      await reserve(withAmount(claim, 70));
    });

    test("charges more than was reserved, and waits for it to leave", async () => {
      const claim = tokens(100, 100);
      (await reserve(claim)).settle([250]);
      expect(await refuse(withAmount(claim, 1))).toMatchObject({
        states: [{ used: 250, remaining: 0, waitMs: MINUTE_MS }],
      });
      await pass(MINUTE_MS);
      await reserve(claim);
    });

    test("counts from the settlement: a slow request occupies its window afterwards", async () => {
      const claim = tokens(100, 100);
      const slow = await reserve(claim);
      await pass(5 * MINUTE_MS);
      await refuse(claim);
      slow.settle([100]);
      await pass(MINUTE_MS - 1);
      expect(await refuse(claim)).toMatchObject({ states: [{ waitMs: 1 }] });
      await pass(1);
      await reserve(claim);
    });

    test("an amount larger than the limit never fits", async () => {
      expect(await refuse(tokens(101, 100))).toMatchObject({
        states: [{ used: 0, remaining: 100, waitMs: Infinity }],
      });
    });

    test("amounts leave at most 1/60 of the window late, and never early", async () => {
      const claim = tokens(1, 1000);
      const settledAt: number[] = [];
      for (let count = 0; count < 1000; count++) {
        (await reserve(claim)).settle([1]);
        settledAt.push(clock.unixNow());
        await pass(50);
      }
      for (let step = 0; step < 100; step++) {
        await pass(500);
        const counted = await used(claim);
        const within = (ms: number) => settledAt.filter((time) => time > clock.unixNow() - ms).length;
        expect(counted).toBeGreaterThanOrEqual(within(MINUTE_MS));
        expect(counted).toBeLessThanOrEqual(within(MINUTE_MS + MINUTE_MS / 60));
      }
    });
  });

  describe("one request limit", () => {
    test("counts at the time of the reservation; settling keeps it, releasing removes it", async () => {
      const claim = requests(2);
      const first = await reserve(claim);
      await pass(10_000);
      const second = await reserve(claim);
      expect(await refuse(claim)).toMatchObject({ states: [{ used: 2, remaining: 0, waitMs: 50_000 }] });
      second.release();
      first.settle([]);
      expect(await used(claim)).toBe(1);
      await pass(49_999);
      expect(await used(claim)).toBe(1);
      await pass(1);
      expect(await used(claim)).toBe(0);
    });

    test("a limit that is raised above 10,000 and lowered again is late by 1/60 at most and never early", async () => {
      const trace = fc.array(
        fc.record({
          limit: fc.constantFrom(3, 10_000, 10_001, 1_000_000),
          count: fc.integer({ min: 1, max: 30 }),
          everyMs: fc.constantFrom(0, 1, 20, 150, 999, 1000, 1001, 5000),
        }),
        { minLength: 2, maxLength: 8, size: "max" },
      );
      const windowMs = MINUTE_MS;
      const property = fc.asyncProperty(trace, async (phases) => {
        const key = freshKey();
        const times: number[] = [];
        const countedIn = (ms: number) => times.filter((time) => time > clock.unixNow() - ms).length;
        for (const { limit, count, everyMs } of phases) {
          const claim: RequestsClaim = { kind: "requests", key, limit, windowMs };
          for (let sent = 0; sent < count; sent++) {
            const outcome = await ledger.reserve("gw", [claim], "closed");
            const [least, most] = [countedIn(windowMs), countedIn(windowMs + windowMs / 60)];
            const before = (outcome.states[0]?.used ?? NaN) - (outcome.reserved ? 1 : 0);
            expect(before).toBeWithin(least, most + 1);
            expect(outcome.reserved).toBe(before < limit);
            if (outcome.reserved) times.push(clock.unixNow());
            await pass(everyMs);
          }
        }
      });
      await fc.assert(property, { numRuns: maker.walks / 5 });
    }, 120_000);

    test("a large limit has sub-buckets, and releasing works there too", async () => {
      const claim = requests(1_000_000_000);
      const open: Reservation[] = [];
      for (let count = 0; count < 20; count++) {
        open.push(await reserve(claim));
        await pass(100);
      }
      expect(await used(claim)).toBe(20);
      for (const reservation of open.slice(5)) reservation.release();
      expect(await used(claim)).toBe(5);
    });
  });

  describe("one budget", () => {
    test("is spent in its period, and another period starts with nothing", async () => {
      const claim = budget(60, 100);
      const first = await reserve(claim);
      const endsAt = claim.endsAt ?? 0;
      expect(first.states).toEqual([{ used: 60, remaining: 40, resetAt: seconds(endsAt), waitMs: 0 }]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: 0, reserved: 60 }]);
      first.settle([80]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: 80, reserved: 0 }]);
      expect(await refuse(claim)).toMatchObject({
        states: [{ used: 80, waitMs: Math.ceil(endsAt - clock.unixNow()) }],
      });
      await reserve({ ...claim, period: "2025-07" });
    });

    test("a period without end has no reset, and no waiting helps", async () => {
      const claim: BudgetClaim = { ...budget(100, 100), period: "total", endsAt: null };
      (await reserve(claim)).settle([100]);
      expect(await refuse(claim)).toMatchObject({
        states: [{ used: 100, remaining: 0, resetAt: null, waitMs: Infinity }],
      });
    });

    test("one that only warns is charged and never refuses", async () => {
      const claim: BudgetClaim = { ...budget(100, 100), enforced: false };
      (await reserve(claim)).settle([100]);
      (await reserve(claim)).settle([50]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: 150, reserved: 0 }]);
      await refuse({ ...claim, enforced: true });
    });

    test("is exact with the largest amounts", async () => {
      const claim = budget(MAX_AMOUNT - 1, MAX_AMOUNT);
      (await reserve(claim)).settle([MAX_AMOUNT - 1]);
      await refuse(withAmount(claim, 2));
      (await reserve(withAmount(claim, 1))).settle([1]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: MAX_AMOUNT, reserved: 0 }]);
      expect(await refuse(withAmount(claim, 1))).toMatchObject({ states: [{ remaining: 0 }] });
    });

    test("sums stop at the largest amount", async () => {
      const claim: BudgetClaim = { ...budget(MAX_AMOUNT, MAX_AMOUNT), enforced: false };
      (await reserve(claim)).settle([MAX_AMOUNT]);
      (await reserve(claim)).settle([MAX_AMOUNT]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: MAX_AMOUNT, reserved: 0 }]);
    });

    test("is adjusted in both directions and not below zero, and cleared", async () => {
      const claim = budget(60, 100);
      const open = await reserve(claim);
      expect(await ledger.adjust("gw", claim, 25)).toEqual({ spent: 25, reserved: 60 });
      expect(await ledger.adjust("gw", claim, -5)).toEqual({ spent: 20, reserved: 60 });
      expect(await ledger.adjust("gw", claim, -50)).toEqual({ spent: 0, reserved: 60 });
      await ledger.adjust("gw", claim, 40);
      await refuse(withAmount(claim, 1));
      await ledger.clear("gw", claim);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: 0, reserved: 60 }]);
      open.settle([60]);
      expect(await ledger.read("gw", [claim])).toEqual([{ spent: 60, reserved: 0 }]);
    });
  });

  describe("several claims", () => {
    test("are reserved together or not at all, and all states are reported", async () => {
      const claims = [requests(5), tokens(10, 100), budget(10, 15)];
      await reserve(...claims);
      expect(await refuse(...claims)).toMatchObject({
        refusedBy: 2,
        states: [
          { used: 1, waitMs: 0 },
          { used: 10, waitMs: 0 },
          { used: 10, waitMs: 1 },
        ],
      });
      expect(await Promise.all(claims.map(used))).toEqual([1, 10, 10]);
    });

    test("are released together", async () => {
      const claims = [requests(5), tokens(10, 100), budget(10, 15)];
      (await reserve(...claims)).release();
      expect(await Promise.all(claims.map(used))).toEqual([0, 0, 0]);
    });
  });

  describe("a reservation", () => {
    test.each([
      ["settle, settle", ["settle", "settle"], 3],
      ["settle, release", ["settle", "release"], 3],
      ["release, settle", ["release", "settle"], 0],
      ["release, release", ["release", "release"], 0],
    ])("ends once: %s", async (_, calls, expected) => {
      const claims = [tokens(5, 10), budget(5, 10)];
      const reservation = await reserve(...claims);
      expect(reservation.isOpen).toBe(true);
      for (const [at, call] of calls.entries())
        if (call === "release") reservation.release();
        else reservation.settle([3 + at, 3 + at]);
      expect(reservation.isOpen).toBe(false);
      expect(await Promise.all(claims.map(used))).toEqual([expected, expected]);
    });

    test.each([[-1], [0.5], [NaN], [MAX_AMOUNT + 1], [undefined]])(
      "an actual amount of %p is charged as reserved",
      async (actual) => {
        const claims = [tokens(5, 10), budget(5, 10)];
        (await reserve(...claims)).settle(actual === undefined ? [] : [actual, actual]);
        expect(await Promise.all(claims.map(used))).toEqual([5, 5]);
      },
    );

    test.each([[-1], [0.5], [NaN], [MAX_AMOUNT + 1]])("an amount of %p is rejected", async (amount) => {
      expect(async () => await ledger.reserve("gw", [tokens(amount, 10)], "closed")).toThrow(RangeError);
      expect(async () => await ledger.reserve("gw", [budget(1, amount)], "closed")).toThrow(RangeError);
      expect(await used(tokens(1, 10))).toBe(0);
    });

    test("of nothing fits even if the limit is exceeded", async () => {
      const claim = tokens(10, 10);
      (await reserve(claim)).settle([20]);
      await reserve(withAmount(claim, 0));
    });
  });

  test("clearing a window drops what is settled and keeps what is reserved", async () => {
    const claim = tokens(4, 10);
    (await reserve(claim)).settle([4]);
    await reserve(claim);
    await ledger.clear("gw", claim);
    expect(await used(claim)).toBe(4);
  });

  test("peeking changes nothing", async () => {
    const claims = [requests(1), tokens(10, 10), budget(10, 10)];
    for (let count = 0; count < 3; count++)
      expect(await ledger.peek("gw", claims, "closed")).toMatchObject({
        fits: true,
        refusedBy: -1,
        states: [{ remaining: 0 }, { remaining: 0 }, { remaining: 0 }],
      });
    await reserve(...claims);
    expect(await ledger.peek("gw", claims, "closed")).toMatchObject({ fits: false, refusedBy: 0 });
  });

  test("a refusal is known afterwards without waiting", async () => {
    const claim = tokens(10, 10);
    expect(ledger.knownRefusal([claim])).toBeNull();
    (await reserve(claim)).settle([10]);
    await refuse(claim);
    expect(ledger.knownRefusal([withAmount(claim, 1)])).toMatchObject({ reserved: false, refusedBy: 0 });
  });

  test.each([
    ["a budget", () => budget(1, 100)],
    ["a token limit", () => tokens(1, 100)],
    ["a request limit", () => requests(100)],
  ])(`exactly 100 of ${maker.concurrent} concurrent reservations fit into %s of 100`, async (_, claim) => {
    const shared = claim();
    const outcomes = await Promise.all(
      Array.from({ length: maker.concurrent }, async () => await ledger.reserve("gw", [shared], "closed")),
    );
    expect(outcomes.filter(({ reserved }) => reserved).length).toBe(100);
    expect(outcomes.every(({ source }) => source === maker.source)).toBe(true);
  });

  test("random walks have the same states as a naive implementation after every step", async () => {
    const walkClock = new ManualClock();
    const ledgers = await maker.createSeveral(walkClock);
    const property = fc.asyncProperty(walkSteps, (steps) => walk(ledgers, walkClock, steps));
    await fc.assert(property, {
      numRuns: maker.walks,
      examples: [[LEASE_AT_END_OF_WINDOW], [LEASES_THAT_END_TOGETHER]],
    });
    await Promise.all(ledgers.map((each) => each.close()));
  }, 120_000);
}
