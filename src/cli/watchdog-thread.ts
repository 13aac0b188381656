// The thread of the watchdog. It loads no code of the gateway, and what it needs for a restart only when it restarts.
import { writeSync } from "node:fs";
import { openCLibrary } from "../base/c-library.ts";
import { HeartbeatMonitor, type Hang } from "./heartbeat-monitor.ts";
import { readMainThread } from "./main-thread.ts";
import { BEATS, IS_STOPPING, RESTART_VARIABLE, type WatchOrder } from "./watch-order.ts";

const STDERR = 2;
addEventListener("message", ({ data }: MessageEvent<WatchOrder>) => watch(data), { once: true });

function watch(order: WatchOrder): void {
  const state = new Int32Array(order.shared);
  const monitor = new HeartbeatMonitor(order.limitMs);
  const checks = setInterval(() => {
    const hang = monitor.check(Atomics.load(state, BEATS), () => readMainThread(process.pid));
    if (hang === null) return;
    clearInterval(checks);
    void end(order, hang, Atomics.load(state, IS_STOPPING) === 1);
  }, monitor.checkEveryMs);
}

/** The new process logs the restart, in the format of its log. */
async function end(order: WatchOrder, hang: Hang, isStopping: boolean): Promise<void> {
  if (isStopping) writeSync(STDERR, "gatehouse: the process hung while stopping; the watchdog kills it\n");
  else {
    try {
      await replaceProcess(order, hang);
    } catch (error) {
      writeSync(
        STDERR,
        `gatehouse: the process hung, and cannot restart itself: ${String(error)}; exiting\n`,
      );
    }
  }
  process.kill(process.pid, "SIGKILL");
}

/**
 * Returns only if it fails. execve(2) ends all threads, also one that loops, closes the sockets, and keeps the process id,
 * so that a container, systemd, or npm sees one process throughout. `process.execve` does not work in a thread.
 */
async function replaceProcess({ command, environment, restarts }: WatchOrder, hang: Hang): Promise<void> {
  const { ptr } = await import("bun:ffi");
  const { execve } = await openCLibrary({ execve: { args: ["ptr", "ptr", "ptr"], returns: "int" } });
  /** Buffers must not be collected before the call. */
  const kept: (Uint8Array | BigUint64Array)[] = [];
  const addressOf = (buffer: Uint8Array | BigUint64Array) => (kept.push(buffer), ptr(buffer));
  const cString = (text: string) => addressOf(Buffer.from(`${text}\0`));
  const cStrings = (texts: readonly string[]) =>
    addressOf(BigUint64Array.from([...texts.map((text) => BigInt(cString(text))), 0n]));
  const restart = JSON.stringify({ restarts: restarts + 1, ...hang });
  const variables = Object.entries({ ...environment, [RESTART_VARIABLE]: restart });
  const program = cString(command[0] ?? "");
  const argumentList = cStrings(command);
  const variableList = cStrings(variables.map(([name, value]) => `${name}=${value}`));
  execve(program, argumentList, variableList);
  throw new Error(`execve of ${command[0]} failed (${kept.length} arguments)`);
}
