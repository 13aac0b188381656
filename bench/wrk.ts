// Runs wrk, the load generator, and parses its results.
import { join } from "node:path";
import { pinTo, OTHER_CORES } from "./cores.ts";

export const wrk = Bun.which("wrk");
export const INSTALL_WRK = "apt-get install wrk";

const SCRIPT = join(import.meta.dir, "load/chat.lua");

export interface Load {
  readonly url: string;
  readonly bodyFile: string;
  /** File with a path per line, optionally followed by a header name and value; used in turn instead of the URL's path. */
  readonly variantsFile?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
  /** Pause of each connection after a response; default none. */
  readonly restMs?: number;
  readonly cores?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Responses other than 2xx and 3xx. */
  readonly errorResponses: number;
  /** Failed connections and timeouts. */
  readonly failedConnections: number;
}

interface WrkOutput {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly errorResponses: number;
  readonly failedConnections: number;
}

export async function runWrk(load: Load): Promise<LoadResult> {
  const headers = Object.entries(load.headers ?? {}).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const seconds = `${Math.max(1, Math.round(load.seconds))}s`;
  const command = ["wrk", "-t1", `-c${load.connections}`, "-d", seconds, "--timeout", "10s", "-s", SCRIPT];
  const child = Bun.spawn(pinTo(load.cores ?? OTHER_CORES, [...command, ...headers, load.url]), {
    env: {
      PATH: process.env["PATH"],
      BENCH_BODY: load.bodyFile,
      ...(load.variantsFile !== undefined && { BENCH_VARIANTS: load.variantsFile }),
      ...(load.restMs !== undefined && { BENCH_REST: String(load.restMs) }),
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  const printed = await new Response(child.stdout).text();
  await child.exited;
  const [, result] = /^RESULT (.*)$/m.exec(printed) ?? [];
  if (result === undefined) throw new Error(`wrk printed no result:\n${printed}`);
  const { requests, microseconds, p50, p99, errorResponses, failedConnections } = JSON.parse(
    result,
  ) as WrkOutput;
  return {
    requests,
    requestsPerSecond: requests / (microseconds / 1e6),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    errorResponses,
    failedConnections,
  };
}
