// The retry budget: its limits, and its cost in an outage.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RetryBudget } from "./retry-budget.ts";

const eventArb = fc.record({
  gap: fc.oneof(
    { weight: 6, arbitrary: fc.nat(20) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 400, noNaN: true }) },
    { weight: 1, arbitrary: fc.nat(12_000) },
  ),
  requests: fc.nat(30),
  retries: fc.nat(15),
});

describe("retry budget", () => {
  test("property: never exceeds the limit, and allows whatever is certainly below it", () => {
    fc.assert(
      fc.property(fc.array(eventArb, { minLength: 20, maxLength: 200 }), (events) => {
        const budget = new RetryBudget();
        const requests: number[] = [];
        const retries: number[] = [];
        const within = (times: number[], now: number, ms: number) =>
          times.filter((at) => now - at < ms).length;
        let now = 0;
        for (const { gap, requests: arriving, retries: wanted } of events) {
          now += gap;
          for (let n = 0; n < arriving; n++) {
            budget.recordRequest(now);
            requests.push(now);
          }
          for (let n = 0; n < wanted; n++) {
            const floor = within(retries, now, 1000) < 10;
            const exact = (within(retries, now, 10_000) + 1) / within(requests, now, 10_000) < 0.2;
            const isCertainlyBelow = (within(retries, now, 10_101) + 1) * 5 < within(requests, now, 9900);
            const isAllowed = budget.tryRetry(now);
            if (isAllowed) expect(floor || exact).toBe(true);
            else expect(floor || isCertainlyBelow).toBe(false);
            if (isAllowed) retries.push(now);
          }
        }
      }),
    );
  });

  test("allows ten retries per second without other requests", () => {
    const budget = new RetryBudget();
    let granted = 0;
    for (let now = 0; now < 60_000; now += 10) if (budget.tryRetry(now)) granted++;
    expect(granted).toBe(600);
  });

  test("causes at most 1.2 times as many requests in an outage under high load", () => {
    for (const perMs of [1, 3, 20]) {
      const budget = new RetryBudget();
      let requests = 0;
      let calls = 0;
      for (let now = 0; now < 40_000; now++) {
        for (let n = 0; n < perMs; n++) {
          budget.recordRequest(now);
          requests++;
          calls++;
          for (let attempt = 2; attempt <= 3 && budget.tryRetry(now); attempt++) calls++;
        }
      }
      expect(calls / requests).toBeLessThanOrEqual(1.2);
      // Nearly all of the budget is used.
      expect(calls / requests).toBeGreaterThan(1.19);
    }
  });

  test("starts from scratch after a long time without requests", () => {
    const budget = new RetryBudget();
    for (let n = 0; n < 1000; n++) budget.recordRequest(0);
    for (let n = 0; n < 10; n++) expect(budget.tryRetry(3_600_000)).toBe(true);
    expect(budget.tryRetry(3_600_000)).toBe(false);
  });
});
