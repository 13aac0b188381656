// The compose file: existing settings, a clear error for a missing secret, exact image versions, working health checks.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { readSettings, SETTINGS } from "../../src/config/settings.ts";
import { Health } from "../../src/telemetry/health.ts";
import { hasExactTag, ROOT } from "./dockerfile.ts";

interface Service {
  readonly image: string;
  readonly user?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly tmpfs: readonly string[];
  readonly networks: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly stop_grace_period?: string;
}

const DEPLOY = join(ROOT, "deploy");
const text = readFileSync(join(DEPLOY, "compose.yaml"), "utf8");
const compose = Bun.YAML.parse(text) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const nginx = readFileSync(join(DEPLOY, "docker/nginx.conf"), "utf8");
const services = Object.entries(compose.services);
const gateway = compose.services["gateway"]!;

/** Replaces `${NAME:-default}` and `${NAME:?error}` like compose. */
function substitute(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const value = environment[name] ?? "";
    if (value === "" && kind === "?") throw new Error(`${name}: ${rest}`);
    return value === "" ? rest : value;
  });
}

const settingsFrom = (environment: Readonly<Record<string, string>>) =>
  readSettings(
    Object.fromEntries(
      Object.entries(gateway.environment ?? {}).map(([name, value]) => [
        name,
        substitute(String(value), environment),
      ]),
    ),
  );

const SECRETS = { SERVER_SECRET_KEY: "s".repeat(64), POSTGRES_PASSWORD: "p".repeat(64) };

describe("the gateway in the compose file", () => {
  test("sets only existing settings, to valid values", () => {
    for (const name of Object.keys(gateway.environment ?? {})) expect(Object.keys(SETTINGS)).toContain(name);
    const settings = settingsFrom(SECRETS);
    expect(settings).toMatchObject({
      SERVER_SECRET_KEY: SECRETS.SERVER_SECRET_KEY,
      ENCRYPTION_KEY: null,
      WORKERS: 1,
    });
    expect(settings.DATABASE_URL).toBe(
      `postgres://gatehouse:${SECRETS.POSTGRES_PASSWORD}@postgres:5432/gatehouse`,
    );
    for (const url of [settings.DATABASE_URL, settings.REDIS_URL])
      expect(Object.keys(compose.services)).toContain(new URL(url ?? "").hostname);
  });

  test("a missing secret is a clear error", () => {
    for (const name of ["SERVER_SECRET_KEY", "POSTGRES_PASSWORD"])
      expect(() => settingsFrom({ ...SECRETS, [name]: "" })).toThrow(
        `${name}: set it to the output of openssl`,
      );
    for (const match of text.matchAll(/\$\{((?!ALLOW_)\w*(?:PASSWORD|SECRET)\w*):(.)/g))
      expect(match[2]).toBe("?");
  });

  test("has time to drain", () => {
    const { DRAIN_DELAY_MS, DRAIN_SECONDS } = settingsFrom(SECRETS);
    const [, grace = "0"] = /^(\d+)s$/.exec(gateway.stop_grace_period ?? "") ?? [];
    expect(Number(grace)).toBeGreaterThanOrEqual(DRAIN_DELAY_MS / 1000 + DRAIN_SECONDS + 10);
  });

  test("is the image of this version, built from this folder", () => {
    expect(gateway.image).toBe(`gatehouse:${packageJson.version}`);
    expect(join(DEPLOY, gateway.build!.context)).toBe(join(ROOT));
    expect(existsSync(join(ROOT, gateway.build!.dockerfile))).toBe(true);
  });

  test("can have any number of replicas: no published port and no container name", () => {
    expect(gateway.ports).toBeUndefined();
    expect(text).not.toContain("container_name");
  });
});

describe("every service of the compose file", () => {
  test.each(services)("%s is hardened and has an exact image version", (_, service) => {
    expect(hasExactTag(service.image)).toBe(true);
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
    expect(service.security_opt).toContain("no-new-privileges:true");
    expect(service.tmpfs).toContain("/tmp");
    // The image of the gateway sets its user.
    if (service.build === undefined) expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test.each(services)("%s has a health check without a shell, on an existing path", (_, service) => {
    const [kind, ...command] = service.healthcheck.test;
    expect(kind).toBe("CMD");
    for (const [, path = ""] of command.join(" ").matchAll(/:8081(\/\w+)/g))
      expect(new Health().respond(path)).not.toBeNull();
  });

  test.each(services)("%s mounts existing files, and waits for healthy services", (_, service) => {
    for (const volume of service.volumes) {
      const [from = ""] = volume.split(":");
      if (from.startsWith(".")) expect([from, existsSync(join(DEPLOY, from))]).toEqual([from, true]);
      else expect(Object.keys(compose.volumes)).toContain(from);
    }
    for (const network of service.networks) expect(Object.keys(compose.networks)).toContain(network);
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(condition).toBe("service_healthy");
      expect(compose.services[name]?.healthcheck).toBeDefined();
    }
  });

  test("only the gateway reaches the databases", () => {
    expect(compose.networks["back"]?.internal).toBe(true);
    for (const name of ["postgres", "valkey"]) {
      expect(compose.services[name]?.networks).toEqual(["back"]);
      expect(compose.services[name]?.ports).toBeUndefined();
    }
  });

  test("only the data plane is published to other machines", () => {
    const published = services.flatMap(([, { ports }]) => (ports ?? []).map((port) => substitute(port, {})));
    expect(published).toEqual(["0.0.0.0:8081:8081", "127.0.0.1:8080:8080"]);
  });
});

describe("the balancer's nginx.conf", () => {
  test("forwards to the gateway's ports by service name, and resolves the name again when replicas change", () => {
    const servers = [...nginx.matchAll(/^\s*server (\w+):(\d+) resolve max_fails=1 fail_timeout=10s;$/gm)];
    expect(servers.map(([, host, port]) => [host, Number(port)])).toEqual([
      ["gateway", settingsFrom(SECRETS).PROXY_PORT],
      ["gateway", settingsFrom(SECRETS).ADMIN_PORT],
    ]);
    expect(nginx).toContain("resolver 127.0.0.11 valid=1s");
    expect([...nginx.matchAll(/listen (\d+);/g)].map(([, port]) => port)).toEqual(["8081", "8080"]);
  });

  test("does not buffer streams, and repeats on another node only what reached no node", () => {
    for (const line of [
      "proxy_buffering off;",
      "proxy_http_version 1.1;",
      "proxy_connect_timeout 1s;",
      "proxy_next_upstream error timeout;",
    ])
      expect(nginx).toContain(line);
    expect(nginx).not.toMatch(/^\s*keepalive |non_idempotent/m);
  });
});
