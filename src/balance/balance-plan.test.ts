import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Algorithm, BalanceConfig, BalancedTarget, BalancePlan } from "./balance-plan.ts";
import { BalanceRegistry } from "./balance-registry.ts";
import { seededRandom } from "./contenders.fixture.ts";

const ALGORITHMS: readonly Algorithm[] = [
  "round-robin",
  "weighted-round-robin",
  "random",
  "least-connections",
  "lowest-latency",
  "ip-hash",
];

function planOf(
  targets: readonly Partial<BalancedTarget>[],
  config: Partial<BalanceConfig> = {},
): BalancePlan {
  return new BalanceRegistry(seededRandom(1)).plan("u", {
    algorithm: "round-robin",
    passive: true,
    threshold: 1,
    intervalMs: 1000,
    ...config,
    targets: targets.map((target, i) => ({ id: `t${i}`, weight: 1, priority: 0, ...target })),
  });
}

const everyone = (plan: BalancePlan) => plan.contenders.map(({ index }) => index);
const pickAny = (plan: BalancePlan, now: number, tried: number[] | null = null) =>
  plan.pick(everyone(plan), [], tried, 7, now);

function fail(plan: BalancePlan, index: number, now: number): void {
  const ticket = plan.started(index, now);
  plan.failed(index, ticket, now);
  plan.ended(index, ticket);
}

describe("picking under every algorithm", () => {
  for (const algorithm of ALGORITHMS) {
    test(`${algorithm}: tiers, drained, tried, ejected and resting targets`, () => {
      const targetArb = fc.record({
        weight: fc.nat(3),
        priority: fc.nat(2),
        group: fc.constantFrom("first", "then", "none"),
        isTried: fc.boolean(),
        isEjected: fc.boolean(),
        restMs: fc.constantFrom(0, 0, 10, 20, 30),
      });
      fc.assert(
        fc.property(fc.array(targetArb, { maxLength: 70 }), fc.nat(), (targets, clientHash) => {
          const plan = planOf(targets, { algorithm });
          for (const [i, { isEjected, restMs }] of targets.entries()) {
            if (isEjected) fail(plan, i, 0);
            if (restMs > 0) plan.rest(i, restMs, 0);
          }
          const inGroup = (name: string) => everyone(plan).filter((i) => targets[i]!.group === name);
          const tried = everyone(plan).filter((i) => targets[i]!.isTried);
          const picked = plan.pick(
            inGroup("first"),
            inGroup("then"),
            tried.length > 0 ? tried : null,
            clientHash,
            5,
          );

          const usable = (name: string) =>
            inGroup(name)
              .map((i) => ({ ...targets[i]!, index: i }))
              .filter(({ weight, isTried, isEjected }) => weight > 0 && !isTried && !isEjected);
          const awake = ["first", "then"]
            .map((name) => usable(name).filter(({ restMs }) => restMs === 0))
            .find((some) => some.length > 0);
          const resting = ["first", "then"].map(usable).find((some) => some.length > 0);
          if (awake !== undefined) {
            const tier = Math.min(...awake.map(({ priority }) => priority));
            const allowed = awake.filter(({ priority }) => priority === tier);
            expect(allowed.map(({ index }) => index)).toContain(picked);
          } else if (resting !== undefined) {
            const soonest = [...resting].sort((a, b) => a.restMs - b.restMs || a.priority - b.priority);
            expect(picked).toBe(soonest[0]!.index);
          } else {
            expect(picked).toBe(-1);
          }
        }),
        { numRuns: 300 },
      );
    });

    test(`${algorithm}: a target due for its trial gets one request, then no other until the verdict`, () => {
      const plan = planOf([{}, {}], { algorithm });
      fail(plan, 0, 0);
      let trial = 0;
      for (let n = 0; trial === 0 && n < 1000; n++) {
        const index = plan.pick([0, 1], [], null, n * 7919, 1000);
        const ticket = plan.started(index, 1000);
        if (index === 0) trial = ticket;
        else plan.ended(index, ticket);
      }
      expect(trial).not.toBe(0);
      for (let n = 0; n < 100; n++) expect(plan.pick([0, 1], [], null, n, 1001)).toBe(1);
      plan.succeeded(0, trial);
      expect(plan.state(0, 1002)).toBe("healthy");
    });
  }

  test("shares 100,000 picks evenly between two through the whole plan", () => {
    for (const algorithm of ["round-robin", "weighted-round-robin", "least-connections"] as const) {
      const plan = planOf([{}, {}], { algorithm });
      const candidates = [0, 1];
      let zero = 0;
      for (let n = 0; n < 100_000; n++) if (plan.pick(candidates, [], null, 0, n) === 0) zero++;
      expect(Math.abs(zero - 50_000)).toBeLessThanOrEqual(1);
    }
  });

  test("walks through 100 targets, each once, when all fail", () => {
    const plan = planOf(Array.from({ length: 100 }, (_, i) => ({ priority: i % 3 })));
    const tried: number[] = [];
    for (let index = pickAny(plan, 0); index >= 0; index = pickAny(plan, 0, tried)) tried.push(index);
    expect(new Set(tried).size).toBe(100);
    const tiers = tried.map((i) => i % 3);
    expect(tiers).toEqual([...tiers].sort());
  });
});

