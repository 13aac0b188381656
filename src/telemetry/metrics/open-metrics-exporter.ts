// Opens the export of metrics if it is configured.
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../log/log.ts";
import { metricsEndpoint, resourceOf } from "../otlp/otlp-settings.ts";
import type { Siblings } from "../siblings.ts";
import type { MetricsSource } from "./metrics.ts";
import type { MetricsExporter } from "./metrics-exporter.ts";

/** Returns null if metrics are not exported, or another worker exports those of all. The code is not even loaded then. */
export async function openMetricsExporter(
  settings: Settings,
  version: string,
  source: MetricsSource,
  { service, isFirst }: Siblings,
  log: Log,
): Promise<MetricsExporter | null> {
  const endpoint = metricsEndpoint(settings);
  if (endpoint === null || !isFirst) return null;
  const { MetricsExporter } = await import("./metrics-exporter.ts");
  const options = {
    endpoint,
    resource: resourceOf(settings, version, service.instanceId),
    version,
    startedAt: service.startedAt,
    intervalMs: settings.OTEL_METRIC_EXPORT_INTERVAL,
  };
  return new MetricsExporter(options, source, log);
}
