// Runs wrk, the load generator, and parses its results.
import { join } from "node:path";
import { pinTo, OTHER_CORES } from "./cores.ts";

export const wrk = Bun.which("wrk");
export const INSTALL_WRK = "apt-get install wrk";

const SCRIPT = join(import.meta.dir, "load/chat.lua");

/** Texts that were never sent before. Several runs on one gateway share them, so that a run continues where the last one ended. */
interface Conversations {
  /** Templates of the requests of a conversation; load/chat.lua fills in its number. */
  readonly turnFiles: readonly string[];
  readonly firstNumber: number;
  /** Requests that the runs so far have sent. */
  issued: number;
}

/** Each source of texts numbers its conversations from another multiple of this. */
const NUMBERS_PER_SOURCE = 1e8;
let sources = 0;

/** Returns undefined if there are no templates. */
export function newConversations(turnFiles: readonly string[]): Conversations | undefined {
  if (turnFiles.length === 0) return undefined;
  return { turnFiles, firstNumber: sources++ * NUMBERS_PER_SOURCE, issued: 0 };
}

export interface Load {
  readonly url: string;
  readonly bodyFile: string;
  /** Sent instead of `bodyFile`. */
  readonly conversations?: Conversations | undefined;
  /** File with a path per line, optionally followed by a header name and value; used in turn instead of the URL's path. */
  readonly variantsFile?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
  /** Pause of each connection after a response; default none. */
  readonly restMs?: number;
  /** Mean of random pauses of each connection before a request; default none. */
  readonly paceMs?: number;
  readonly cores?: string;
  /** Threads of the load generator; default 1. `conversations` need a single one. */
  readonly threads?: number;
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
  /** The fraction of the body bytes that had been sent before in the same conversation. */
  readonly repeated: number;
}

interface WrkOutput {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly errorResponses: number;
  readonly failedConnections: number;
  readonly issued: number;
  readonly sentBytes: number;
  readonly repeatedBytes: number;
}

export async function runWrk(load: Load): Promise<LoadResult> {
  const headers = Object.entries(load.headers ?? {}).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const seconds = `${Math.max(1, Math.round(load.seconds))}s`;
  const command = [
    "wrk",
    `-t${load.threads ?? 1}`,
    `-c${load.connections}`,
    "-d",
    seconds,
    "--timeout",
    "10s",
    "-s",
    SCRIPT,
  ];
  const child = Bun.spawn(pinTo(load.cores ?? OTHER_CORES, [...command, ...headers, load.url]), {
    env: {
      PATH: process.env["PATH"],
      ...bodyVariables(load),
      ...(load.variantsFile !== undefined && { BENCH_VARIANTS: load.variantsFile }),
      ...(load.restMs !== undefined && { BENCH_REST: String(load.restMs) }),
      ...(load.paceMs !== undefined && { BENCH_PACE: String(load.paceMs) }),
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  const printed = await new Response(child.stdout).text();
  await child.exited;
  const [, result] = /^RESULT (.*)$/m.exec(printed) ?? [];
  if (result === undefined) throw new Error(`wrk printed no result:\n${printed}`);
  const output = JSON.parse(result) as WrkOutput;
  if (load.conversations !== undefined) load.conversations.issued = output.issued;
  const { requests, microseconds, p50, p99, errorResponses, failedConnections } = output;
  return {
    requests,
    requestsPerSecond: requests / (microseconds / 1e6),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    errorResponses,
    failedConnections,
    repeated: output.sentBytes === 0 ? 0 : output.repeatedBytes / output.sentBytes,
  };
}

function bodyVariables({ bodyFile, conversations, connections }: Load): Record<string, string> {
  if (conversations === undefined) return { BENCH_BODY: bodyFile };
  return {
    BENCH_TURNS: conversations.turnFiles.join("\n"),
    BENCH_CONVERSATIONS: String(connections),
    BENCH_FIRST: String(conversations.firstNumber),
    BENCH_SKIP: String(conversations.issued),
  };
}
