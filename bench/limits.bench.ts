// CPU time of three token limits and two budgets through the whole request path: two gateways that differ only in these, in alternating bursts.
import { setUpLoad } from "./load-setup.ts";
import { warm } from "./measure-round.ts";
import { usageOf } from "./process-usage.ts";
import { median, printTable } from "./report.ts";
import { PREPARE } from "./subjects.ts";
import { newConversations, runWrk, type Load } from "./wrk.ts";

const BURSTS = 16;
const BURST_SECONDS = 2;
const CONNECTIONS = 64;
const WARM_REQUESTS = 100_000;

export async function benchLimits(): Promise<void> {
  const setup = setUpLoad("limits");
  if (setup === null) return;
  const { folder, provider, workload } = setup;
  const subjects = [];
  for (const id of ["keyed", "limited"]) {
    const prepared = await PREPARE[id]!(folder, provider);
    if (typeof prepared === "string") throw new Error(prepared);
    const started = await prepared.start();
    const load: Omit<Load, "seconds"> = {
      url: started.url,
      headers: prepared.headers,
      bodyFile: workload.bodyFile,
      conversations: newConversations(workload.turnFiles),
      connections: CONNECTIONS,
    };
    await warm(load, BURST_SECONDS, WARM_REQUESTS);
    subjects.push({ started, load, costs: [] as number[] });
  }
  for (let burst = 0; burst < BURSTS; burst++)
    for (const subject of subjects) subject.costs.push(await burstCost(subject.started.pid, subject.load));
  for (const { started } of subjects) await started.stop();
  const [without, limited] = subjects.map(({ costs }) => costs) as [number[], number[]];
  const differences = limited.map((cost, burst) => cost - without[burst]!);
  printTable(`Limits: CPU time per request, ${BURSTS} bursts of ${BURST_SECONDS} s each in turn`, [
    { what: "without limits and budgets", value: median(without), unit: "µs" },
    { what: "three token limits, two budgets", value: median(limited), unit: "µs" },
    { what: "difference, median of the pairs", value: median(differences), unit: "µs", note: "limit 6" },
    { what: "ratio of the medians", value: median(limited) / median(without), unit: "" },
  ]);
}

async function burstCost(pid: number, load: Omit<Load, "seconds">): Promise<number> {
  const before = usageOf(pid).cpuMicroseconds;
  const { requests, errorResponses, failedConnections } = await runWrk({ ...load, seconds: BURST_SECONDS });
  if (errorResponses + failedConnections > 0)
    throw new Error(`${errorResponses} error responses, ${failedConnections} failed connections`);
  return (usageOf(pid).cpuMicroseconds - before) / requests;
}
