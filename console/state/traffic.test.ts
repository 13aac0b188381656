// Traffic summaries and per-second chart series.
import { expect, test } from "bun:test";
import type { TrafficPoint } from "../api/item-types.ts";
import { toSeries, summarize } from "./traffic.ts";

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
    ...fields,
  };
}

test("sums the last minute; counts rejections over all points", () => {
  const summary = summarize(
    [
      point(200, { requests: 50, p50_ms: 999, refused: { invalid_api_key: 1 } }),
      point(10, { requests: 1, p50_ms: 100, p99_ms: 500, refused: { invalid_api_key: 2 } }),
      point(5, { requests: 3, errors: 1, p50_ms: 200, p99_ms: 300 }),
    ],
    60,
  );
  expect(summary).toMatchObject({ requests: 4, errors: 1, p50: 175, p99: 500, totalRequests: 54 });
  expect(summary.rejected).toEqual({ invalid_api_key: 3 });
});

test("latencies are null without requests", () => {
  expect(summarize([point(3, {})], 60)).toMatchObject({
    requests: 0,
    p50: null,
    p99: null,
    firstByte: null,
    firstToken: null,
  });
});

test("the time to the first token covers only seconds with streams", () => {
  const points = [
    point(3, { requests: 9 }),
    point(2, { requests: 1, first_token_p50_ms: 100 }),
    point(1, { requests: 3, first_token_p50_ms: 300 }),
  ];
  expect(summarize(points, 60).firstToken).toBe(250);
  expect(toSeries(points, 3).firstToken).toEqual([null, 100, 300]);
});

test("a series ends at the last reported second instead of dropping to zero", () => {
  const old = [point(100, { requests: 3 }), point(90, { requests: 5 })];
  expect(toSeries(old, 10).requests.at(-1)).toBe(5);
  expect(summarize(old, 60).requests).toBe(8);
});

test("has a value for every second; seconds without a point had no requests", () => {
  const series = toSeries([point(7, { requests: 2, p50_ms: 5 }), point(3, { requests: 4, p50_ms: 6 })], 10);
  expect(series.times).toHaveLength(10);
  expect(series.requests.slice(-5)).toEqual([2, 0, 0, 0, 4]);
  expect(series.p50.slice(-5)).toEqual([5, null, null, null, 6]);
});
