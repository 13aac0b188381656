import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CanaryWindow, rollbackReason, sumCounts, type Arm } from "./canary-window.ts";

const CONDITION = { error_ratio: 2, first_byte_ratio: null, min_requests: 10 };

/** Records results in alternation; every n-th one of an arm is an error. */
function windowOf(
  count: number,
  errorEvery: Record<Arm, number>,
  min = 10,
  ms: Record<Arm, number> | null = null,
) {
  const window = new CanaryWindow(min);
  for (let index = 1; index <= count; index++)
    for (const arm of ["canary", "stable"] as const) {
      const isError = index % errorEvery[arm] === 0;
      window.record(arm, isError, isError ? null : (ms?.[arm] ?? 100));
    }
  return window;
}

describe("rollbackReason", () => {
  test("compares the shares of errors once both have min_requests", () => {
    const doubled = { canary: 2, stable: 4 };
    expect(rollbackReason(windowOf(9, doubled).counts, CONDITION)).toBeNull();
    expect(rollbackReason(windowOf(12, doubled).counts, CONDITION)).toBe(
      "The canary failed 6 of 12 requests (50.0 %), the other targets 3 of 12 requests (25.0 %); error_ratio is 2.",
    );
    expect(rollbackReason(windowOf(100, { canary: 3, stable: 4 }).counts, CONDITION)).toBeNull();
    expect(rollbackReason(windowOf(100, doubled).counts, { ...CONDITION, error_ratio: null })).toBeNull();
  });

  test("one error is not too many where the other targets have none", () => {
    expect(rollbackReason(windowOf(10, { canary: 10, stable: Infinity }).counts, CONDITION)).toBeNull();
    expect(rollbackReason(windowOf(10, { canary: 5, stable: Infinity }).counts, CONDITION)).not.toBeNull();
    const failing = windowOf(1, { canary: 1, stable: Infinity }, 1).counts;
    expect(rollbackReason(failing, { ...CONDITION, min_requests: 1 })).not.toBeNull();
  });

  test("compares the mean time to the first byte", () => {
    const { counts } = windowOf(10, { canary: Infinity, stable: Infinity }, 10, { canary: 301, stable: 100 });
    const condition = { ...CONDITION, first_byte_ratio: 3 };
    expect(rollbackReason(counts, condition)).toBe(
      "The canary took 301 ms to the first byte, the other targets 100 ms; first_byte_ratio is 3.",
    );
    expect(rollbackReason(counts, { ...condition, first_byte_ratio: 3.1 })).toBeNull();
  });

  test("counts of several nodes are added up", () => {
    const node = windowOf(4, { canary: 2, stable: 4 }).counts;
    expect(rollbackReason(node, CONDITION)).toBeNull();
    expect(rollbackReason(sumCounts([node, node, node]), CONDITION)).toContain("6 of 12 requests");
  });
});

describe("CanaryWindow", () => {
  test("a canary that fails after a long success is found, and an outage of all is not", () => {
    const window = windowOf(10_000, { canary: 100, stable: 100 });
    expect(rollbackReason(window.counts, CONDITION)).toBeNull();
    for (let count = 0; count < 10; count++) {
      window.record("stable", true, null);
      window.record("canary", true, null);
    }
    expect(rollbackReason(window.counts, CONDITION)).toBeNull();
    for (let count = 0; count < 200 && rollbackReason(window.counts, CONDITION) === null; count++) {
      window.record("stable", false, 100);
      window.record("canary", true, null);
    }
    expect(rollbackReason(window.counts, CONDITION)).not.toBeNull();
  });

  test("the counts are those of the latest results, at least three times min_requests of both", () => {
    const results = fc.array(fc.tuple(fc.constantFrom<Arm>("canary", "stable"), fc.boolean()), {
      maxLength: 600,
    });
    fc.assert(
      fc.property(results, fc.integer({ min: 1, max: 20 }), (list, min) => {
        const window = new CanaryWindow(min);
        for (const [arm, isError] of list) window.record(arm, isError, null);
        const { canary, stable } = window.counts;
        // Some suffix of the results has exactly these counts.
        const latest = list.slice(list.length - canary.requests - stable.requests);
        for (const [arm, tally] of [
          ["canary", canary],
          ["stable", stable],
        ] as const) {
          const own = latest.filter(([each]) => each === arm);
          expect(own.length).toBe(tally.requests);
          expect(own.filter(([, isError]) => isError).length).toBe(tally.errors);
        }
        if (latest.length < list.length)
          expect(Math.min(canary.requests, stable.requests)).toBeGreaterThanOrEqual(3 * min);
      }),
    );
  });
});
