// Turns the per-second traffic points of the API into a summary and chart series.
import type { TrafficPoint } from "../api/item-types.ts";

export interface TrafficSummary {
  readonly requests: number;
  readonly errors: number;
  /** Mean of the per-second medians, weighted by requests. It is an estimate: percentiles cannot be merged. */
  readonly p50: number | null;
  /** The highest p99 of any second. */
  readonly p99: number | null;
  readonly firstByte: number | null;
  readonly firstToken: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  readonly unpriced: number;
  /** Requests rejected by the gateway, by error code, over all points. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Requests over all points. */
  readonly totalRequests: number;
}

/** Summarizes the last `seconds`; `rejected` and `totalRequests` cover all points. */
export function summarize(points: readonly TrafficPoint[], seconds: number): TrafficSummary {
  const lastMs = lastSecond(points) * 1000;
  const recent = points.filter(({ time }) => Date.parse(time) > lastMs - seconds * 1000);
  const sum = (select: (point: TrafficPoint) => number) =>
    recent.reduce((total, point) => total + select(point), 0);
  const rejected: Record<string, number> = {};
  for (const point of points) {
    for (const [code, count] of Object.entries(point.refused)) rejected[code] = (rejected[code] ?? 0) + count;
  }
  const p99s = recent.map(({ p99_ms }) => p99_ms).filter((value) => value !== null);
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    p50: weightedMean(recent, ({ p50_ms }) => p50_ms),
    p99: p99s.length === 0 ? null : Math.max(...p99s),
    firstByte: weightedMean(recent, ({ first_byte_p50_ms }) => first_byte_p50_ms),
    firstToken: weightedMean(recent, ({ first_token_p50_ms }) => first_token_p50_ms),
    inputTokens: sum(({ input_tokens }) => input_tokens),
    outputTokens: sum(({ output_tokens }) => output_tokens),
    cost: sum(({ cost }) => cost),
    unpriced: sum(({ unpriced_requests }) => unpriced_requests),
    rejected,
    totalRequests: points.reduce((total, { requests }) => total + requests, 0),
  };
}

function weightedMean(
  points: readonly TrafficPoint[],
  select: (point: TrafficPoint) => number | null,
): number | null {
  let [total, weight] = [0, 0];
  for (const point of points) {
    const value = select(point);
    if (value === null || point.requests === 0) continue;
    total += value * point.requests;
    weight += point.requests;
  }
  return weight === 0 ? null : total / weight;
}

/** The last second with a point. Later seconds are unknown, which differs from zero requests. */
function lastSecond(points: readonly TrafficPoint[]): number {
  const last = points.at(-1);
  return Math.floor((last === undefined ? Date.now() : Date.parse(last.time)) / 1000);
}

type Series = readonly (number | null)[];

interface TrafficSeries {
  readonly times: readonly number[];
  readonly requests: Series;
  readonly errors: Series;
  readonly p50: Series;
  readonly p99: Series;
  readonly firstByte: Series;
  readonly firstToken: Series;
  readonly inputTokens: Series;
  readonly outputTokens: Series;
  readonly cost: Series;
}

/** Returns a value for each of the last `seconds`. A second without a point had no requests and no latencies. */
export function toSeries(points: readonly TrafficPoint[], seconds: number): TrafficSeries {
  const bySecond = new Map(points.map((point) => [Math.floor(Date.parse(point.time) / 1000), point]));
  const last = lastSecond(points);
  const times = Array.from({ length: seconds }, (_, index) => last - seconds + 1 + index);
  const series = (select: (point: TrafficPoint) => number | null, missing: number | null): Series =>
    times.map((time) => {
      const point = bySecond.get(time);
      return point === undefined ? missing : select(point);
    });
  return {
    times,
    requests: series(({ requests }) => requests, 0),
    errors: series(({ errors }) => errors, 0),
    p50: series(({ p50_ms }) => p50_ms, null),
    p99: series(({ p99_ms }) => p99_ms, null),
    firstByte: series(({ first_byte_p50_ms }) => first_byte_p50_ms, null),
    firstToken: series(({ first_token_p50_ms }) => first_token_p50_ms, null),
    inputTokens: series(({ input_tokens }) => input_tokens, 0),
    outputTokens: series(({ output_tokens }) => output_tokens, 0),
    cost: series(({ cost }) => cost, 0),
  };
}
