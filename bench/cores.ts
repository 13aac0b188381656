// Which core the gateway runs on and which are left to everything else, so that what is measured has a core to itself.
import { availableParallelism, loadavg } from "node:os";

const count = availableParallelism();
const taskset = Bun.which("taskset");
export const isPinned = taskset !== null && count > 1;

/** As taskset names them. */
export const GATEWAY_CORE = "0";
export const OTHER_CORES = count > 2 ? `1-${count - 1}` : "1";

export function pinTo(cores: string, command: readonly string[]): string[] {
  return isPinned ? ["taskset", "-c", cores, ...command] : [...command];
}

/** Says how busy the machine is, and makes way for the gateway; what is started from here inherits that. */
export function reserveGatewayCore(): void {
  const [load = 0] = loadavg();
  if (load > 1)
    console.log(
      `The machine is busy (load ${load.toFixed(1)} on ${count} cores): times and throughput are indicative only; ` +
        "judge by the CPU a request.",
    );
  if (!isPinned) {
    console.log(
      "Not pinned: this needs taskset (apt-get install util-linux) and two cores. The figures are rough.",
    );
    return;
  }
  Bun.spawnSync(["taskset", "-apc", OTHER_CORES, String(process.pid)]);
}
