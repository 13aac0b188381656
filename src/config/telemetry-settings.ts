// The settings of the log, the request log, traces and metrics.
import { hostname } from "node:os";
import { setting } from "./setting.ts";
import {
  fraction,
  httpUrl,
  integer,
  logFormat,
  logLevel,
  metricsExporter,
  optionalText,
  otlpHeaders,
  requestLogSink,
  resourceAttributes,
  signalHeaders,
} from "./setting-parsers.ts";

export const TELEMETRY_SETTINGS = {
  LOG_LEVEL: setting("info", "fatal, error, warn, info, debug, trace, or silent", logLevel),
  LOG_FORMAT: setting("pretty on a terminal, json otherwise", "pretty or json", logFormat),
  NODE_NAME: setting(
    "the host name",
    "name of this node in the request log, which covers all nodes that share REDIS_URL",
    (text) => text ?? hostname(),
  ),
  REQUEST_LOG_SIZE: setting(
    "1000",
    "number of requests that each process keeps in memory for the Admin API, shared fairly by the gateways; 0: request log off",
    integer(1000, 0, 100_000),
  ),
  REQUEST_LOG_SINK: setting(
    "none",
    "where the record of every request is written, so that it outlives the process: `file:/path/requests.jsonl`, or `otlp` for logs to an OTLP/HTTP collector",
    requestLogSink,
  ),
  REQUEST_LOG_MAX_BYTES: setting(
    "104857600",
    "size in bytes at which the file of REQUEST_LOG_SINK is rotated to `requests.jsonl.1`",
    integer(104_857_600, 1_048_576, Number.MAX_SAFE_INTEGER),
  ),
  REQUEST_LOG_KEPT_FILES: setting(
    "5",
    "number of rotated files of REQUEST_LOG_SINK to keep",
    integer(5, 1, 1000),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    "none",
    "URL of an OTLP/HTTP collector, for example `http://localhost:4318`; setting it turns traces on",
    httpUrl,
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    "OTEL_EXPORTER_OTLP_ENDPOINT followed by `/v1/traces`",
    "URL that traces are sent to, used as it is; setting it turns traces on",
    httpUrl,
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: setting(
    "OTEL_EXPORTER_OTLP_ENDPOINT followed by `/v1/metrics`",
    "URL that metrics are sent to, used as it is; see OTEL_METRICS_EXPORTER",
    httpUrl,
  ),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: setting(
    "OTEL_EXPORTER_OTLP_ENDPOINT followed by `/v1/logs`",
    "URL that request records are sent to, used as it is; see REQUEST_LOG_SINK",
    httpUrl,
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    "none",
    "request headers for the collector, for example `api-key=…,x-tenant=acme`",
    otlpHeaders,
  ),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: setting(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "request headers for traces, instead of the general ones",
    signalHeaders,
  ),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: setting(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "request headers for metrics, instead of the general ones",
    signalHeaders,
  ),
  OTEL_EXPORTER_OTLP_LOGS_HEADERS: setting(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "request headers for the collector of request records, instead of OTEL_EXPORTER_OTLP_HEADERS",
    signalHeaders,
  ),
  OTEL_SERVICE_NAME: setting(
    "service.name of OTEL_RESOURCE_ATTRIBUTES, else gatehouse",
    "service name in traces and metrics",
    optionalText,
  ),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    "none",
    "attributes of this service in traces and metrics, percent-encoded: `deployment.environment.name=prod,team=a%2Cb`; a value " +
      "with an invalid entry is reported at startup and discarded",
    resourceAttributes,
  ),
  OTEL_METRICS_EXPORTER: setting(
    "none",
    "`otlp`: the metrics of `/metrics` are also sent to the OTLP/HTTP collector",
    metricsExporter,
  ),
  OTEL_METRIC_EXPORT_INTERVAL: setting(
    "60000",
    "milliseconds between two exports of metrics",
    integer(60_000, 100, 3_600_000),
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    "1",
    "fraction of requests without a traced parent that are traced, from 0 to 1",
    fraction(1),
  ),
  OTEL_BSP_SCHEDULE_DELAY: setting(
    "1000",
    "milliseconds that spans and request records are collected before they are exported",
    integer(1000, 10, 60_000),
  ),
} as const;
