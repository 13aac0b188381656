// One round of one subject: started anew, warmed, put under load, and what it used meanwhile.
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
  /** Below what was asked for the subject was too slow to be warmed in time, and its CPU a request is too high. */
  readonly warmedWith: number;
  /** How long its threads waited for a core that others had, as a share of the round. */
  readonly waited: number;
  /** Requests that got no good answer; a round with any says nothing. */
  readonly failed: number;
}

export interface RoundOptions {
  readonly body: string;
  readonly bodyFile: string;
  readonly connections: number;
  readonly seconds: number;
  readonly warmRequests?: number;
  /** For the subject's process. */
  readonly env: Readonly<Record<string, string>>;
}

/** Long enough for a process to have done what it does after its start. */
const SETTLE_MS = 500;
/** Enough to compare Gatehouse with itself: after 20,000 the compilers still took a fifth of the time of full. */
const WARM_REQUESTS = 60_000;
/**
 * Enough for the compilers and the heap of a runtime to have come to rest: between 60,000 and 190,000 the compilers take a
 * thirtieth of the time of full, behind that less than a hundredth.
 */
export const STEADY_STATE_REQUESTS = 200_000;
/** Times the length of a round. */
const WARM_AT_MOST = 10;
const MEBIBYTE = 1024 * 1024;

export async function measureRound(subject: Subject, options: RoundOptions): Promise<Round> {
  const { body, bodyFile, connections, seconds, env } = options;
  const started = await subject.start(env);
  try {
    const headers = { "Content-Type": "application/json", ...subject.headers };
    // Ready is who answers the real request.
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

/** A slow gateway gets as many requests to warm up with as a fast one, though not for ever. */
export async function warm(
  load: Omit<Load, "seconds">,
  seconds: number,
  wanted = WARM_REQUESTS,
): Promise<number> {
  let requests = 0;
  const deadline = performance.now() + WARM_AT_MOST * seconds * 1000;
  while (requests < wanted && performance.now() < deadline)
    requests += (await runWrk({ ...load, seconds: Math.max(1, seconds / 2) })).requests;
  return requests;
}

/** Asks for the metrics once a second, more often than Prometheus does. */
function scrape(url: string | undefined): { stop(): void } {
  if (url === undefined) return { stop: () => undefined };
  const timer = setInterval(
    () =>
      void fetch(url).then(
        (answer) => answer.text(),
        () => undefined,
      ),
    1000,
  );
  return { stop: () => clearInterval(timer) };
}
