// What a benchmark needs to send requests of 1 kB to gateways: a provider, a folder for their data, and the requests.
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { nginx, startNginxProvider } from "./nginx.ts";
import { prepareWorkloads, type Workload } from "./workload.ts";
import { wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

interface LoadSetup {
  readonly folder: string;
  /** The port of the provider. */
  readonly provider: number;
  readonly workload: Workload;
}

/** Reserves a core for the gateway. Returns null, with a message that names the benchmark, where wrk or nginx is not installed. */
export function setUpLoad(benchmark: string): LoadSetup | null {
  if (wrk === null || nginx === null) {
    console.log(`SKIPPED ${benchmark}: wrk or nginx is not installed`);
    return null;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const provider = freePort();
  startNginxProvider(folder, provider, OTHER_CORES);
  const [workload] = prepareWorkloads(folder, "1k");
  if (workload === undefined) throw new Error("there is no workload of 1 kB");
  return { folder, provider, workload };
}
