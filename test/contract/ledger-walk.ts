// Takes a random walk through ledgers that share their data, and compares every state with the oracle.
import { expect } from "bun:test";
import type { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { Claim, Ledger, RequestsClaim, Reservation } from "../../src/ledger/ledger.ts";
import { SLOT_COUNT, slotOf } from "../../src/redis/cluster-slots.ts";
import { NaiveLedger, walkClaims, type WalkStep } from "./ledger-oracle.ts";

/** Steps of time between which replies are awaited: renewals of leases must not look like a backlog of Redis. */
const STEP_MS = 2000;

/** A gateway on each master of a cluster of three, to wait for the replies to all commands before time passes. */
const GATEWAYS = [0, 1, 2].map((third) => {
  let at = 0;
  while (Math.floor((3 * slotOf(`gw ${at}`)) / SLOT_COUNT) !== third) at++;
  return `gw ${at}`;
});

export async function passTime(ledger: Ledger, clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS) {
    await Promise.all(GATEWAYS.map(async (gateway) => await ledger.peek(gateway, [], "closed")));
    clock.advance(Math.min(left, STEP_MS));
  }
}

let walks = 0;

/** The first ledger renews its lease; the others do not. */
export async function walk(
  ledgers: readonly Ledger[],
  clock: ManualClock,
  steps: readonly WalkStep[],
): Promise<void> {
  const gateway = `walk ${++walks}`;
  const claims = walkClaims(gateway, clock.unixNow() + 86_400_000);
  const budgets = claims.filter((claim) => claim.kind === "budget");
  const oracle = new NaiveLedger(ledgers.slice(1).map((_, at) => at + 1));
  const reservations: { real: Reservation; naive: ReturnType<NaiveLedger["reserve"]> }[] = [];
  const first = ledgers[0];
  if (first === undefined) return;

  const run = async (step: WalkStep): Promise<void> => {
    const now = clock.unixNow();
    switch (step.kind) {
      case "reserve": {
        const wanted = claims.flatMap((claim, at): Claim[] => {
          const amount = step.amounts[at] ?? null;
          return amount === null
            ? []
            : [claim.kind === "requests" ? requestsOf(claim, amount) : { ...claim, amount }];
        });
        const node = step.node % ledgers.length;
        const outcome = await (ledgers[node] ?? first).reserve(gateway, wanted, "closed");
        const expected = oracle.states(wanted, now);
        expect(outcome.states).toEqual(expected.states);
        expect(outcome.reserved ? -1 : outcome.refusedBy).toBe(expected.refusedBy);
        if (outcome.reserved) reservations.push({ real: outcome, naive: oracle.reserve(node, wanted, now) });
        return;
      }
      case "settle":
      case "release": {
        const [ended] = reservations.splice(step.which % Math.max(1, reservations.length), 1);
        if (ended === undefined || ended.naive === null) return;
        const actual = step.kind === "settle" ? step.amounts.slice(0, ended.naive.claims.length) : null;
        if (actual === null) ended.real.release();
        else ended.real.settle(actual);
        // Ends are not awaited; the next reply on the same connection is after theirs.
        await Promise.all(ledgers.map(async (ledger) => await ledger.peek(gateway, [], "closed")));
        oracle.end(ended.naive, actual, now);
        return;
      }
      case "adjust": {
        const budget = budgets[step.which % budgets.length];
        if (budget === undefined) return;
        oracle.adjust(budget, step.amount);
        expect(await first.adjust(gateway, budget, step.amount)).toEqual(oracle.amounts(budget));
        return;
      }
      case "clear": {
        const claim = claims[step.which % claims.length];
        if (claim === undefined) return;
        await first.clear(gateway, claim);
        oracle.clear(claim);
        return;
      }
      case "pass":
        await passTime(first, clock, step.ms);
    }
  };

  for (const step of steps) {
    await run(step);
    const now = clock.unixNow();
    oracle.expire(now);
    // Sent together: a round trip takes longer than all of them.
    const [amounts, ...peeked] = await Promise.all([
      first.read(gateway, budgets),
      ...claims.map(async (claim) => await first.peek(gateway, [claim], "closed")),
    ]);
    for (const [at, { states, refusedBy }] of peeked.entries())
      expect({ states, refusedBy }).toEqual(oracle.states(claims.slice(at, at + 1), now));
    expect(amounts).toEqual(budgets.map((budget) => oracle.amounts(budget)));
  }
}

/** Returns a claim on one to four requests. */
function requestsOf(claim: RequestsClaim, amount: number): RequestsClaim {
  const more = amount % 4;
  return more === 0 ? claim : { ...claim, amount: 1 + more };
}
