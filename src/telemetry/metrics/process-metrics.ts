// Figures of this process: processor time, memory, open files, and how late its event loop is.
import { readdirSync } from "node:fs";
import type { Metrics } from "./metrics.ts";

const LAG_LOOK_MS = 250;

/** Returns how to stop looking. */
export function collectProcessMetrics(metrics: Metrics): () => void {
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  metrics.onCollect(() => {
    const { user, system } = process.cpuUsage();
    metrics.set("process_cpu_seconds_total", {}, (user + system) / 1e6);
    metrics.set("process_resident_memory_bytes", {}, process.memoryUsage.rss());
    metrics.set("process_start_time_seconds", {}, startedAt);
    const open = openFiles();
    if (open !== null) metrics.set("process_open_fds", {}, open);
  });
  const lag = metrics.histogram("gatehouse_event_loop_lag_seconds", {});
  let expected = performance.now() + LAG_LOOK_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - expected) / 1000);
    expected = now + LAG_LOOK_MS;
  }, LAG_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Null where the system does not tell, as on macOS. */
function openFiles(): number | null {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return null;
  }
}
