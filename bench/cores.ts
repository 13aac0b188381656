// Assigns CPU cores: one for the gateway that is measured, the others for everything else.
import { availableParallelism, loadavg } from "node:os";

const count = availableParallelism();
const taskset = Bun.which("taskset");
const isPinned = taskset !== null && count > 1;

/** In the notation of taskset. */
export const GATEWAY_CORE = "0";
export const OTHER_CORES = count > 2 ? `1-${count - 1}` : "1";

export function pinTo(cores: string, command: readonly string[]): string[] {
  return isPinned ? ["taskset", "-c", cores, ...command] : [...command];
}

/** Moves this process and its future children off the gateway's core, and warns if the machine is busy. */
export function reserveGatewayCore(): void {
  const [load = 0] = loadavg();
  if (load > 1)
    console.log(
      `The machine is busy (load ${load.toFixed(1)} on ${count} cores): times and throughput are only indicative; ` +
        "compare the CPU time per request.",
    );
  if (!isPinned) {
    console.log(
      "Not pinned to cores: install taskset (apt-get install util-linux) and use two cores. The results are imprecise.",
    );
    return;
  }
  Bun.spawnSync(["taskset", "-apc", OTHER_CORES, String(process.pid)]);
}
