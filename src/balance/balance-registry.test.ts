import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { BalanceConfig, BalancePlan } from "./balance-plan.ts";
import { BalanceRegistry } from "./balance-registry.ts";

function configOf(weights: Record<string, number>, passive = true): BalanceConfig {
  const targets = Object.entries(weights).map(([id, weight]) => ({ id, weight, priority: 0 }));
  return { algorithm: "round-robin", targets, passive, threshold: 1, intervalMs: 1000 };
}

function putNew(registry: BalanceRegistry, config: BalanceConfig): BalancePlan {
  const plan = registry.plan("u", config);
  registry.activate(plan);
  return plan;
}

function pickId(plan: BalancePlan, now = 0): string | undefined {
  const all = plan.contenders.map(({ index }) => index);
  return plan.config.targets[plan.pick(all, [], null, 0, now)]?.id;
}

describe("balance registry", () => {
  test("carries ejection, rest and budget over to the next plan, wherever the target stands in it", () => {
    const registry = new BalanceRegistry();
    const old = putNew(registry, configOf({ a: 1, b: 1 }));
    old.failed(0, old.started(0, 0), 0);
    old.rest(1, 5000, 0);
    const next = putNew(registry, configOf({ c: 1, b: 2, a: 3 }));
    expect([0, 1, 2].map((i) => next.state(i, 1))).toEqual(["healthy", "resting", "ejected"]);
    expect(next.retries).toBe(old.retries);
  });

  test("lets a request under an old plan report to the target it used", () => {
    const registry = new BalanceRegistry();
    const old = putNew(registry, configOf({ a: 1, b: 1 }));
    const ticket = old.started(0, 0);
    const next = putNew(registry, configOf({ b: 1, a: 1 }));
    old.failed(0, ticket, 1);
    expect([next.state(0, 1), next.state(1, 1)]).toEqual(["healthy", "ejected"]);
  });

  test("forgets a target that is gone, but not because of a plan that was rejected", () => {
    const registry = new BalanceRegistry();
    const first = putNew(registry, configOf({ a: 1, b: 1 }));
    first.failed(0, first.started(0, 0), 0);
    registry.plan("u", configOf({ b: 1 }));
    expect(putNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("ejected");
    putNew(registry, configOf({ b: 1 }));
    expect(putNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("healthy");
  });

  test("forgets upstreams that are gone; their last requests still end in peace", () => {
    const registry = new BalanceRegistry();
    const old = putNew(registry, configOf({ a: 1 }));
    const ticket = old.started(0, 0);
    registry.forget("u");
    old.failed(0, ticket, 0);
    old.ended(0, ticket);
    registry.activate(old);
    expect(registry.plan("u", configOf({ a: 1 })).state(0, 1)).toBe("healthy");
    const kept = registry.plan("u", configOf({ a: 1 }));
    kept.failed(0, kept.started(0, 0), 0);
    registry.forget("another");
    expect(registry.plan("u", configOf({ a: 1 })).state(0, 1)).toBe("ejected");
  });

  test("keeps upstreams apart though their targets share an id", () => {
    const registry = new BalanceRegistry();
    const one = registry.plan("one", configOf({ a: 1 }));
    const two = registry.plan("two", configOf({ a: 1 }));
    one.failed(0, one.started(0, 0), 0);
    expect([one.state(0, 1), two.state(0, 1)]).toEqual(["ejected", "healthy"]);
  });

  test("forgives when passive checks are turned off", () => {
    const registry = new BalanceRegistry();
    const strict = putNew(registry, configOf({ a: 1 }));
    strict.failed(0, strict.started(0, 0), 0);
    expect(putNew(registry, configOf({ a: 1 }, false)).state(0, 1)).toBe("healthy");
    expect(putNew(registry, configOf({ a: 1 })).state(0, 1)).toBe("healthy");
  });

  test("goes on alternating across configurations", () => {
    const registry = new BalanceRegistry();
    const sequence = Array.from({ length: 100 }, () => pickId(putNew(registry, configOf({ a: 1, b: 1 }))));
    expect(sequence).toEqual(Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? "a" : "b")));
  });

  test("makes no burst when weights change", () => {
    const weightArb = fc.integer({ min: 1, max: 1000 });
    fc.assert(
      fc.property(weightArb, weightArb, fc.nat(500), (a, b, before) => {
        const registry = new BalanceRegistry();
        const old = putNew(registry, configOf({ a, b }));
        for (let n = 0; n < before; n++) pickId(old);
        const even = putNew(registry, configOf({ a: 1, b: 1 }));
        let lead = 0;
        for (let n = 0; n < 50; n++) {
          lead += pickId(even) === "a" ? 1 : -1;
          expect(Math.abs(lead)).toBeLessThanOrEqual(3);
        }
      }),
    );
  });

  test("owes nobody more than a few requests while targets come, go and change weight", () => {
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
          const plan = putNew(registry, configOf(weights));
          for (let n = 0; n < picks; n++) pickId(plan);
          for (const { state } of plan.contenders) expect(Math.abs(state.credit)).toBeLessThan(6);
        }
      }),
    );
  });
});
