// CPU time of three token limits and two budgets through the whole request path: two gateways that differ only in these, in alternating
// bursts. One process serves both, because two processes of the same program differ by up to 20 %. nginx shows how fast the machine is.
import { join } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { GATEWAY_CORE } from "./cores.ts";
import { addKeyed } from "./full-gatehouse.ts";
import { startGatehouse } from "./gatehouse.ts";
import { setUpLoad } from "./load-setup.ts";
import { warm } from "./measure-round.ts";
import { startNginxProxy } from "./nginx.ts";
import { untilReady } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { median, printTable, quantile } from "./report.ts";
import { newConversations, runWrk, type Load } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const BURSTS = 32;
const BURST_SECONDS = 1;
const CONNECTIONS = 64;
/** As many as for the gateways of `bench:peers`: the compiler still works on the code of limits after 100,000. */
const WARM_REQUESTS = 200_000;
/** Other processes and virtual machines on the same hardware only make a burst slower: the fastest show what the code itself takes. */
const FASTEST = 0.25;

interface Subject {
  readonly pid: number;
  readonly load: Omit<Load, "seconds">;
  readonly costs: number[];
}

export async function benchLimits(): Promise<void> {
  const setup = setUpLoad("limits");
  if (setup === null) return;
  const { folder, provider, workload } = setup;
  const subjectOf = (pid: number, url: string, headers: Record<string, string>): Subject => ({
    pid,
    load: {
      url: url + CHAT_PATH,
      headers,
      bodyFile: workload.bodyFile,
      conversations: newConversations(workload.turnFiles),
      connections: CONNECTIONS,
    },
    costs: [],
  });
  const gatehouse = await startGatehouse({ dataDir: folder, logTo: join(folder, "access.log") });
  const addGateway = async (name: "keyed" | "limited") => {
    const key = await addKeyed(gatehouse, `http://127.0.0.1:${provider}`, name);
    return subjectOf(gatehouse.pid, gatehouse.proxyUrl, { "X-GW-API-Key": key });
  };
  const [keyed, limited] = [await addGateway("keyed"), await addGateway("limited")];
  const nginxPort = freePort();
  const proxy = startNginxProxy(folder, nginxPort, provider, GATEWAY_CORE);
  const nginx = subjectOf(proxy.pid, `http://127.0.0.1:${nginxPort}`, {});
  await untilReady(proxy.startedAt, nginx.load.url);
  for (const { load } of [keyed, limited]) await warm(load, BURST_SECONDS, WARM_REQUESTS);
  const subjects = [keyed, limited, nginx];
  for (let burst = 0; burst < BURSTS; burst++)
    // Each is first in half of the pairs: the speed of a machine changes.
    for (const subject of burst % 2 === 0 ? subjects : subjects.toReversed())
      subject.costs.push(await burstCost(subject));
  await gatehouse.stop();
  await proxy.stop();
  report(keyed.costs, limited.costs, nginx.costs);
}

function report(without: readonly number[], limited: readonly number[], nginx: readonly number[]): void {
  const differences = limited.map((cost, burst) => cost - without[burst]!);
  const fastest = [quantile(without, FASTEST), quantile(limited, FASTEST)] as const;
  printTable(`Limits: CPU time per request, ${BURSTS} bursts of ${BURST_SECONDS} s each in turn`, [
    { what: "without limits and budgets", value: median(without), unit: "µs" },
    { what: "three token limits, two budgets", value: median(limited), unit: "µs" },
    { what: "difference, median of the pairs", value: median(differences), unit: "µs", note: "limit 6" },
    { what: "ratio of the medians", value: median(limited) / median(without), unit: "" },
    { what: "without limits, fastest quarter", value: fastest[0], unit: "µs" },
    { what: "with limits, fastest quarter", value: fastest[1], unit: "µs" },
    {
      what: "difference of the fastest quarters",
      value: fastest[1] - fastest[0],
      unit: "µs",
      note: "limit 6",
    },
    { what: "nginx", value: median(nginx), unit: "µs" },
    { what: "difference ÷ nginx", value: median(differences) / median(nginx), unit: "" },
  ]);
}

async function burstCost({ pid, load }: Subject): Promise<number> {
  const before = usageOf(pid).cpuMicroseconds;
  const { requests, errorResponses, failedConnections } = await runWrk({ ...load, seconds: BURST_SECONDS });
  if (errorResponses + failedConnections > 0)
    throw new Error(`${errorResponses} error responses, ${failedConnections} failed connections`);
  return (usageOf(pid).cpuMicroseconds - before) / requests;
}
