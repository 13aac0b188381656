// Opens the tracer if a collector is configured.
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Tracer } from "./tracer.ts";

/** Returns null if no collector is set. The tracing code is not even loaded then. */
export async function openTracer(
  settings: Settings,
  version: string,
  metrics: Metrics,
  log: Log,
): Promise<Tracer | null> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === null) return null;
  const [{ Tracer }, { TraceExporter }] = await Promise.all([
    import("./tracer.ts"),
    import("./trace-exporter.ts"),
  ]);
  const options = {
    endpoint,
    headers: settings.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: settings.OTEL_SERVICE_NAME,
    version,
    delayMs: settings.OTEL_BSP_SCHEDULE_DELAY,
  };
  return new Tracer(new TraceExporter(options, metrics, log), settings.OTEL_TRACES_SAMPLER_ARG);
}
