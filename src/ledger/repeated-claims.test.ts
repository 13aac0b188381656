// Repeated claims decide, report and settle as the ledger does that is asked for every request.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { Claim, Reservation } from "./ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { RepeatedReservation, type RememberedClaims } from "./repeated-claims.ts";

const HOUR_MS = 3_600_000;
const CALLS_PER_BUDGET_SWEEP = 65_536;

function claimsOf(amounts: readonly number[], endsAt: number): Claim[] {
  const [first = 0, second = 0, third = 0, fourth = 0] = amounts;
  return [
    { kind: "tokens", key: "short", limit: 1000, windowMs: 60_000, amount: first },
    { kind: "tokens", key: "long", limit: 3000, windowMs: HOUR_MS, amount: second },
    { kind: "budget", key: "hard", period: "p", endsAt, limit: 5000, amount: third, enforced: true },
    {
      kind: "budget",
      key: "soft",
      period: "total",
      endsAt: null,
      limit: 500,
      amount: fourth,
      enforced: false,
    },
  ];
}

const amount = fc.oneof(fc.nat({ max: 400 }), fc.constantFrom(0, 1, 1000, 1001));
const amounts = fc.array(amount, { minLength: 4, maxLength: 4 });
const actual = fc.oneof(fc.nat({ max: 600 }), fc.constantFrom(0, NaN, -1));
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("reserve" as const), amounts }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat({ max: 20 }),
      actual: fc.array(actual, { minLength: 3, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat({ max: 20 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 999, 1000, 30_000, 60_000, HOUR_MS, 90_000_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
  // Idle windows and old periods are dropped.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const), calls: fc.constant(64) }) },
);

test("any requests, settlements and pauses: as a ledger that is asked every time", () => {
  let repeatedCount = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = new ManualClock();
      const [tested, oracle] = [new MemoryLedger({ clock }), new MemoryLedger({ clock })];
      const endsAt = clock.unixNow() + HOUR_MS;
      const open: [Reservation, Reservation][] = [];
      let remembered: RememberedClaims | null = null;
      const reserve = (claims: readonly Claim[]) => {
        const draft = remembered === null ? null : tested.repeated.draft(remembered);
        for (const [at, claim] of claims.entries())
          if (claim.kind !== "requests") draft?.setAmount(at, claim.amount);
        if (draft !== null && tested.repeated.reserve(draft, clock.now())) {
          repeatedCount++;
          return draft;
        }
        const decided = tested.reserve("", claims, "closed");
        if (decided.reserved) remembered = tested.repeated.remember(claims);
        return decided;
      };
      for (const each of steps) {
        if (each.kind === "pass") clock.advance(each.ms);
        else if (each.kind === "clear")
          for (const ledger of [tested, oracle]) ledger.clear("", { kind: "tokens", key: "long" });
        else if (each.kind === "sweep")
          for (const ledger of [tested, oracle])
            for (let call = 0; call < each.calls; call++) ledger.reserve("", [], "closed");
        else if (each.kind === "reserve") {
          const claims = claimsOf(each.amounts, endsAt);
          const decided = reserve(claims);
          const expected = oracle.reserve("", claims, "closed");
          expect(decided.reserved).toBe(expected.reserved);
          expect(decided.states).toEqual(expected.states);
          if (decided.reserved && expected.reserved) open.push([decided, expected]);
        } else {
          const [pair] = open.splice(each.which % Math.max(1, open.length), 1);
          for (const reservation of pair ?? [])
            if (each.kind === "release") reservation.release();
            else if (each.which % 2 === 0 && reservation instanceof RepeatedReservation)
              reservation.settleAt(clock.now(), each.actual);
            else reservation.settle(each.actual);
        }
        const budgets = claimsOf([], endsAt).filter((claim) => claim.kind === "budget");
        expect(tested.read("", budgets)).toEqual(oracle.read("", budgets));
        expect(tested.peek("", claimsOf([1, 1, 1, 1], endsAt))).toEqual(
          oracle.peek("", claimsOf([1, 1, 1, 1], endsAt)),
        );
      }
    }),
    { numRuns: 300 },
  );
  // Otherwise the test would compare the ledger with itself.
  expect(repeatedCount).toBeGreaterThan(100);
});

test("a reservation ends once", () => {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const claims = claimsOf([10, 10, 10, 10], 2e12);
  const first = ledger.reserve("", claims, "closed");
  const remembered = ledger.repeated.remember(claims)!;
  if (first.reserved) first.release();
  const draft = ledger.repeated.draft(remembered);
  for (const at of claims.keys()) draft.setAmount(at, 10);
  expect(ledger.repeated.reserve(draft, clock.now())).toBe(true);
  expect(draft.isOpen).toBe(true);
  draft.settle([1, 2, 3, 4]);
  draft.settle([100, 100, 100, 100]);
  draft.release();
  expect(draft.isOpen).toBe(false);
  expect(ledger.peek("", claimsOf([], 2e12)).states.map(({ used }) => used)).toEqual([1, 2, 3, 4]);
});

test("what is settled long after the end of a period is charged, although the period was dropped", () => {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const claims = claimsOf([10, 10, 10, 10], clock.unixNow() + HOUR_MS);
  const first = ledger.reserve("", claims, "closed");
  const draft = ledger.repeated.draft(ledger.repeated.remember(claims)!);
  if (first.reserved) first.release();
  for (const at of claims.keys()) draft.setAmount(at, 0);
  // Nothing is reserved, so that nothing keeps the accounts.
  expect(ledger.repeated.reserve(draft, clock.now())).toBe(true);
  clock.advance(26 * HOUR_MS);
  for (let call = 0; call < CALLS_PER_BUDGET_SWEEP; call++) ledger.reserve("", [], "closed");
  expect(ledger.size).toBe(1);
  draft.settle([1, 2, 3, 4]);
  const { states } = ledger.peek("", claims);
  expect(states.map(({ used }) => used)).toEqual([11, 12, 13, 14]);
});

test("request limits, claims without an account, and limits after budgets are not remembered", () => {
  const ledger = new MemoryLedger({ clock: new ManualClock() });
  expect(ledger.repeated.remember(claimsOf([], 2e12))).toBeNull();
  const requests: Claim = { kind: "requests", key: "requests", limit: 5, windowMs: 1000 };
  ledger.reserve("", [requests], "closed");
  expect(ledger.repeated.remember([requests])).toBeNull();
  const [limit, , budget] = claimsOf([1, 1, 1, 1], 2e12);
  ledger.reserve("", [limit!, budget!], "closed");
  expect(ledger.repeated.remember([budget!, limit!])).toBeNull();
  expect(ledger.repeated.remember([limit!, budget!])).not.toBeNull();
});
