// The settings: one table from which the parser, the error messages, and the reference are derived.
// The error for an invalid value names the setting, the value, and the fix.
import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { parseEncryptionKeys } from "./encryption-keys.ts";
import {
  baseDomain,
  boolean,
  databaseUrl,
  fraction,
  httpUrl,
  integer,
  logFormat,
  logLevel,
  metricsExporter,
  optionalInteger,
  optionalText,
  otlpHeaders,
  redisUrl,
  resourceAttributes,
  signalHeaders,
  requestLogSink,
  trustedProxies,
  workers,
} from "./setting-parsers.ts";

export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SettingsError";
  }
}

/** Including timer lag, a request waits less than 25 ms for a Redis server that does not respond. */
export const REDIS_SILENT_MS = 16;

interface Setting<T> {
  readonly description: string;
  /** The default as the reference shows it. The default itself is `parse(undefined)`. */
  readonly shownDefault: string;
  readonly parse: (text: string | undefined) => T;
}

const setting = <T>(
  shownDefault: string,
  description: string,
  parse: (text: string | undefined) => T,
): Setting<T> => ({ shownDefault, description, parse });

export const SETTINGS = {
  SERVER_SECRET_KEY: setting(
    "generated on a loopback HOST",
    "secret that signs and verifies admin tokens",
    optionalText,
  ),
  HOST: setting("127.0.0.1", "address that all listeners bind to", (text) => text ?? "127.0.0.1"),
  ADMIN_PORT: setting("8080", "port of the Admin API; 0: a free port", integer(8080, 0, 65535)),
  ADMIN_FALLTHROUGH: setting(
    "true",
    "`false`: the admin listener serves only the Admin API, the console and metrics, and not the data plane",
    boolean(true),
  ),
  PROXY_PORT: setting("8081", "port of the data plane; 0: a free port", integer(8081, 0, 65535)),
  OPERATIONS_PORT: setting(
    "8082 with `--role proxy`, else none",
    "port that serves only health checks and metrics, as ADMIN_PORT does; 0: a free port",
    optionalInteger(0, 65535),
  ),
  DATA_DIR: setting(
    "data",
    "directory of the embedded database and the generated secret",
    (text) => text ?? "data",
  ),
  DATABASE_URL: setting(
    "sqlite://<DATA_DIR>/gatehouse.db",
    "database: `sqlite://…` or `postgres://…`",
    databaseUrl,
  ),
  REDIS_URL: setting(
    "none",
    "Redis or Valkey server for counters that several processes or nodes share",
    redisUrl,
  ),
  REDIS_SILENT_MS: setting(
    String(REDIS_SILENT_MS),
    "milliseconds without a response from Redis after which limits are checked locally; increase it for a distant server",
    integer(REDIS_SILENT_MS, 1, 4000),
  ),
  WORKERS: setting(
    "1; with REDIS_URL the number of cores",
    "number of processes that share the listeners",
    workers,
  ),
  PLUGINS_DIR: setting(
    "plugins",
    "directory of custom plugins: one file or folder per plugin",
    (text) => text ?? "plugins",
  ),
  BASE_DOMAIN: setting(
    "none",
    "domain of subdomains: Host `acme.<BASE_DOMAIN>` selects the gateway with subdomain `acme`",
    baseDomain,
  ),
  TRUSTED_PROXIES: setting(
    "loopback and private ranges",
    "addresses or CIDRs of proxies whose X-Forwarded-For and X-Real-IP headers are trusted; `none`: no proxy",
    trustedProxies,
  ),
  REQUIRE_API_KEY: setting("false", "`true`: every rule requires an API key", boolean(false)),
  MAX_BODY_BYTES: setting(
    "10485760",
    "maximum size of a request body in bytes; a larger one is rejected with 413",
    integer(10_485_760, 1, 2 ** 31 - 1),
  ),
  MAX_BUFFERED_BYTES: setting(
    "a quarter of the memory, divided by WORKERS",
    "bytes of request bodies that a process keeps in memory; further bodies are rejected with 503",
    optionalInteger(65_536, Number.MAX_SAFE_INTEGER),
  ),
  MAX_IN_FLIGHT: setting(
    "20000",
    "maximum number of concurrent requests per process; further requests are rejected with 503",
    integer(20_000, 1, 65_000),
  ),
  MAX_IN_FLIGHT_PER_CLIENT: setting(
    "10000",
    "maximum number of concurrent requests per process from one address (IPv6: one /64 network); further ones get 429",
    integer(10_000, 1, 65_000),
  ),
  MAX_IN_FLIGHT_PER_GATEWAY: setting(
    "15000",
    "maximum number of concurrent requests per process to one gateway; further ones get 429",
    integer(15_000, 1, 65_000),
  ),
  ENCRYPTION_KEY: setting(
    "derived from SERVER_SECRET_KEY",
    "key that encrypts provider credentials in the database; to replace it, several keys separated by commas: the first " +
      "encrypts, all decrypt",
    parseEncryptionKeys,
  ),
  REVISIONS_KEPT: setting(
    "10000",
    "number of configuration revisions to keep for inspection and rollback",
    integer(10_000, 1, 1_000_000),
  ),
  MAX_BLOCKS: setting(
    "10000",
    "maximum number of blocks per gateway and type of limit; further clients that exceed the limit get 429",
    integer(10_000, 1, 100_000),
  ),
  LOG_LEVEL: setting("info", "fatal, error, warn, info, debug, trace, or silent", logLevel),
  LOG_FORMAT: setting("pretty on a terminal, json otherwise", "pretty or json", logFormat),
  REQUEST_LOG_SIZE: setting(
    "1000",
    "number of requests that each process keeps in memory for the Admin API, shared fairly by the gateways; 0: request log off",
    integer(1000, 0, 100_000),
  ),
  REQUEST_LOG_SINK: setting(
    "none",
    "where the record of every request is written, so that it outlives the process: `file:/path/requests.jsonl`",
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
    "milliseconds that spans are collected before they are exported",
    integer(1000, 10, 60_000),
  ),
  WATCHDOG_SECONDS: setting(
    "5",
    "seconds after which a process that hangs is replaced, six times as many if it does not use the processor; 0: never",
    integer(5, 0, 3600),
  ),
  DRAIN_DELAY_MS: setting(
    "1000",
    "milliseconds after SIGTERM during which new requests are still accepted",
    integer(1000, 0, 600_000),
  ),
  DRAIN_SECONDS: setting(
    "30",
    "seconds that running requests have to finish on shutdown",
    integer(30, 0, 86_400),
  ),
} as const;

