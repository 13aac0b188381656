// The watchdog of a process without a supervisor: a thread watches the heartbeat of the event loop and, if it stops, replaces
// the process by a new one with the same process id. Also the facts that a replaced process passes on.
import type { Listening } from "../main.ts";
import { moduleUrl } from "../off-loop/module-url.ts";
import type { Log } from "../telemetry/log/log.ts";
import { CHECKS_PER_LIMIT, type Hang } from "./heartbeat-monitor.ts";
import { gatehouseCommand } from "./runtime-environment.ts";
import { BEATS, IS_STOPPING, RESTART_VARIABLE, SHARED_BYTES, type WatchOrder } from "./watch-order.ts";

const HANG_HINT =
  "synchronous code did not return, most likely an endless loop in a plugin hook; the request that caused it has no access log " +
  "record, so look for it in the log of its client or of the load balancer";

/** What a process knows about the restarts before it. */
interface Restart extends Partial<Hang> {
  /** Restarts by a watchdog so far. */
  readonly restarts: number;
}

export function readRestart(): Restart {
  const text = process.env[RESTART_VARIABLE];
  return text === undefined ? { restarts: 0 } : (JSON.parse(text) as Restart);
}

/** Returns the variables for a process that replaces another one. */
export function restartEnvironment(restart: Restart): Record<string, string> {
  return { [RESTART_VARIABLE]: JSON.stringify(restart) };
}

/** Returns the fields of a log record about a hang. */
export function hangFields(
  { silentMs, cpuMs }: Partial<Hang>,
  limitSeconds: number,
): Record<string, unknown> {
  return {
    limit_seconds: limitSeconds,
    ...(silentMs !== undefined && { silent_seconds: silentMs / 1000 }),
    ...(typeof cpuMs === "number" && { cpu_seconds: cpuMs / 1000 }),
    hint: HANG_HINT,
  };
}

/** Calls `beat` from the event loop, as often as the monitor expects it. */
export function startHeartbeat(limitSeconds: number, beat: () => void): void {
  setInterval(beat, (limitSeconds * 1000) / CHECKS_PER_LIMIT).unref();
}

/** Returns a function to call when this process begins to stop: it is not restarted from then on. */
export function startWatchdog(
  limitSeconds: number,
  args: readonly string[],
  listening: Listening,
  log: Log,
): () => void {
  const shared = new SharedArrayBuffer(SHARED_BYTES);
  const state = new Int32Array(shared);
  const url = moduleUrl(new URL("./watchdog-thread.ts", import.meta.url));
  const thread = new Worker(url, { name: "watchdog", smol: true });
  thread.addEventListener("error", (event) =>
    log.error({ err: event.message }, "watchdog failed; this process will not be restarted if it hangs"),
  );
  thread.unref();
  thread.postMessage({
    shared,
    limitMs: limitSeconds * 1000,
    command: gatehouseCommand("serve", ...args),
    environment: replacementEnvironment(listening),
    restarts: readRestart().restarts,
  } satisfies WatchOrder);
  startHeartbeat(limitSeconds, () => Atomics.add(state, BEATS, 1));
  return () => void Atomics.store(state, IS_STOPPING, 1);
}

/** Returns the environment of a process that replaces this one on the same ports, also if the settings are 0. */
export function replacementEnvironment(listening: Listening | null): Record<string, string> {
  const { adminPort = null, proxyPort = null, operationsPort = null } = listening ?? {};
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) environment[name] = value;
  if (adminPort !== null) environment["ADMIN_PORT"] = String(adminPort);
  if (proxyPort !== null) environment["PROXY_PORT"] = String(proxyPort);
  if (operationsPort !== null) environment["OPERATIONS_PORT"] = String(operationsPort);
  return environment;
}
