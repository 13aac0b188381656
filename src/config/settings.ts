// The settings: one table from which the parser, the messages and the reference are made.
// A bad value yields a sentence that names the setting, the fault and the mend.
import { BlockList, isIP } from "node:net";
import { availableParallelism } from "node:os";

export class SettingsError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = "SettingsError";
  }
}

/** Loopback and private ranges: where a load balancer of one's own stands. */
const PRIVATE_RANGES =
  "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10";

/** With the lag of timers it keeps below the 25 ms that a request may wait for a Redis that is gone. */
export const REDIS_SILENT_MS = 16;

interface Setting<T> {
  readonly meaning: string;
  /** As the reference shows it; what really applies when unset is `parse(undefined)`. */
  readonly shown: string;
  readonly parse: (text: string | undefined) => T;
}

const setting = <T>(shown: string, meaning: string, parse: (text: string | undefined) => T): Setting<T> => ({
  shown,
  meaning,
  parse,
});

export const SETTINGS = {
  SERVER_SECRET_KEY: setting(
    "generated on a loopback HOST",
    "signs and verifies the admin token",
    optionalText,
  ),
  HOST: setting("127.0.0.1", "address both listeners bind to", (text) => text ?? "127.0.0.1"),
  ADMIN_PORT: setting("8080", "port of the Admin API; 0 picks a free one", integer(8080, 0, 65535)),
  PROXY_PORT: setting("8081", "port of the data plane; 0 picks a free one", integer(8081, 0, 65535)),
  DATA_DIR: setting(
    "data",
    "where the embedded database and the generated secret live",
    (text) => text ?? "data",
  ),
  DATABASE_URL: setting("sqlite://<DATA_DIR>/gatehouse.db", "`sqlite://…` or `postgres://…`", databaseUrl),
  REDIS_URL: setting("none", "counters shared by several processes or nodes (Redis or Valkey)", redisUrl),
  REDIS_SILENT_MS: setting(
    String(REDIS_SILENT_MS),
    "milliseconds of silence after which limits are decided without Redis; more for one that is far away",
    integer(REDIS_SILENT_MS, 1, 4000),
  ),
  WORKERS: setting("1; with REDIS_URL the number of cores", "processes that share the listeners", workers),
  PLUGINS_DIR: setting("plugins", "custom plugins, a file or folder each", (text) => text ?? "plugins"),
  BASE_DOMAIN: setting("none", "`acme.BASE_DOMAIN` selects the gateway with subdomain `acme`", baseDomain),
  TRUSTED_PROXIES: setting(
    "loopback and private ranges",
    "CIDRs whose X-Forwarded-For and X-Real-IP are believed; `none` for nobody",
    trustedProxies,
  ),
  REQUIRE_API_KEY: setting("false", "`true`: every rule asks for an API key", boolean(false)),
  MAX_BODY_BYTES: setting("10485760", "larger bodies get 413", integer(10_485_760, 1, 2 ** 31 - 1)),
  MAX_IN_FLIGHT: setting(
    "20000",
    "requests that one process works on at once; further ones get 503",
    integer(20_000, 1, 65_000),
  ),
  ENCRYPTION_KEY: setting(
    "derived from SERVER_SECRET_KEY",
    "encrypts provider credentials at rest",
    optionalText,
  ),
  REVISIONS_KEPT: setting(
    "10000",
    "how many changes the log keeps, to look at and to go back to",
    integer(10_000, 1, 1_000_000),
  ),
  LOG_LEVEL: setting("info", "fatal, error, warn, info, debug, trace or silent", logLevel),
  LOG_FORMAT: setting("pretty on a terminal, json otherwise", "pretty or json", logFormat),
  REQUEST_LOG_SIZE: setting(
    "1000",
    "how many requests each process remembers for the Admin API; 0: none",
    integer(1000, 0, 100_000),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    "none",
    "traces are on when set: an OTLP/HTTP collector, as in `http://localhost:4318`",
    httpUrl,
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    "none",
    "headers for the collector, as in `api-key=…,x-tenant=acme`",
    otlpHeaders,
  ),
  OTEL_SERVICE_NAME: setting("gatehouse", "what traces call this service", (text) => text ?? "gatehouse"),
  OTEL_TRACES_SAMPLER_ARG: setting(
    "1",
    "share of the requests without a traced parent that is traced, from 0 to 1",
    share(1),
  ),
  OTEL_BSP_SCHEDULE_DELAY: setting(
    "1000",
    "milliseconds that spans wait for others before they are sent",
    integer(1000, 10, 60_000),
  ),
  DRAIN_DELAY_MS: setting(
    "1000",
    "after SIGTERM, how long new requests are still served",
    integer(1000, 0, 600_000),
  ),
  DRAIN_SECONDS: setting(
    "30",
    "how long running requests may take to finish at the end",
    integer(30, 0, 86_400),
  ),
} as const;

