// Chart series of traffic points.
import { expect, test } from "bun:test";
import type { TrafficPoint } from "../api/item-types.ts";
import { toSeries } from "./traffic.ts";

function point(secondsAgo: number, fields: Partial<TrafficPoint>): TrafficPoint {
  const time = new Date(Math.floor(Date.now() / 1000) * 1000 - secondsAgo * 1000).toISOString();
  return {
    time,
    requests: 0,
    errors: 0,
    p50_ms: null,
    p99_ms: null,
    first_byte_p50_ms: null,
    first_token_p50_ms: null,
    input_tokens: 0,
    output_tokens: 0,
    cost: 0,
    unpriced_requests: 0,
    refused: {},
    failed: {},
    ...fields,
  };
}

test("has a value for every point; one without requests has no latencies", () => {
  const series = toSeries(
    [point(2, { requests: 2, p50_ms: 5 }), point(1, {}), point(0, { requests: 4, p50_ms: 6 })],
    1,
  );
  expect(series.requests).toEqual([2, 0, 4]);
  expect(series.p50).toEqual([5, null, 6]);
  expect(series.times[2]).toBe((series.times[0] ?? 0) + 2);
});

test("times are aligned to the step", () => {
  const at = { ...point(0, {}), time: "2026-11-16T21:37:45.000Z" };
  expect(toSeries([at], 900).times).toEqual([Date.parse("2026-11-16T21:30:00Z") / 1000]);
});
