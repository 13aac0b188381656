// The state of targets across configuration changes.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { BalanceConfig, BalancePlan } from "./balance-plan.ts";
import { BalanceRegistry } from "./balance-registry.ts";

function configOf(weights: Record<string, number>, passive = true): BalanceConfig {
  const targets = Object.entries(weights).map(([id, weight]) => ({ id, weight, priority: 0 }));
  return { algorithm: "round-robin", targets, passive, threshold: 1, intervalMs: 1000 };
}

function activateNew(registry: BalanceRegistry, config: BalanceConfig): BalancePlan {
  const plan = registry.plan("u", config);
  registry.activate(plan);
  return plan;
}

function pickId(plan: BalancePlan, now = 0): string | undefined {
  const all = plan.contenders.map(({ index }) => index);
  return plan.config.targets[plan.pick(all, [], null, 0, now)]?.id;
}

describe("balance registry", () => {
  test("keeps ejection, rest, and retry budget in the next plan, at any position of the target", () => {
    const registry = new BalanceRegistry();
    const old = activateNew(registry, configOf({ a: 1, b: 1 }));
    old.recordFailure(0, old.startAttempt(0, 0), 0);
    old.rest(1, 5000, 0);
    const next = activateNew(registry, configOf({ c: 1, b: 2, a: 3 }));
    expect([0, 1, 2].map((i) => next.state(i, 1))).toEqual(["healthy", "resting", "ejected"]);
    expect(next.retries).toBe(old.retries);
  });

  test("a request of an earlier plan reports to the target that it used", () => {
    const registry = new BalanceRegistry();
    const old = activateNew(registry, configOf({ a: 1, b: 1 }));
    const ticket = old.startAttempt(0, 0);
    const next = activateNew(registry, configOf({ b: 1, a: 1 }));
    old.recordFailure(0, ticket, 1);
    expect([next.state(0, 1), next.state(1, 1)]).toEqual(["healthy", "ejected"]);
  });

  test("drops removed targets when a plan is activated, not when it is created", () => {
    const registry = new BalanceRegistry();
    const first = activateNew(registry, configOf({ a: 1, b: 1 }));
    first.recordFailure(0, first.startAttempt(0, 0), 0);
    registry.plan("u", configOf({ b: 1 }));
    expect(activateNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("ejected");
    activateNew(registry, configOf({ b: 1 }));
    expect(activateNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("healthy");
  });

  test("drops removed upstreams; their last requests can still report", () => {
    const registry = new BalanceRegistry();
    const old = activateNew(registry, configOf({ a: 1 }));
    const ticket = old.startAttempt(0, 0);
    registry.forget("u");
    old.recordFailure(0, ticket, 0);
    old.endAttempt(0, ticket);
    registry.activate(old);
    expect(registry.plan("u", configOf({ a: 1 })).state(0, 1)).toBe("healthy");
    const kept = registry.plan("u", configOf({ a: 1 }));
    kept.recordFailure(0, kept.startAttempt(0, 0), 0);
    registry.forget("another");
    expect(registry.plan("u", configOf({ a: 1 })).state(0, 1)).toBe("ejected");
  });

  test("separates upstreams whose targets have the same id", () => {
    const registry = new BalanceRegistry();
    const one = registry.plan("one", configOf({ a: 1 }));
    const two = registry.plan("two", configOf({ a: 1 }));
    one.recordFailure(0, one.startAttempt(0, 0), 0);
    expect([one.state(0, 1), two.state(0, 1)]).toEqual(["ejected", "healthy"]);
  });

  test("ends ejections when passive checks are turned off", () => {
    const registry = new BalanceRegistry();
    const strict = activateNew(registry, configOf({ a: 1 }));
    strict.recordFailure(0, strict.startAttempt(0, 0), 0);
    expect(activateNew(registry, configOf({ a: 1 }, false)).state(0, 1)).toBe("healthy");
    expect(activateNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("healthy");
  });

  test("continues round robin across configurations", () => {
    const registry = new BalanceRegistry();
    const sequence = Array.from({ length: 100 }, () =>
      pickId(activateNew(registry, configOf({ a: 1, b: 1 }))),
    );
    expect(sequence).toEqual(Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? "a" : "b")));
  });

  test("causes no burst when weights change", () => {
    const weightArb = fc.integer({ min: 1, max: 1000 });
    fc.assert(
      fc.property(weightArb, weightArb, fc.nat(500), (a, b, before) => {
        const registry = new BalanceRegistry();
        const old = activateNew(registry, configOf({ a, b }));
        for (let n = 0; n < before; n++) pickId(old);
        const even = activateNew(registry, configOf({ a: 1, b: 1 }));
        let lead = 0;
        for (let n = 0; n < 50; n++) {
          lead += pickId(even) === "a" ? 1 : -1;
          expect(Math.abs(lead)).toBeLessThanOrEqual(3);
        }
      }),
    );
  });

  test("keeps credits small while targets are added, removed, and changed", () => {
    const weightsArb = fc.dictionary(
      fc.constantFrom("a", "b", "c", "d", "e", "f"),
      fc.integer({ min: 0, max: 1000 }),
    );
    const phaseArb = fc.record({ weights: weightsArb, picks: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(phaseArb, { minLength: 1, maxLength: 10 }), (phases) => {
        const registry = new BalanceRegistry();
        for (let round = 0; round < 100; round++) {
          const { weights, picks } = phases[round % phases.length]!;
          const plan = activateNew(registry, configOf(weights));
          for (let n = 0; n < picks; n++) pickId(plan);
          for (const { state } of plan.contenders) expect(Math.abs(state.credit)).toBeLessThan(6);
        }
      }),
    );
  });
});