/** Taken to the byte: a token is signed with exactly what the server was given. */
const SECRETS = new Set(["SERVER_SECRET_KEY", "ENCRYPTION_KEY"]);

export type SettingName = keyof typeof SETTINGS;
export type Settings = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]["parse"]> };

export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const values: Record<string, unknown> = {};
  for (const [name, { parse }] of Object.entries(SETTINGS)) {
    // Compose files and CI systems set what they do not know to "": that is unset, not a value.
    const trimmed = environment[name]?.trim();
    const text = SECRETS.has(name) && trimmed !== "" ? environment[name] : trimmed;
    try {
      values[name] = parse(text === "" ? undefined : text);
    } catch (cause) {
      throw new SettingsError(`${name} ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }
  const settings = values as unknown as Settings;
  if ((environment["WORKERS"] ?? "").trim() === "" && settings.REDIS_URL !== null) {
    return { ...settings, WORKERS: availableParallelism() };
  }
  return settings;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function optionalText(text: string | undefined): string | null {
  return text ?? null;
}

function integer(fallback: number, min: number, max: number) {
  return (text: string | undefined): number => {
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`is "${text}"; give a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

function boolean(fallback: boolean) {
  return (text: string | undefined): boolean => {
    if (text === undefined) return fallback;
    if (text !== "true" && text !== "false") throw new Error(`is "${text}"; give true or false`);
    return text === "true";
  };
}

function oneOf<const T extends string>(choices: readonly T[], text: string): T {
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw new Error(`is "${text}"; give one of ${choices.join(", ")}`);
  return choice;
}

function logLevel(text: string | undefined) {
  return oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"], text ?? "info");
}

function logFormat(text: string | undefined) {
  return text === undefined ? null : oneOf(["pretty", "json"], text);
}

function workers(text: string | undefined): number {
  return integer(1, 1, 256)(text);
}

/** A database URL may hold a password, so its value is never repeated in a message. */
function databaseUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^sqlite:\/\/./.test(text)) return text;
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new Error(
    "cannot be used; give sqlite://path/to/file.db or postgres://user:password@host:5432/database",
  );
}

function redisUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^(redis|rediss|valkey|valkeys|redis\+unix|redis\+tls):\/\//.test(text) && URL.canParse(text))
    return text;
  throw new Error("cannot be used; give redis://host:6379 (or rediss:// for TLS)");
}

function httpUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new Error(`is "${text}"; give a URL such as http://localhost:4318`);
}

function share(fallback: number) {
  return (text: string | undefined): number => {
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value > 1)
      throw new Error(`is "${text}"; give a number from 0 to 1, such as 0.25`);
    return value;
  };
}

/** They may hold a key, so their value is never repeated in a message. */
function otlpHeaders(text: string | undefined): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const entry of (text ?? "").split(",")) {
    if (entry.trim() === "") continue;
    const equals = entry.indexOf("=");
    try {
      const name = entry.slice(0, Math.max(0, equals)).trim();
      headers[name.toLowerCase()] = decodeURIComponent(entry.slice(equals + 1).trim());
      new Headers(headers);
    } catch {
      throw new Error("cannot be used; give pairs such as api-key=secret,x-tenant=acme");
    }
  }
  return headers;
}

function baseDomain(text: string | undefined): string | null {
  if (text === undefined) return null;
  const domain = text.toLowerCase().replace(/^\.|\.$/g, "");
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) {
    throw new Error(`is "${text}"; give a domain such as gateway.example.com`);
  }
  return domain;
}

function trustedProxies(text: string | undefined): BlockList {
  const list = new BlockList();
  if (text === "none") return list;
  for (const entry of (text ?? PRIVATE_RANGES).split(",")) {
    const [address = "", prefix] = entry.trim().split("/");
    const family = isIP(address);
    const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
    const valid = family !== 0 && /^\d+$/.test(prefix ?? "0") && bits <= (family === 4 ? 32 : 128);
    if (!valid) {
      throw new Error(`has the entry "${entry.trim()}"; give CIDRs such as 10.0.0.0/8,fc00::/7, or none`);
    }
    list.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
