// The settings: one table (with telemetry-settings.ts) from which the parser, the error messages, and the reference are derived.
// The error for an invalid value names the setting, the value, and the fix.
import { availableParallelism } from "node:os";
import { parseEncryptionKeys } from "./encryption-keys.ts";
import { SIGN_IN_SETTINGS, signInSettings } from "./sign-in-settings.ts";
import { setting } from "./setting.ts";
import {
  baseDomain,
  boolean,
  databaseUrl,
  integer,
  optionalInteger,
  optionalText,
  publicUrl,
  redisUrl,
  trustedProxies,
  workers,
} from "./setting-parsers.ts";
import { TELEMETRY_SETTINGS } from "./telemetry-settings.ts";

export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SettingsError";
  }
}

/** Including timer lag, a request waits less than 25 ms for a Redis server that does not respond. */
export const REDIS_SILENT_MS = 16;
export const REDIS_CLOSED_MS = 1000;

export const SETTINGS = {
  SERVER_SECRET_KEY: setting(
    "generated on a loopback HOST",
    "secret that signs and verifies admin tokens",
    optionalText,
  ),
  ALLOW_WEAK_SECRET: setting(
    "false",
    "`true`: the gateway starts with a SERVER_SECRET_KEY below 32 bytes also on a HOST that other machines reach; a client that guesses " +
      "the secret controls all gateways",
    boolean(false),
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
    "directory of the embedded database, the generated secret, and what a killed process had not written to the database",
    (text) => text ?? "data",
  ),
  DATABASE_URL: setting(
    "sqlite://<DATA_DIR>/gatehouse.db",
    "database: `sqlite://…` or `postgres://…`",
    databaseUrl,
  ),
  REDIS_URL: setting(
    "none",
    "Redis or Valkey server for limits and budgets that several processes or nodes share; for a cluster several nodes, separated by commas",
    redisUrl,
  ),
  REDIS_SILENT_MS: setting(
    String(REDIS_SILENT_MS),
    "milliseconds without a response from Redis after which limits are checked locally; increase it for a distant server",
    integer(REDIS_SILENT_MS, 1, 4000),
  ),
  REDIS_CLOSED_MS: setting(
    String(REDIS_CLOSED_MS),
    "milliseconds after the last response of Redis for which a request waits that would be rejected without it, such as one with an enforced budget; later it is rejected at once",
    integer(REDIS_CLOSED_MS, 0, 60_000),
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
  PLUGIN_USER: setting(
    "the user of the gateway",
    "user that runs plugins with `isolation: process`; the gateway must run as root to start processes of another user",
    optionalText,
  ),
  PLUGIN_MEMORY_MB: setting(
    "256",
    "memory that a process of a plugin may use, in MB; a process that uses more is restarted",
    integer(256, 16, 1_048_576),
  ),
  BASE_DOMAIN: setting(
    "none",
    "domain of subdomains: Host `acme.<BASE_DOMAIN>` selects the gateway with subdomain `acme`",
    baseDomain,
  ),
  PUBLIC_URL: setting(
    "none",
    "address at which clients reach the data plane, such as https://ai.example.com; the console shows it in code for applications, the OAuth metadata of MCP endpoints contains it, and these accept its origin and, on a loopback HOST, its host",
    publicUrl,
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
  MAX_UPLOAD_BYTES: setting(
    "104857600",
    "maximum size in bytes of a form that uploads a file, such as audio, if no plugin reads it",
    integer(104_857_600, 1, 2 ** 31 - 1),
  ),
  MAX_BUFFERED_BYTES: setting(
    "a third of the memory above 128 MiB, divided by WORKERS, at least 8 MiB",
    "bytes of request bodies and of unfinished answers of MCP servers that a process keeps in memory; further ones are rejected with 503",
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
  ALLOW_ENVIRONMENT_CREDENTIALS: setting(
    "false",
    "`true`: targets with `aws_sigv4` credentials without keys use the AWS role of the gateway's environment; every " +
      "administrator can then send requests that are signed with it anywhere",
    boolean(false),
  ),
  ...SIGN_IN_SETTINGS,
  REVISIONS_KEPT: setting(
    "10000",
    "number of configuration revisions to keep for inspection and rollback",
    integer(10_000, 1, 1_000_000),
  ),
  AUDIT_KEPT: setting(
    "100000",
    "number of entries of the audit log to keep; older ones are removed, and remain only in the log lines",
    integer(100_000, 100, 1_000_000),
  ),
  MAX_BLOCKS: setting(
    "10000",
    "maximum number of blocks per gateway and type of limit; further clients that exceed the limit get 429",
    integer(10_000, 1, 100_000),
  ),
  ...TELEMETRY_SETTINGS,
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
const SECRETS = new Set(["SERVER_SECRET_KEY", "ENCRYPTION_KEY", "OIDC_CLIENT_SECRET"]);

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
  requireEndpoint(settings, "METRICS", "OTEL_METRICS_EXPORTER", settings.OTEL_METRICS_EXPORTER === "otlp");
  requireEndpoint(settings, "LOGS", "REQUEST_LOG_SINK", settings.REQUEST_LOG_SINK?.kind === "otlp");
  requireSignIn(settings);
  if ((environment["WORKERS"] ?? "").trim() === "" && settings.REDIS_URL !== null) {
    return { ...settings, WORKERS: availableParallelism() };
  }
  return settings;
}

function requireSignIn(settings: Settings): void {
  try {
    signInSettings(settings);
  } catch (cause) {
    throw new SettingsError(cause instanceof Error ? cause.message : String(cause));
  }
}

function requireEndpoint(
  settings: Settings,
  signal: "METRICS" | "LOGS",
  setting: SettingName,
  isExported: boolean,
): void {
  const name = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT` as const;
  if (!isExported || (settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? settings[name]) !== null) return;
  throw new SettingsError(
    `${setting} is otlp, but there is no endpoint; set OTEL_EXPORTER_OTLP_ENDPOINT or ${name}`,
  );
}
