// One round of a benchmark: starts a subject, warms it up, puts it under load, and measures what it uses meanwhile.
import { usageOf } from "./process-usage.ts";
import { untilReady } from "./pinned-process.ts";
import type { Subject } from "./subjects.ts";
import type { Workload } from "./workload.ts";
import { newConversations, runWrk, type Load } from "./wrk.ts";

export interface Round {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly idleMiB: number;
  /** At the end of the load. */
  readonly steadyMiB: number;
  /** The largest value during the load. */
  readonly peakMiB: number;
  /** After the load and `restMs`. */
  readonly restedMiB: number;
  /** The peak above the idle value, divided by the bytes in flight: connections × body size. Includes compiled code. */
  readonly perByteInFlight: number;
  /** The peak above the value after `restMs`, divided by the bytes in flight: memory for bodies, which is returned. */
  readonly returnedPerByteInFlight: number;
  readonly readyMs: number;
  /** If fewer than intended, the subject was too slow to warm up in time, and its CPU time per request is too high. */
  readonly warmedWith: number;
  /** How long its threads waited for a core that other processes used, as a fraction of the round. */
  readonly waited: number;
  /** Requests without a successful response; a round with any is invalid. */
  readonly failed: number;
  /** The fraction of the body bytes that had been sent before in the same conversation. */
  readonly repeated: number;
}

interface RoundOptions {
  readonly workload: Workload;
  readonly connections: number;
  readonly seconds: number;
  readonly warmRequests?: number;
  /** How long after the load the memory is read again; default at once. */
  readonly restMs?: number;
  /** Environment of the subject's process. */
  readonly env: Readonly<Record<string, string>>;
}

/** Time for a process to finish what it does after its start. */
const SETTLE_MS = 500;
/** Resident memory is read this often during the load. */
const SAMPLE_MS = 200;
/**
 * Enough to compare Gatehouse with itself. After 20,000 requests the JIT compilers still took a fifth of the CPU time of the
 * full configuration.
 */
export const WARM_REQUESTS = 60_000;
/**
 * Enough for the JIT compilers and the heap of a runtime to reach a steady state: between 60,000 and 190,000 requests the
 * compilers take a thirtieth of the CPU time of the full configuration, after that less than a hundredth.
 */
const STEADY_STATE_REQUESTS = 200_000;
const STEADY_STATE_BYTES = 1024;
/** With bodies up to MANY_BYTES, at least so many: with fewer, the compilers of the full configuration are still at work. */
const MIN_STEADY_REQUESTS = 40_000;
const MANY_BYTES = 128 * 1024;
/** Maximum duration of the warm-up, which does not depend on the length of a round. */
const MAX_WARM_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

/**
 * Returns how many requests of this size warm a process up, every subject alike. It is fewer for large bodies: most of their CPU time is spent
 * in loops over the body, which are compiled early.
 */
export function warmRequestsFor(bytes: number, ofOneKilobyte = STEADY_STATE_REQUESTS): number {
  const requests = Math.round(ofOneKilobyte * Math.min(1, Math.sqrt((2 * STEADY_STATE_BYTES) / bytes)));
  const least = bytes <= MANY_BYTES ? Math.min(MIN_STEADY_REQUESTS, ofOneKilobyte) : 0;
  return Math.max(requests, least);
}

export async function measureRound(subject: Subject, options: RoundOptions): Promise<Round> {
  const { connections, seconds, env } = options;
  const { body, bodyFile, turnFiles, bytes } = options.workload;
  const started = await subject.start(env);
  try {
    const headers = { "Content-Type": "application/json", ...subject.headers };
    // The subject is ready when it responds to the benchmark's own request.
    const readyMs = await untilReady(started.startedAt, started.url, { method: "POST", headers, body });
    await Bun.sleep(SETTLE_MS);
    const idle = usageOf(started.pid);
    const conversations = newConversations(turnFiles);
    const load = { url: started.url, bodyFile, conversations, headers: subject.headers, connections };
    const warmedWith = await warm(load, seconds, options.warmRequests);
    const scraping = scrape(started.metricsUrl);
    const peak = watchMemory(started.pid);
    const before = usageOf(started.pid);
    const result = await runWrk({ ...load, seconds });
    const after = usageOf(started.pid);
    scraping.stop();
    const peakBytes = Math.max(peak.stop(), after.residentBytes);
    await Bun.sleep(options.restMs ?? 0);
    const restedBytes = usageOf(started.pid).residentBytes;
    const bytesInFlight = connections * bytes;
    return {
      requestsPerSecond: result.requestsPerSecond,
      cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests,
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      idleMiB: idle.residentBytes / MEBIBYTE,
      steadyMiB: after.residentBytes / MEBIBYTE,
      peakMiB: peakBytes / MEBIBYTE,
      restedMiB: restedBytes / MEBIBYTE,
      perByteInFlight: (peakBytes - idle.residentBytes) / bytesInFlight,
      returnedPerByteInFlight: (peakBytes - restedBytes) / bytesInFlight,
      readyMs,
      warmedWith,
      waited: (after.waitedMicroseconds - before.waitedMicroseconds) / 1e6 / seconds,
      failed: result.errorResponses + result.failedConnections,
      repeated: result.repeated,
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
  const deadline = performance.now() + MAX_WARM_MS;
  while (requests < wanted && performance.now() < deadline)
    requests += (await runWrk({ ...load, seconds: Math.max(1, seconds / 2) })).requests;
  return requests;
}

/** Reads the resident memory until `stop`, which returns the largest value in bytes. */
function watchMemory(pid: number): { stop(): number } {
  let largest = 0;
  const timer = setInterval(() => (largest = Math.max(largest, usageOf(pid).residentBytes)), SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return largest;
    },
  };
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
