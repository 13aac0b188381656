// Which core the gateway runs on and which are left to everything else, so that what is measured has a core to itself.
import { availableParallelism } from "node:os";

const count = availableParallelism();
const taskset = Bun.which("taskset");
export const isPinned = taskset !== null && count > 1;

/** As taskset names them. */
export const GATEWAY_CORE = "0";
export const OTHER_CORES = count > 2 ? `1-${count - 1}` : "1";
export const ALL_CORES = `0-${count - 1}`;

export function onCores(cores: string, command: readonly string[]): string[] {
  return isPinned ? ["taskset", "-c", cores, ...command] : [...command];
}

/** The benchmark itself makes way for the gateway; what it starts inherits that. */
export function leaveGatewayCore(): void {
  if (!isPinned) {
    console.log(
      "Not pinned: this needs taskset (apt-get install util-linux) and two cores. The figures are rough.",
    );
    return;
  }
  Bun.spawnSync(["taskset", "-apc", OTHER_CORES, String(process.pid)]);
}
