// Sums and lines from the traffic points of single seconds.
import type { TrafficPoint } from "../api/observed.ts";

export interface TrafficSummary {
  readonly requests: number;
  readonly errors: number;
  /** The seconds' own medians, weighted by their requests: percentiles of seconds do not add up to those of a minute. */
  readonly p50: number | null;
  /** Of the worst second. */
  readonly p99: number | null;
  readonly firstByte: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  /** Of all points, not only of the last seconds. */
  readonly refused: Readonly<Record<string, number>>;
  readonly all: number;
}

/** Of the last `seconds`; refusals of all points. */
export function summarize(points: readonly TrafficPoint[], seconds: number): TrafficSummary {
  const newest = newestOf(points) * 1000;
  const recent = points.filter(({ time }) => Date.parse(time) > newest - seconds * 1000);
  const sum = (of: (point: TrafficPoint) => number) => recent.reduce((total, point) => total + of(point), 0);
  const refused: Record<string, number> = {};
  for (const point of points) {
    for (const [code, count] of Object.entries(point.refused)) refused[code] = (refused[code] ?? 0) + count;
  }
  const p99s = recent.map(({ p99_ms }) => p99_ms).filter((value) => value !== null);
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    p50: weighted(recent, ({ p50_ms }) => p50_ms),
    p99: p99s.length === 0 ? null : Math.max(...p99s),
    firstByte: weighted(recent, ({ first_byte_p50_ms }) => first_byte_p50_ms),
    inputTokens: sum(({ input_tokens }) => input_tokens),
    outputTokens: sum(({ output_tokens }) => output_tokens),
    cost: sum(({ cost }) => cost),
    refused,
    all: points.reduce((total, { requests }) => total + requests, 0),
  };
}

function weighted(
  points: readonly TrafficPoint[],
  of: (point: TrafficPoint) => number | null,
): number | null {
  let [total, weight] = [0, 0];
  for (const point of points) {
    const value = of(point);
    if (value === null || point.requests === 0) continue;
    total += value * point.requests;
    weight += point.requests;
  }
  return weight === 0 ? null : total / weight;
}

/** The last second that is told. What came after it is not known, which is not the same as nothing. */
function newestOf(points: readonly TrafficPoint[]): number {
  const last = points.at(-1);
  return Math.floor((last === undefined ? Date.now() : Date.parse(last.time)) / 1000);
}

type Line = readonly (number | null)[];

export interface TrafficLines {
  readonly times: readonly number[];
  readonly requests: Line;
  readonly errors: Line;
  readonly p50: Line;
  readonly p99: Line;
  readonly firstByte: Line;
  readonly inputTokens: Line;
  readonly outputTokens: Line;
  readonly cost: Line;
}

/** A value for every second: a second without a point had no requests, and no times to tell. */
export function linesOf(points: readonly TrafficPoint[], seconds: number): TrafficLines {
  const bySecond = new Map(points.map((point) => [Math.floor(Date.parse(point.time) / 1000), point]));
  const last = newestOf(points);
  const times = Array.from({ length: seconds }, (_, index) => last - seconds + 1 + index);
  const line = (of: (point: TrafficPoint) => number | null, otherwise: number | null): Line =>
    times.map((time) => {
      const point = bySecond.get(time);
      return point === undefined ? otherwise : of(point);
    });
  return {
    times,
    requests: line(({ requests }) => requests, 0),
    errors: line(({ errors }) => errors, 0),
    p50: line(({ p50_ms }) => p50_ms, null),
    p99: line(({ p99_ms }) => p99_ms, null),
    firstByte: line(({ first_byte_p50_ms }) => first_byte_p50_ms, null),
    inputTokens: line(({ input_tokens }) => input_tokens, 0),
    outputTokens: line(({ output_tokens }) => output_tokens, 0),
    cost: line(({ cost }) => cost, 0),
  };
}
