// Measures several gateways with several workloads in one run: the rounds alternate, and nginx is part of every run.
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { formatNumber } from "./grid.ts";
import { measureRound, warmRequestsFor, type Round } from "./measure-round.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { PREPARE, type Subject } from "./subjects.ts";
import { prepareWorkloads, type Workload } from "./workload.ts";
import { INSTALL_WRK, wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

interface ComparisonOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** A list of workloads, such as `1k,20k,conversation`. */
  readonly body: string;
  readonly same?: boolean;
  /** Ids of PREPARE; nginx is added if it is missing. */
  readonly subjects: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Requests of 1 kB that warm a process up; fewer if they are larger. */
  readonly warmRequests?: number;
  /** How long after the load the memory is read again; default at once. */
  readonly restMs?: number;
}

export interface Comparison {
  readonly subjects: readonly Subject[];
  readonly workloads: readonly Workload[];
  /** By name of the workload and id of the subject. */
  readonly rounds: Readonly<Record<string, Readonly<Record<string, Round[]>>>>;
}

/** Ends the process with a message if wrk or nginx is missing. */
export function requireTools(): void {
  if (wrk !== null && nginx !== null) return;
  console.log("SKIPPED: wrk creates the load, and nginx is the provider.");
  if (wrk === null) console.log(`  wrk is not installed: ${INSTALL_WRK}`);
  if (nginx === null) console.log(`  nginx is not installed: ${INSTALL_NGINX}`);
  process.exit(0);
}

/** Parses `NAME=value NAME=value`. */
export function readVariables(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(" ")
      .filter(Boolean)
      .map((pair) => pair.split(/=(.*)/s).slice(0, 2)),
  );
}

export async function compare(script: string, options: ComparisonOptions): Promise<Comparison> {
  const ids = [...new Set(["nginx", ...options.subjects])];
  const unknown = ids.filter((id) => PREPARE[id] === undefined);
  if (unknown.length > 0)
    return exitWithUsage(
      `${script}: unknown ${unknown.join(", ")}; use some of ${Object.keys(PREPARE).join(", ")}`,
    );
  const folder = temporaryFolder();
  const workloads = readWorkloads(script, folder, options);
  reserveGatewayCore();
  const provider = freePort();
  startNginxProvider(folder, provider, OTHER_CORES);
  const subjects: Subject[] = [];
  for (const id of ids) {
    const prepared = await PREPARE[id]!(folder, provider);
    if (typeof prepared === "string") console.log(`SKIPPED ${id}: ${prepared}`);
    else subjects.push(prepared);
  }
  const rounds = Object.fromEntries(
    workloads.map(({ name }) => [name, Object.fromEntries(subjects.map(({ id }) => [id, [] as Round[]]))]),
  );
  const dropped = new Set<Subject>();
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of workloads) {
      for (const subject of subjects.filter((each) => !dropped.has(each))) {
        try {
          const measured = await measureOne(subject, workload, options);
          console.log(
            `round ${round}  ${workload.name.padEnd(12)} ${subject.title.padEnd(18)} ${lineOf(measured)}`,
          );
          if (measured !== null) rounds[workload.name]![subject.id]!.push(measured);
        } catch (error) {
          if (subject.isPeer !== true) throw error;
          dropped.add(subject);
          console.log(`SKIPPED ${subject.id}: ${(error as Error).message.replaceAll(/\s+/g, " ")}`);
        }
      }
    }
  }
  return { subjects, workloads, rounds };
}

function readWorkloads(script: string, folder: string, { body, same }: ComparisonOptions): Workload[] {
  try {
    return prepareWorkloads(folder, body, same);
  } catch (error) {
    return exitWithUsage(`${script}: ${(error as Error).message}`);
  }
}

function exitWithUsage(message: string): never {
  console.error(message);
  process.exit(2);
}

interface MeasuredRound extends Round {
  readonly isCold: boolean;
}

/** Resolves to null if the subject did not respond. */
async function measureOne(
  subject: Subject,
  workload: Workload,
  { connections, seconds, env = {}, restMs = 0, ...options }: ComparisonOptions,
): Promise<MeasuredRound | null> {
  const warmRequests = warmRequestsFor(workload.bytes, options.warmRequests);
  const measured = await measureRound(subject, {
    workload,
    connections,
    seconds,
    env,
    warmRequests,
    restMs,
  });
  if (!Number.isFinite(measured.cpuMicroseconds)) return null;
  return { ...measured, isCold: measured.warmedWith < warmRequests };
}

function lineOf(measured: MeasuredRound | null): string {
  if (measured === null) return "VOID: no response in time";
  const { requestsPerSecond, cpuMicroseconds, waited, repeated, isCold, warmedWith, failed } = measured;
  return [
    `${formatNumber(requestsPerSecond)} requests/s`,
    `${formatNumber(cpuMicroseconds)} µs CPU/request`,
    `waited ${formatNumber(waited * 100)} %`,
    ...(repeated > 0 ? [`${formatNumber(repeated * 100)} % of the bytes repeated`] : []),
    ...(isCold ? [`COLD: only ${warmedWith} warm-up requests`] : []),
    ...(failed > 0 ? [`${failed} FAILED`] : []),
  ].join(", ");
}
