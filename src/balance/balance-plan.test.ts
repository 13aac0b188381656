// Balance plans: which target is picked, under every algorithm and in every state of the targets.
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

const allTargets = (plan: BalancePlan) => plan.contenders.map(({ index }) => index);
const pickAny = (plan: BalancePlan, now: number, tried: number[] | null = null) =>
  plan.pick(allTargets(plan), [], tried, 7, now);

function failAttempt(plan: BalancePlan, index: number, now: number): void {
  const ticket = plan.startAttempt(index, now);
  plan.recordFailure(index, ticket, now);
  plan.endAttempt(index, ticket);
}

describe("picking under every algorithm", () => {
  for (const algorithm of ALGORITHMS) {
    test(`${algorithm}: tiers, and drained, tried, ejected, and resting targets`, () => {
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
            if (isEjected) failAttempt(plan, i, 0);
            if (restMs > 0) plan.rest(i, restMs, 0);
          }
          const inGroup = (name: string) => allTargets(plan).filter((i) => targets[i]!.group === name);
          const tried = allTargets(plan).filter((i) => targets[i]!.isTried);
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
          const active = ["first", "then"]
            .map((name) => usable(name).filter(({ restMs }) => restMs === 0))
            .find((some) => some.length > 0);
          const resting = ["first", "then"].map(usable).find((some) => some.length > 0);
          if (active !== undefined) {
            const tier = Math.min(...active.map(({ priority }) => priority));
            const allowed = active.filter(({ priority }) => priority === tier);
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

    test(`${algorithm}: a target due for a trial gets one request, and no other until its report`, () => {
      const plan = planOf([{}, {}], { algorithm });
      failAttempt(plan, 0, 0);
      let trial = 0;
      for (let n = 0; trial === 0 && n < 1000; n++) {
        const index = plan.pick([0, 1], [], null, n * 7919, 1000);
        const ticket = plan.startAttempt(index, 1000);
        if (index === 0) trial = ticket;
        else plan.endAttempt(index, ticket);
      }
      expect(trial).not.toBe(0);
      for (let n = 0; n < 100; n++) expect(plan.pick([0, 1], [], null, n, 1001)).toBe(1);
      plan.recordSuccess(0, trial);
      expect(plan.state(0, 1002)).toBe("healthy");
    });
  }

  test("distributes 100,000 picks evenly between two targets", () => {
    for (const algorithm of ["round-robin", "weighted-round-robin", "least-connections"] as const) {
      const plan = planOf([{}, {}], { algorithm });
      const candidates = [0, 1];
      let zero = 0;
      for (let n = 0; n < 100_000; n++) if (plan.pick(candidates, [], null, 0, n) === 0) zero++;
      expect(Math.abs(zero - 50_000)).toBeLessThanOrEqual(1);
    }
  });

  test("picks each of 100 targets once if all fail", () => {
    const plan = planOf(Array.from({ length: 100 }, (_, i) => ({ priority: i % 3 })));
    const tried: number[] = [];
    for (let index = pickAny(plan, 0); index >= 0; index = pickAny(plan, 0, tried)) tried.push(index);
    expect(new Set(tried).size).toBe(100);
    const tiers = tried.map((i) => i % 3);
    expect(tiers).toEqual([...tiers].sort());
  });
});

describe("health", () => {
  test("moves to the next tier and back", () => {
    const plan = planOf([{ priority: 1 }, { priority: 2 }]);
    expect(pickAny(plan, 0)).toBe(0);
    failAttempt(plan, 0, 0);
    expect(pickAny(plan, 999)).toBe(1);
    expect(pickAny(plan, 1000)).toBe(0);
    const trial = plan.startAttempt(0, 1000);
    expect(pickAny(plan, 1001)).toBe(1);
    plan.recordNeutral(0, trial);
    expect(pickAny(plan, 1002)).toBe(0);
    const second = plan.startAttempt(0, 1002);
    plan.endAttempt(0, second);
    expect(pickAny(plan, 1003)).toBe(0);
    const third = plan.startAttempt(0, 1003);
    expect(plan.recordResponse(0, third, 5, 1004)).toBe(true);
    expect(pickAny(plan, 1005)).toBe(0);
  });

  test("computes Retry-After", () => {
    const plan = planOf([{}, {}, { weight: 0 }]);
    failAttempt(plan, 0, 0);
    failAttempt(plan, 1, 300);
    expect(pickAny(plan, 400)).toBe(-1);
    expect(plan.retryAfterMs([0, 1, 2], [], 400)).toBe(600);
    expect(plan.retryAfterMs([1], [2], 400)).toBe(900);
    expect(plan.retryAfterMs([1], [0], 400)).toBe(600);
    expect(plan.retryAfterMs([2], [], 400)).toBe(1000);
  });

  test("ejects no target without passive checks", () => {
    const plan = planOf([{}], { passive: false });
    for (let n = 0; n < 10; n++) failAttempt(plan, 0, n);
    expect(plan.state(0, 10)).toBe("healthy");
    expect(pickAny(plan, 10)).toBe(0);
    const ticket = plan.startAttempt(0, 10);
    expect(plan.recordResponse(0, ticket, 1, 11)).toBe(false);
    expect(plan.recordSuccess(0, ticket)).toBe(false);
    plan.recordNeutral(0, ticket);
  });

  test("an ejection discards the measured latency, so that lowest-latency tries the target first", () => {
    const plan = planOf([{}, {}], { algorithm: "lowest-latency" });
    for (const [index, ms] of [5000, 10].entries()) {
      expect(pickAny(plan, 0)).toBe(index);
      plan.recordResponse(index, plan.startAttempt(index, 0), ms, 0);
    }
    failAttempt(plan, 0, 1);
    expect(pickAny(plan, 2)).toBe(1);
    expect(pickAny(plan, 1001)).toBe(0);
  });

  test("lowest-latency avoids a target that keeps failing, even without passive checks", () => {
    const plan = planOf([{}, {}], { algorithm: "lowest-latency", passive: false });
    for (const [index, ms] of [10, 100].entries()) {
      plan.recordResponse(index, plan.startAttempt(index, 0), ms, 0);
    }
    for (let n = 0; n < 4; n++) {
      expect(pickAny(plan, 1)).toBe(0);
      failAttempt(plan, 0, 1);
    }
    expect(pickAny(plan, 1)).toBe(1);
  });

  test("the number of requests in flight is never negative", () => {
    const plan = planOf([{}, {}], { algorithm: "least-connections" });
    const ticket = plan.startAttempt(0, 0);
    for (let n = 0; n < 5; n++) expect(pickAny(plan, 1)).toBe(1);
    for (let n = 0; n < 3; n++) plan.endAttempt(0, ticket);
    const picks = [pickAny(plan, 2), pickAny(plan, 2)];
    expect(picks.sort()).toEqual([0, 1]);
  });

  test("rejects an unknown index", () => {
    expect(() => planOf([{}]).startAttempt(1, 0)).toThrow("upstream u has no target with index 1");
  });
});

describe("rest after a 429", () => {
  test("the later of two times applies, at most 60 seconds", () => {
    const plan = planOf([{}, {}]);
    plan.rest(0, 5000, 0);
    plan.rest(0, 100, 0);
    expect([plan.state(0, 4999), plan.state(0, 5000)]).toEqual(["resting", "healthy"]);
    plan.rest(0, 3_600_000, 0);
    expect([plan.state(0, 59_999), plan.state(0, 60_000)]).toEqual(["resting", "healthy"]);
    plan.rest(1, Number.NaN, 0);
    expect(plan.state(1, 0)).toBe("healthy");
  });

  test("continues after a success, and the only target is used anyway", () => {
    const plan = planOf([{}]);
    plan.rest(0, 5000, 0);
    expect(pickAny(plan, 1)).toBe(0);
    plan.recordSuccess(0, plan.startAttempt(0, 1));
    expect(plan.state(0, 2)).toBe("resting");
  });

  test("does not make an ejected target available", () => {
    const plan = planOf([{}]);
    failAttempt(plan, 0, 0);
    plan.rest(0, 5000, 0);
    expect([plan.state(0, 1), pickAny(plan, 1)]).toEqual(["ejected", -1]);
    expect([plan.state(0, 1000), pickAny(plan, 1000)]).toEqual(["probing", 0]);
  });
});

describe("a simulation", () => {
  for (const algorithm of ALGORITHMS) {
    test(`${algorithm}: predicts the picks and changes nothing`, () => {
      const targetArb = fc.record({ weight: fc.nat(3), priority: fc.nat(1) });
      // Between two picks, a target fails, responds, keeps a request in flight, or sends a 429.
      const eventArb = fc.record({
        target: fc.nat(3),
        kind: fc.constantFrom("failed", "responded", "running", "rest"),
      });
      const targets = fc.array(targetArb, { minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(targets, fc.array(eventArb, { maxLength: 25 }), (weights, events) => {
          const plan = planOf(weights, { algorithm });
          const all = allTargets(plan);
          for (const [step, { target, kind }] of events.entries()) {
            const now = step * 300;
            const before = plan.eligible(all, [], null, now);
            const simulation = plan.simulation();
            const predicted = pickAny(simulation, now);
            // Reports to the simulation do not change the plan.
            if (predicted >= 0) failAttempt(simulation, predicted, now);
            for (const index of all) simulation.rest(index, 5000, now);
            expect(plan.eligible(all, [], null, now)).toEqual(before);
            const picked = pickAny(plan, now);
            // A random pick may differ.
            if (algorithm !== "random") expect(picked).toBe(predicted);
            expect(before.includes(picked)).toBe(picked >= 0);
            act(plan, target % weights.length, kind, now);
          }
        }),
        { numRuns: 200 },
      );
    });
  }

  function act(plan: BalancePlan, index: number, kind: string, now: number): void {
    if (kind === "failed") failAttempt(plan, index, now);
    else if (kind === "rest") plan.rest(index, 700, now);
    else {
      const ticket = plan.startAttempt(index, now);
      plan.recordResponse(index, ticket, 10 + index, now);
      if (kind === "responded") plan.endAttempt(index, ticket);
    }
  }
});
