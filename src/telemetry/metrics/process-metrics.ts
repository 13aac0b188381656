// Metrics of this process: CPU time, memory, open files and event loop lag.
import { readdirSync } from "node:fs";
import type { Metrics } from "./metrics.ts";

const LAG_INTERVAL_MS = 250;

/** Returns a function that stops the collection. */
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
  let expected = performance.now() + LAG_INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - expected) / 1000);
    expected = now + LAG_INTERVAL_MS;
  }, LAG_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Null where /proc does not exist, as on macOS. */
function openFiles(): number | null {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return null;
  }
}