describe("health through a plan", () => {
  test("hands a tier over and back", () => {
    const plan = planOf([{ priority: 1 }, { priority: 2 }]);
    expect(pickAny(plan, 0)).toBe(0);
    fail(plan, 0, 0);
    expect(pickAny(plan, 999)).toBe(1);
    expect(pickAny(plan, 1000)).toBe(0);
    const trial = plan.started(0, 1000);
    expect(pickAny(plan, 1001)).toBe(1);
    plan.neutral(0, trial);
    expect(pickAny(plan, 1002)).toBe(0);
    const second = plan.started(0, 1002);
    plan.ended(0, second);
    expect(pickAny(plan, 1003)).toBe(0);
    const third = plan.started(0, 1003);
    expect(plan.answered(0, third, 5, 1004)).toBe(true);
    expect(pickAny(plan, 1005)).toBe(0);
  });

  test("says when to come back", () => {
    const plan = planOf([{}, {}, { weight: 0 }]);
    fail(plan, 0, 0);
    fail(plan, 1, 300);
    expect(pickAny(plan, 400)).toBe(-1);
    expect(plan.retryAfterMs([0, 1, 2], [], 400)).toBe(600);
    expect(plan.retryAfterMs([1], [2], 400)).toBe(900);
    expect(plan.retryAfterMs([1], [0], 400)).toBe(600);
    expect(plan.retryAfterMs([2], [], 400)).toBe(1000);
  });

  test("ejects nobody without passive checks", () => {
    const plan = planOf([{}], { passive: false });
    for (let n = 0; n < 10; n++) fail(plan, 0, n);
    expect(plan.state(0, 10)).toBe("healthy");
    expect(pickAny(plan, 10)).toBe(0);
    const ticket = plan.started(0, 10);
    expect(plan.answered(0, ticket, 1, 11)).toBe(false);
    expect(plan.succeeded(0, ticket)).toBe(false);
    plan.neutral(0, ticket);
  });

  test("forgets the latency measured before an ejection, so that lowest-latency tries the target first", () => {
    const plan = planOf([{}, {}], { algorithm: "lowest-latency" });
    for (const [index, ms] of [5000, 10].entries()) {
      expect(pickAny(plan, 0)).toBe(index);
      plan.answered(index, plan.started(index, 0), ms, 0);
    }
    fail(plan, 0, 1);
    expect(pickAny(plan, 2)).toBe(1);
    expect(pickAny(plan, 1001)).toBe(0);
  });

  test("turns lowest-latency away from a target that keeps failing, even without passive checks", () => {
    const plan = planOf([{}, {}], { algorithm: "lowest-latency", passive: false });
    for (const [index, ms] of [10, 100].entries()) {
      plan.answered(index, plan.started(index, 0), ms, 0);
    }
    for (let n = 0; n < 4; n++) {
      expect(pickAny(plan, 1)).toBe(0);
      fail(plan, 0, 1);
    }
    expect(pickAny(plan, 1)).toBe(1);
  });

  test("counts requests in flight, never below nothing", () => {
    const plan = planOf([{}, {}], { algorithm: "least-connections" });
    const ticket = plan.started(0, 0);
    for (let n = 0; n < 5; n++) expect(pickAny(plan, 1)).toBe(1);
    for (let n = 0; n < 3; n++) plan.ended(0, ticket);
    const picks = [pickAny(plan, 2), pickAny(plan, 2)];
    expect(picks.sort()).toEqual([0, 1]);
  });

  test("refuses an index it does not have", () => {
    expect(() => planOf([{}]).started(1, 0)).toThrow("Upstream u has no target number 1");
  });
});

