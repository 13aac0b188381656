// Checks whether the collectors of traces and metrics accept connections.
import { RESOURCE_ATTRIBUTES_FIX } from "../../config/setting-parsers.ts";
import type { Settings } from "../../config/settings.ts";
import { metricsEndpoint, tracesEndpoint, type OtlpEndpoint } from "../../telemetry/otlp/otlp-settings.ts";
import { ok, warn, type CheckResult } from "./check-result.ts";
import { checkConnection } from "./connection-check.ts";

export async function checkTraces(settings: Settings): Promise<CheckResult[]> {
  const endpoint = tracesEndpoint(settings);
  const results = [
    endpoint === null
      ? ok("traces", "not exported: OTEL_EXPORTER_OTLP_ENDPOINT is not set")
      : await checkEndpoint("traces", endpoint),
  ];
  const { problem } = settings.OTEL_RESOURCE_ATTRIBUTES;
  if (problem !== null) {
    const detail = `OTEL_RESOURCE_ATTRIBUTES ${problem}; all resource attributes are discarded`;
    results.push(warn("traces", detail, RESOURCE_ATTRIBUTES_FIX));
  }
  return results;
}

export async function checkMetrics(settings: Settings): Promise<CheckResult[]> {
  const endpoint = metricsEndpoint(settings);
  if (endpoint === null) return [ok("metrics", "not exported: OTEL_METRICS_EXPORTER is none")];
  return [await checkEndpoint("metrics", endpoint)];
}

export function checkEndpoint(name: string, { url, setting }: OtlpEndpoint): Promise<CheckResult> {
  return checkConnection(name, new URL(url), { setting, server: "the collector" });
}