/** Secrets are not trimmed: tokens are signed with exactly the configured bytes. */
const SECRETS = new Set(["SERVER_SECRET_KEY", "ENCRYPTION_KEY"]);

type SettingName = keyof typeof SETTINGS;
export type Settings = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]["parse"]> };

export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const parsed = Object.entries(SETTINGS).map(([name, { parse }]) => {
    // Compose files and CI systems set a variable without a value to "", so "" counts as unset.
    const trimmed = environment[name]?.trim();
    const text = SECRETS.has(name) && trimmed !== "" ? environment[name] : trimmed;
    try {
      return [name, parse(text === "" ? undefined : text)] as const;
    } catch (cause) {
      throw new SettingsError(`${name} ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  });
  const settings = Object.fromEntries(parsed) as Settings;
  requireMetricsEndpoint(settings);
  if ((environment["WORKERS"] ?? "").trim() === "" && settings.REDIS_URL !== null) {
    return { ...settings, WORKERS: availableParallelism() };
  }
  return settings;
}

function requireMetricsEndpoint(settings: Settings): void {
  const { OTEL_METRICS_EXPORTER: exporter, OTEL_EXPORTER_OTLP_ENDPOINT: general } = settings;
  if (exporter === "none" || (general ?? settings.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT) !== null) return;
  throw new SettingsError(
    "OTEL_METRICS_EXPORTER is otlp, but there is no endpoint; set OTEL_EXPORTER_OTLP_ENDPOINT or " +
      "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  );
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
