// Opens the tracer if a collector is configured.
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { resourceOf, tracesEndpoint } from "../otlp/otlp-settings.ts";
import type { Service } from "../siblings.ts";
import type { Tracer } from "./tracer.ts";

/** Returns null if no collector is set. The tracing code is not even loaded then. */
export async function openTracer(
  settings: Settings,
  version: string,
  { instanceId }: Service,
  metrics: Metrics,
  log: Log,
): Promise<Tracer | null> {
  const endpoint = tracesEndpoint(settings);
  if (endpoint === null) return null;
  const [{ Tracer }, { TraceExporter }] = await Promise.all([
    import("./tracer.ts"),
    import("./trace-exporter.ts"),
  ]);
  const options = {
    endpoint,
    resource: resourceOf(settings, version, instanceId),
    version,
    delayMs: settings.OTEL_BSP_SCHEDULE_DELAY,
  };
  return new Tracer(new TraceExporter(options, metrics, log), settings.OTEL_TRACES_SAMPLER_ARG);
}
