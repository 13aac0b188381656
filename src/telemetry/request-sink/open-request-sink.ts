// Opens the sink that REQUEST_LOG_SINK names.
import type { Clock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RequestSink } from "./request-sink.ts";

/** Returns null if no sink is set. Its code is not even loaded then. */
export async function openRequestSink(
  settings: Settings,
  metrics: Metrics,
  log: Log,
  clock: Clock,
): Promise<RequestSink | null> {
  const sink = settings.REQUEST_LOG_SINK;
  if (sink === null) return null;
  const [{ RequestSink, sinkCounts }, { FileSink }] = await Promise.all([
    import("./request-sink.ts"),
    import("./file-sink.ts"),
  ]);
  const counts = sinkCounts(metrics);
  const file = {
    path: sink.path,
    maxBytes: settings.REQUEST_LOG_MAX_BYTES,
    keptFiles: settings.REQUEST_LOG_KEPT_FILES,
  };
  return new RequestSink(new FileSink({ file, counts, log, clock }), counts);
}
