// The latency of a server that takes the same time for every request and never pauses, under the load of `bench:tail`. No gateway with this
// capacity has a shorter tail: what a measured one adds are pauses, and requests that take longer than others.
import { median, quantile } from "./report.ts";

interface PacedLoad {
  /** Requests per second that the server can serve. */
  readonly capacity: number;
  readonly requestsPerSecond: number;
  readonly connections: number;
}

const SIMULATED_MS = 4000;
/** Enough for the rate to be within a thousandth of the wanted one. */
const CORRECTIONS = 8;

/** Returns the p99 divided by the p50. */
export function idealTail(load: PacedLoad): number {
  const cycleMs = (load.connections / load.requestsPerSecond) * 1000;
  let pauseMs = cycleMs;
  let latencies: number[] = [];
  for (let correction = 0; correction < CORRECTIONS; correction++) {
    latencies = simulate(load, pauseMs);
    const simulatedCycleMs = (load.connections * SIMULATED_MS) / latencies.length;
    pauseMs = Math.max(0, pauseMs + cycleMs - simulatedCycleMs);
  }
  return quantile(latencies, 0.99) / median(latencies);
}

/** Each connection pauses for a random time after a response. Like `wrk`, it sends at whole milliseconds. */
function simulate({ capacity, connections }: PacedLoad, pauseMs: number): number[] {
  const serviceMs = 1000 / capacity;
  const random = seededRandom();
  /** How many requests are sent at each millisecond. */
  const sends = new Uint32Array(SIMULATED_MS);
  const sendAfter = (time: number) => {
    const at = Math.ceil(time - pauseMs * Math.log(1 - random()));
    if (at < SIMULATED_MS) sends[at] = (sends[at] ?? 0) + 1;
  };
  for (let connection = 0; connection < connections; connection++) sendAfter(0);
  const latencies: number[] = [];
  let freeAt = 0;
  for (let at = 0; at < SIMULATED_MS; at++) {
    for (let count = sends[at] ?? 0; count > 0; count--) {
      freeAt = Math.max(freeAt, at) + serviceMs;
      latencies.push(freeAt - at);
      sendAfter(freeAt);
    }
  }
  return latencies;
}

/** The same numbers in every run: a linear congruential generator with the constants of Numerical Recipes. */
function seededRandom(): () => number {
  let state = 1;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}
