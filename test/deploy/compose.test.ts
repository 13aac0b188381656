// The compose file: only settings that there are, clear words for a missing secret, exact images, checks that can succeed.
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

const FOLDER = join(ROOT, "deploy");
const text = readFileSync(join(FOLDER, "compose.yaml"), "utf8");
const compose = Bun.YAML.parse(text) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const nginx = readFileSync(join(FOLDER, "docker/nginx.conf"), "utf8");
const services = Object.entries(compose.services);
const gateway = compose.services["gateway"]!;

/** As compose does it: `${NAME:-default}` and `${NAME:?what to do}`. */
function substitute(value: string, given: Readonly<Record<string, string>>): string {
  return value.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, word: string) => {
    const found = given[name] ?? "";
    if (found === "" && kind === "?") throw new Error(`${name}: ${word}`);
    return found === "" ? word : found;
  });
}

const settingsGiven = (given: Readonly<Record<string, string>>) =>
  readSettings(
    Object.fromEntries(
      Object.entries(gateway.environment ?? {}).map(([name, value]) => [
        name,
        substitute(String(value), given),
      ]),
    ),
  );

const SECRETS = { SERVER_SECRET_KEY: "s".repeat(64), POSTGRES_PASSWORD: "p".repeat(64) };

describe("the gateway in the compose file", () => {
  test("sets only settings that there are, to values that it accepts", () => {
    for (const name of Object.keys(gateway.environment ?? {})) expect(Object.keys(SETTINGS)).toContain(name);
    const settings = settingsGiven(SECRETS);
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
      expect(() => settingsGiven({ ...SECRETS, [name]: "" })).toThrow(
        `${name}: set it to the output of openssl`,
      );
    for (const match of text.matchAll(/\$\{(\w*(?:PASSWORD|SECRET)\w*):(.)/g)) expect(match[2]).toBe("?");
  });

  test("has the time to drain", () => {
    const { DRAIN_DELAY_MS, DRAIN_SECONDS } = settingsGiven(SECRETS);
    const [, grace = "0"] = /^(\d+)s$/.exec(gateway.stop_grace_period ?? "") ?? [];
    expect(Number(grace)).toBeGreaterThanOrEqual(DRAIN_DELAY_MS / 1000 + DRAIN_SECONDS + 10);
  });

  test("is the image of this version, built from this folder", () => {
    expect(gateway.image).toBe(`gatehouse:${packageJson.version}`);
    expect(join(FOLDER, gateway.build!.context)).toBe(join(ROOT));
    expect(existsSync(join(ROOT, gateway.build!.dockerfile))).toBe(true);
  });

  test("may have any number of replicas: nothing ties it to one", () => {
    expect(gateway.ports).toBeUndefined();
    expect(text).not.toContain("container_name");
  });
});

describe("every service of the compose file", () => {
  test.each(services)("%s is hardened, and has an exact image", (_, service) => {
    expect(hasExactTag(service.image)).toBe(true);
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
    expect(service.security_opt).toContain("no-new-privileges:true");
    expect(service.tmpfs).toContain("/tmp");
    // The gateway's own user stands in its image.
    if (service.build === undefined) expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test.each(services)("%s has a health check without a shell, on paths that there are", (_, service) => {
    const [kind, ...words] = service.healthcheck.test;
    expect(kind).toBe("CMD");
    for (const [, path = ""] of words.join(" ").matchAll(/:8081(\/\w+)/g))
      expect(new Health().respond(path)).not.toBeNull();
  });

  test.each(services)("%s mounts what there is, and waits for what is healthy", (_, service) => {
    for (const volume of service.volumes) {
      const [from = ""] = volume.split(":");
      if (from.startsWith(".")) expect([from, existsSync(join(FOLDER, from))]).toEqual([from, true]);
      else expect(Object.keys(compose.volumes)).toContain(from);
    }
    for (const network of service.networks) expect(Object.keys(compose.networks)).toContain(network);
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(condition).toBe("service_healthy");
      expect(compose.services[name]?.healthcheck).toBeDefined();
    }
  });

  test("databases are reached by the gateway alone", () => {
    expect(compose.networks["back"]?.internal).toBe(true);
    for (const name of ["postgres", "valkey"]) {
      expect(compose.services[name]?.networks).toEqual(["back"]);
      expect(compose.services[name]?.ports).toBeUndefined();
    }
  });

  test("only the data plane is published beyond this machine", () => {
    const published = services.flatMap(([, { ports }]) => (ports ?? []).map((port) => substitute(port, {})));
    expect(published).toEqual(["0.0.0.0:8081:8081", "127.0.0.1:8080:8080"]);
  });
});

describe("the balancer's nginx.conf", () => {
  test("passes on to the gateway's ports, by the service's name, found anew as replicas come and go", () => {
    const servers = [...nginx.matchAll(/^\s*server (\w+):(\d+) resolve max_fails=0;$/gm)];
    expect(servers.map(([, host, port]) => [host, Number(port)])).toEqual([
      ["gateway", settingsGiven(SECRETS).PROXY_PORT],
      ["gateway", settingsGiven(SECRETS).ADMIN_PORT],
    ]);
    expect(nginx).toContain("resolver 127.0.0.11 valid=1s");
    expect([...nginx.matchAll(/listen (\d+);/g)].map(([, port]) => port)).toEqual(["8081", "8080"]);
  });

  test("keeps connections and streams, and asks another node when one goes", () => {
    for (const line of [
      "proxy_buffering off;",
      "proxy_http_version 1.1;",
      'proxy_set_header Connection "";',
      "proxy_next_upstream error non_idempotent;",
    ])
      expect(nginx).toContain(line);
    expect([...nginx.matchAll(/keepalive \d+;/g)]).toHaveLength(2);
  });
});
