// Creates the memory budget of request bodies from the settings, and reports it in the metrics.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import { BodyBudget } from "../http/body-budget.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";

const MIB = 1024 * 1024;
/** The memory of a process without bodies. */
const OWN_BYTES = 128 * MIB;
/** A body is in memory up to three times: as it arrived, in a worker thread, and as it is sent. */
const COPIES = 3;
const MIN_BUDGET_BYTES = 8 * MIB;
/** With less memory, few large bodies are served at the same time. */
const AMPLE_MEMORY_BYTES = 384 * MIB;

/** Returns the default of MAX_BUFFERED_BYTES. `memory` is the limit of the container if there is one, else the memory of the machine. */
export function defaultBufferedBytes(memory: number, workers: number): number {
  return Math.max(MIN_BUDGET_BYTES, Math.floor((memory - OWN_BYTES) / COPIES / workers));
}

export function createBodyBudget(
  settings: Pick<Settings, "MAX_BUFFERED_BYTES" | "WORKERS">,
  metrics: Metrics,
  clock: Clock,
  log: Log,
): BodyBudget {
  const memory = process.constrainedMemory();
  const limit = settings.MAX_BUFFERED_BYTES ?? defaultBufferedBytes(memory, settings.WORKERS);
  if (memory < AMPLE_MEMORY_BYTES)
    log.warn(
      { memory_bytes: memory, max_buffered_bytes: limit },
      "memory below 384 MiB: few large request bodies are served at the same time",
    );
  const budget = new BodyBudget(limit, clock);
  const used = metrics.number("gatehouse_buffered_body_bytes", {});
  metrics.onCollect(() => (used.value = budget.used));
  return budget;
}
