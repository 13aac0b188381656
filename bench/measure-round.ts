// One round of a benchmark: starts a subject, warms it up, puts it under load, and measures what it uses meanwhile.
import { usageOf } from "./process-usage.ts";
import { untilReady } from "./pinned-process.ts";
import type { Subject } from "./subjects.ts";
import { runWrk, type Load } from "./wrk.ts";

export interface Round {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly idleMiB: number;
  readonly steadyMiB: number;
  readonly readyMs: number;
  /** If fewer than intended, the subject was too slow to warm up in time, and its CPU time per request is too high. */
  readonly warmedWith: number;
  /** How long its threads waited for a core that other processes used, as a fraction of the round. */
  readonly waited: number;
  /** Requests without a successful response; a round with any is invalid. */
  readonly failed: number;
}

interface RoundOptions {
  readonly body: string;
  readonly bodyFile: string;
  readonly connections: number;
  readonly seconds: number;
  readonly warmRequests?: number;
  /** Environment of the subject's process. */
  readonly env: Readonly<Record<string, string>>;
}

/** Time for a process to finish what it does after its start. */
const SETTLE_MS = 500;
/**
 * Enough to compare Gatehouse with itself. After 20,000 requests the JIT compilers still took a fifth of the CPU time of the
 * full configuration.
 */
const WARM_REQUESTS = 60_000;
/**
 * Enough for the JIT compilers and the heap of a runtime to reach a steady state: between 60,000 and 190,000 requests the
 * compilers take a thirtieth of the CPU time of the full configuration, after that less than a hundredth.
 */
export const STEADY_STATE_REQUESTS = 200_000;
/** Maximum duration of the warm-up, as a multiple of a round. */
const MAX_WARM_ROUNDS = 10;
const MEBIBYTE = 1024 * 1024;

export async function measureRound(subject: Subject, options: RoundOptions): Promise<Round> {
  const { body, bodyFile, connections, seconds, env } = options;
  const started = await subject.start(env);
  try {
    const headers = { "Content-Type": "application/json", ...subject.headers };
    // The subject is ready when it responds to the benchmark's own request.
    const readyMs = await untilReady(started.startedAt, started.url, { method: "POST", headers, body });
    await Bun.sleep(SETTLE_MS);
    const idle = usageOf(started.pid);
    const load = { url: started.url, bodyFile, headers: subject.headers, connections };
    const warmedWith = await warm(load, seconds, options.warmRequests);
    const scraping = scrape(started.metricsUrl);
    const before = usageOf(started.pid);
    const result = await runWrk({ ...load, seconds });
    const after = usageOf(started.pid);
    scraping.stop();
    return {
      requestsPerSecond: result.requestsPerSecond,
      cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests,
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      idleMiB: idle.residentBytes / MEBIBYTE,
      steadyMiB: after.residentBytes / MEBIBYTE,
      readyMs,
      warmedWith,
      waited: (after.waitedMicroseconds - before.waitedMicroseconds) / 1e6 / seconds,
      failed: result.errorResponses + result.failedConnections,
    };
  } finally {
    await started.stop();
  }
}

/** Sends the same number of warm-up requests to slow and fast gateways, within a time limit; resolves to the number sent. */
export async function warm(
  load: Omit<Load, "seconds">,
  seconds: number,
  wanted = WARM_REQUESTS,
): Promise<number> {
  let requests = 0;
  const deadline = performance.now() + MAX_WARM_ROUNDS * seconds * 1000;
  while (requests < wanted && performance.now() < deadline)
    requests += (await runWrk({ ...load, seconds: Math.max(1, seconds / 2) })).requests;
  return requests;
}

/** Requests the metrics once per second, more often than Prometheus does. */
function scrape(url: string | undefined): { stop(): void } {
  if (url === undefined) return { stop: () => undefined };
  const timer = setInterval(
    () =>
      void fetch(url).then(
        (response) => response.text(),
        () => undefined,
      ),
    1000,
  );
  return { stop: () => clearInterval(timer) };
}
