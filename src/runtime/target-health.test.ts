// Merging the health of a target that several processes report.
import { expect, test } from "bun:test";
import { mergeTargetHealth, type TargetHealth } from "./target-health.ts";

const HEALTHY: TargetHealth = {
  target_id: "t",
  provider: "p",
  state: "healthy",
  failures: 0,
  recent_failures: null,
  until: null,
  in_flight: 1,
  latency_ms: null,
};

test("mergeTargetHealth returns the worst state with its end, the most failures, and all requests in flight", () => {
  const out: TargetHealth = { ...HEALTHY, state: "out", until: "2026-01-01T00:00:10.000Z", latency_ms: 20 };
  const longer: TargetHealth = { ...out, until: "2026-01-01T00:00:20.000Z", in_flight: 0 };
  const failing: TargetHealth = { ...HEALTHY, failures: 2, recent_failures: 2, latency_ms: 30 };
  const merged = mergeTargetHealth([[HEALTHY, { ...HEALTHY, target_id: "u" }], [out], [longer], [failing]]);
  expect(merged).toEqual([
    {
      ...HEALTHY,
      state: "out",
      until: longer.until,
      failures: 2,
      recent_failures: 2,
      in_flight: 3,
      latency_ms: 30,
    },
    { ...HEALTHY, target_id: "u" },
  ]);
});
