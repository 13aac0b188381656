// Turns the traffic points of the API into chart series.
import type { TrafficPoint } from "../api/item-types.ts";

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

/** Returns a value for each point. One without requests has no latencies. */
export function toSeries(points: readonly TrafficPoint[], stepSeconds: number): TrafficSeries {
  const series = (select: (point: TrafficPoint) => number | null): Series => points.map(select);
  return {
    times: points.map(({ time }) => Math.floor(Date.parse(time) / 1000 / stepSeconds) * stepSeconds),
    requests: series(({ requests }) => requests),
    errors: series(({ errors }) => errors),
    p50: series(({ p50_ms }) => p50_ms),
    p99: series(({ p99_ms }) => p99_ms),
    firstByte: series(({ first_byte_p50_ms }) => first_byte_p50_ms),
    firstToken: series(({ first_token_p50_ms }) => first_token_p50_ms),
    inputTokens: series(({ input_tokens }) => input_tokens),
    outputTokens: series(({ output_tokens }) => output_tokens),
    cost: series(({ cost }) => cost),
  };
}
