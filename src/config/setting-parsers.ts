// Parses the text of a setting. The message of an error completes a sentence that starts with the name of the setting.
import { BlockList, isIP } from "node:net";

/** Loopback, private, and link-local ranges, where the operator's own load balancers are located. */
const PRIVATE_RANGES =
  "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10";

export function optionalText(text: string | undefined): string | null {
  return text ?? null;
}

export function integer(fallback: number, min: number, max: number) {
  return (text: string | undefined): number => {
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Error(`is "${text}"; give a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

export function optionalInteger(min: number, max: number) {
  return (text: string | undefined): number | null =>
    text === undefined ? null : integer(min, min, max)(text);
}

export function boolean(fallback: boolean) {
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

export function logLevel(text: string | undefined) {
  return oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"], text ?? "info");
}

export function logFormat(text: string | undefined) {
  return text === undefined ? null : oneOf(["pretty", "json"], text);
}

export function metricsExporter(text: string | undefined) {
  return oneOf(["none", "otlp"], text ?? "none");
}

export function workers(text: string | undefined): number {
  return integer(1, 1, 256)(text);
}

type RequestLogSink = { readonly kind: "file"; readonly path: string } | { readonly kind: "otlp" };

export function requestLogSink(text: string | undefined): RequestLogSink | null {
  if (text === undefined) return null;
  if (text === "otlp") return { kind: "otlp" };
  const [, path] = /^file:(?:\/\/)?(.+)$/.exec(text) ?? [];
  if (path === undefined || path.endsWith("/"))
    throw new Error(`is "${text}"; give a file such as file:/var/log/gatehouse/requests.jsonl, or otlp`);
  return { kind: "file", path };
}

/** Messages do not contain the value: a database URL may contain a password. */
export function databaseUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text === "sqlite://:memory:")
    throw new Error(
      "is :memory:, which connections do not share; give a file such as sqlite://data/gatehouse.db",
    );
  if (/^sqlite:\/\/./.test(text)) return text;
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new Error(
    "is not valid; give sqlite://path/to/file.db or postgres://user:password@host:5432/database",
  );
}

export function redisUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [first = "", ...others] = text.split(",").map((url) => url.trim());
  const isRedis = (url: string) =>
    /^(redis|rediss|valkey|valkeys|redis\+unix|redis\+tls):\/\//.test(url) && URL.canParse(url);
  // Further nodes of a cluster may be host:port.
  if (isRedis(first) && others.every((url) => isRedis(url.includes("://") ? url : `redis://${url}`)))
    return text;
  throw new Error(
    "is not valid; give redis://host:6379 (or rediss:// for TLS), or nodes of a cluster: redis://host1:6379,host2:6379",
  );
}

export function httpUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new Error(`is "${text}"; give a URL such as http://localhost:4318`);
}

export function fraction(fallback: number) {
  return (text: string | undefined): number => {
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value > 1)
      throw new Error(`is "${text}"; give a number from 0 to 1, such as 0.25`);
    return value;
  };
}

/** Messages do not contain the value: it may contain an API key. */
export function otlpHeaders(text: string | undefined): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const entry of (text ?? "").split(",")) {
    if (entry.trim() === "") continue;
    const equals = entry.indexOf("=");
    try {
      const name = entry.slice(0, Math.max(0, equals)).trim();
      headers[name.toLowerCase()] = decodeURIComponent(entry.slice(equals + 1).trim());
      new Headers(headers);
    } catch {
      throw new Error("is not valid; give pairs such as api-key=secret,x-tenant=acme");
    }
  }
  return headers;
}

/** Returns null if the setting is absent, so that the headers for all signals apply. */
export function signalHeaders(text: string | undefined): Readonly<Record<string, string>> | null {
  return text === undefined ? null : otlpHeaders(text);
}

interface ResourceAttributes {
  readonly attributes: Readonly<Record<string, string>>;
  /** Why the value was discarded; null if it is valid. */
  readonly problem: string | null;
}

export const RESOURCE_ATTRIBUTES_FIX = "give pairs such as deployment.environment.name=prod,team=a%2Cb";

/** OpenTelemetry demands that a value with an error is discarded as a whole and reported, and does not stop the process. */
export function resourceAttributes(text: string | undefined): ResourceAttributes {
  const attributes = new Map<string, string>();
  for (const entry of (text ?? "").split(",")) {
    if (entry.trim() === "") continue;
    const equals = entry.indexOf("=");
    try {
      const name = decodeURIComponent(entry.slice(0, Math.max(0, equals)).trim());
      if (name === "") throw new Error("no name");
      attributes.set(name, decodeURIComponent(entry.slice(equals + 1).trim()));
    } catch {
      return { attributes: {}, problem: `has the entry "${entry.trim()}"` };
    }
  }
  return { attributes: Object.fromEntries(attributes), problem: null };
}

export function baseDomain(text: string | undefined): string | null {
  if (text === undefined) return null;
  const domain = text.toLowerCase().replace(/^\.|\.$/g, "");
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) {
    throw new Error(`is "${text}"; give a domain such as gateway.example.com`);
  }
  return domain;
}

export function trustedProxies(text: string | undefined): BlockList {
  const list = new BlockList();
  if (text === "none") return list;
  for (const entry of (text ?? PRIVATE_RANGES).split(",")) {
    const [address = "", prefix, ...rest] = entry.trim().split("/");
    // A list cannot tell the zones of an address (fe80::1%eth0) apart.
    const family = rest.length > 0 || address.includes("%") ? 0 : isIP(address);
    const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
    const valid = family !== 0 && /^\d+$/.test(prefix ?? "0") && bits <= (family === 4 ? 32 : 128);
    if (!valid) {
      throw new Error(`has the entry "${entry.trim()}"; give CIDRs such as 10.0.0.0/8,fc00::/7, or none`);
    }
    list.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

/** Returns the address without a slash at the end. */
export function publicUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url?.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (url !== null && isPlain && /^https?:$/.test(url.protocol) && !/[?#]/.test(text))
    return url.href.replace(/\/+$/, "");
  throw new Error(
    `is "${text}"; give an http or https address without query and credentials, such as https://ai.example.com`,
  );
}
