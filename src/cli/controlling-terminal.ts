// The terminal that a process was started from. SIGHUP says that it is gone, or asks a service to reload.
import { closeSync, constants, openSync, readFileSync } from "node:fs";

const TERMINAL = "/dev/tty";
const SIGHUP_BIT = 1n;
/** For a process that replaces this one in place: it inherits no ignored signals, because this one handles them. */
const OUTLIVES_VARIABLE = "GATEHOUSE_OUTLIVES_TERMINAL";

/** Call before SIGHUP is handled. Returns a function that reports whether the process was started from a terminal that is gone. */
export function watchTerminal(): () => boolean {
  if (ignoresHangup()) process.env[OUTLIVES_VARIABLE] = "true";
  const isBound = hasTerminal() && process.env[OUTLIVES_VARIABLE] !== "true";
  return () => isBound && !hasTerminal();
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync(TERMINAL, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK));
    return true;
  } catch {
    return false;
  }
}

/** Whether the process is to outlive its terminal: nohup ignores the signal and redirects the output. */
function ignoresHangup(): boolean {
  try {
    const [, ignored = "0"] =
      /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return (BigInt(`0x${ignored}`) & SIGHUP_BIT) !== 0n;
  } catch {
    return !process.stdout.isTTY && !process.stderr.isTTY;
  }
}
