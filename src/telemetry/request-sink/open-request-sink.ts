// Opens the sink that REQUEST_LOG_SINK names.
import type { Clock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { logsEndpoint, resourceOf } from "../otlp/otlp-settings.ts";
import type { Service } from "../siblings.ts";
import type { RecordOutput, RequestSink, SinkCounts } from "./request-sink.ts";

interface SinkParts {
  readonly settings: Settings;
  readonly version: string;
  readonly service: Service;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

/** Returns null if no sink is set. Its code is not even loaded then. */
export async function openRequestSink(parts: SinkParts): Promise<RequestSink | null> {
  if (parts.settings.REQUEST_LOG_SINK === null) return null;
  const { RequestSink, sinkCounts } = await import("./request-sink.ts");
  const counts = sinkCounts(parts.metrics);
  const output = (await openOtlp(parts, counts)) ?? (await openFile(parts, counts));
  return output === null ? null : new RequestSink(output, counts);
}

async function openFile(
  { settings, log, clock }: SinkParts,
  counts: SinkCounts,
): Promise<RecordOutput | null> {
  const { REQUEST_LOG_SINK: sink, REQUEST_LOG_MAX_BYTES: maxBytes } = settings;
  if (sink?.kind !== "file") return null;
  const { FileSink } = await import("./file-sink.ts");
  const file = { path: sink.path, maxBytes, keptFiles: settings.REQUEST_LOG_KEPT_FILES };
  return new FileSink({ file, counts, log, clock });
}

async function openOtlp(
  { settings, version, service, log }: SinkParts,
  counts: SinkCounts,
): Promise<RecordOutput | null> {
  const endpoint = logsEndpoint(settings);
  if (endpoint === null) return null;
  const { OtlpSink } = await import("./otlp-sink.ts");
  const resource = resourceOf(settings, version, service.instanceId);
  return new OtlpSink(
    { endpoint, resource, version, delayMs: settings.OTEL_BSP_SCHEDULE_DELAY },
    counts,
    log,
  );
}
