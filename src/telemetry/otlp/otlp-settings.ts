// Where traces, metrics and logs are sent, and how this service is described to the collector.
import type { Settings } from "../../config/settings.ts";

/** The receiver of one signal. */
export interface OtlpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the setting that has the URL. */
  readonly setting: string;
}

export type ResourceAttributes = Readonly<Record<string, string>>;

/** Returns null if traces are not exported. */
export function tracesEndpoint(settings: Settings): OtlpEndpoint | null {
  return endpointOf(settings, "TRACES", "/v1/traces");
}

/** Returns null if metrics are not exported. */
export function metricsEndpoint(settings: Settings): OtlpEndpoint | null {
  return settings.OTEL_METRICS_EXPORTER === "none" ? null : endpointOf(settings, "METRICS", "/v1/metrics");
}

/** Returns null if the records of requests are not exported. */
export function logsEndpoint(settings: Settings): OtlpEndpoint | null {
  return settings.REQUEST_LOG_SINK?.kind === "otlp" ? endpointOf(settings, "LOGS", "/v1/logs") : null;
}

/** The URL of a signal is used as it is; the path of the signal is appended to the general one. */
function endpointOf(
  settings: Settings,
  signal: "TRACES" | "METRICS" | "LOGS",
  path: string,
): OtlpEndpoint | null {
  const headers = settings[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`] ?? settings.OTEL_EXPORTER_OTLP_HEADERS;
  const setting = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT` as const;
  const url = settings[setting];
  if (url !== null) return { url, headers, setting };
  const general = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (general === null) return null;
  return { url: general.replace(/\/+$/, "") + path, headers, setting: "OTEL_EXPORTER_OTLP_ENDPOINT" };
}

/** Returns the URL without user, password and query, which may contain credentials. */
export function loggedUrl({ url }: Pick<OtlpEndpoint, "url">): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** Settings win over what this process says about itself, except for the SDK: that is what encodes the data. */
export function resourceOf(settings: Settings, version: string, instanceId: string): ResourceAttributes {
  const { OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES } = settings;
  return {
    "service.name": "gatehouse",
    "service.version": version,
    "service.instance.id": instanceId,
    ...OTEL_RESOURCE_ATTRIBUTES.attributes,
    ...(OTEL_SERVICE_NAME !== null && { "service.name": OTEL_SERVICE_NAME }),
    "telemetry.sdk.name": "gatehouse",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": version,
  };
}
