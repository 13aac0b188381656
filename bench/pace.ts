// Finds the pauses between requests with which a load generator sends a given number of requests per second.
import { runWrk, type Load } from "./wrk.ts";

/** Resolves to the mean pause with which the connections send about `rate` requests per second. */
export async function findPace(load: Omit<Load, "seconds">, rate: number): Promise<number> {
  const period = (load.connections / rate) * 1000;
  const { requestsPerSecond } = await runWrk({ ...load, paceMs: period, seconds: 1 });
  // What a request takes besides the pause: its latency, and the granularity of the timer.
  const rest = (load.connections / requestsPerSecond) * 1000 - period;
  return Math.max(0, period - rest);
}