describe("rest after a 429", () => {
  test("keeps the later deadline, within 60 seconds", () => {
    const plan = planOf([{}, {}]);
    plan.rest(0, 5000, 0);
    plan.rest(0, 100, 0);
    expect([plan.state(0, 4999), plan.state(0, 5000)]).toEqual(["resting", "healthy"]);
    plan.rest(0, 3_600_000, 0);
    expect([plan.state(0, 59_999), plan.state(0, 60_000)]).toEqual(["resting", "healthy"]);
    plan.rest(1, Number.NaN, 0);
    expect(plan.state(1, 0)).toBe("healthy");
  });

  test("outlasts a success, and the only target is asked all the same", () => {
    const plan = planOf([{}]);
    plan.rest(0, 5000, 0);
    expect(pickAny(plan, 1)).toBe(0);
    plan.succeeded(0, plan.started(0, 1));
    expect(plan.state(0, 2)).toBe("resting");
  });

  test("does not open the door to an ejected target", () => {
    const plan = planOf([{}]);
    fail(plan, 0, 0);
    plan.rest(0, 5000, 0);
    expect([plan.state(0, 1), pickAny(plan, 1)]).toEqual(["ejected", -1]);
    expect([plan.state(0, 1000), pickAny(plan, 1000)]).toEqual(["probing", 0]);
  });
});

describe("a rehearsal", () => {
  for (const algorithm of ALGORITHMS) {
    test(`${algorithm}: foretells the picks and moves nothing`, () => {
      const targetArb = fc.record({ weight: fc.nat(3), priority: fc.nat(1) });
      // What happens between two picks: a target fails, answers, is left running, or asks for a rest.
      const eventArb = fc.record({
        target: fc.nat(3),
        kind: fc.constantFrom("failed", "answered", "running", "rest"),
      });
      const targets = fc.array(targetArb, { minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(targets, fc.array(eventArb, { maxLength: 25 }), (weights, events) => {
          const plan = planOf(weights, { algorithm });
          const others = everyone(plan);
          for (const [step, { target, kind }] of events.entries()) {
            const now = step * 300;
            const before = plan.eligible(others, [], null, now);
            const rehearsal = plan.rehearsal();
            const foretold = pickAny(rehearsal, now);
            // Whatever happens on the stage of a rehearsal stays there.
            if (foretold >= 0) fail(rehearsal, foretold, now);
            for (const index of others) rehearsal.rest(index, 5000, now);
            expect(plan.eligible(others, [], null, now)).toEqual(before);
            const picked = pickAny(plan, now);
            // Drawn anew, chance may choose another.
            if (algorithm !== "random") expect(picked).toBe(foretold);
            expect(before.includes(picked)).toBe(picked >= 0);
            act(plan, target % weights.length, kind, now);
          }
        }),
        { numRuns: 200 },
      );
    });
  }

  function act(plan: BalancePlan, index: number, kind: string, now: number): void {
    if (kind === "failed") fail(plan, index, now);
    else if (kind === "rest") plan.rest(index, 700, now);
    else {
      const ticket = plan.started(index, now);
      plan.answered(index, ticket, 10 + index, now);
      if (kind === "answered") plan.ended(index, ticket);
    }
  }
});
