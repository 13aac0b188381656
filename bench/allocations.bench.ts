// What a request of 1 kB allocates: objects by kind, and memory. The garbage collector is off, so that all of it stays. The values do not
// depend on the speed of the machine.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setUpLoad } from "./load-setup.ts";
import { warm } from "./measure-round.ts";
import { residentBytesOf } from "./process-usage.ts";
import { printTable } from "./report.ts";
import { PREPARE, type Subject } from "./subjects.ts";
import type { Workload } from "./workload.ts";
import { newConversations, runWrk } from "./wrk.ts";

const SECONDS = 3;
const CONNECTIONS = 64;
const WARM_REQUESTS = 100_000;
/** Kinds of which a request has less are not shown. */
const MIN_OBJECTS = 0.5;
const WAIT_MS = 100;
/** Counting takes about a second. */
const MAX_WAITS = 300;

type Counts = Readonly<Record<string, number>>;

export async function benchAllocations(): Promise<void> {
  const setup = setUpLoad("allocations");
  if (setup === null) return;
  const { folder, provider, workload } = setup;
  for (const id of ["bare", "keyed", "full"]) {
    const prepared = await PREPARE[id]!(folder, provider);
    if (typeof prepared === "string") throw new Error(prepared);
    await measure(prepared, workload, join(folder, `objects-${id}`));
  }
}

async function measure(subject: Subject, workload: Workload, countsFile: string): Promise<void> {
  const started = await subject.start({
    BUN_JSC_useGC: "0",
    // The launcher runs the sources if it is set: the executable cannot load another file.
    BUN_OPTIONS: `--preload=${join(import.meta.dir, "load/count-objects.ts")}`,
    BENCH_OBJECTS: countsFile,
  });
  const { bodyFile, turnFiles } = workload;
  const conversations = newConversations(turnFiles);
  const load = {
    url: started.url,
    headers: subject.headers,
    bodyFile,
    conversations,
    connections: CONNECTIONS,
  };
  await warm(load, SECONDS, WARM_REQUESTS);
  const before = await countObjects(started.pid, `${countsFile}-0`);
  const bytesBefore = residentBytesOf(started.pid);
  const { requests } = await runWrk({ ...load, seconds: SECONDS });
  const bytes = residentBytesOf(started.pid) - bytesBefore;
  const after = await countObjects(started.pid, `${countsFile}-1`);
  await started.stop();
  const kinds = Object.entries(after)
    .map(([kind, count]) => ({ what: kind, value: (count - (before[kind] ?? 0)) / requests, unit: "" }))
    .filter(({ value }) => value >= MIN_OBJECTS)
    .sort((a, b) => b.value - a.value);
  printTable(`${subject.title}, allocated by a request`, [
    { what: "memory", value: bytes / requests / 1000, unit: "kB" },
    { what: "objects", value: kinds.reduce((sum, { value }) => sum + value, 0), unit: "" },
    ...kinds,
  ]);
}

async function countObjects(pid: number, file: string): Promise<Counts> {
  process.kill(pid, "SIGUSR2");
  for (let waits = 0; !existsSync(file); waits++) {
    if (waits === MAX_WAITS) throw new Error(`the gateway did not write ${file}`);
    await Bun.sleep(WAIT_MS);
  }
  // The file may exist before it is complete.
  await Bun.sleep(WAIT_MS);
  return JSON.parse(readFileSync(file, "utf8")) as Counts;
}
