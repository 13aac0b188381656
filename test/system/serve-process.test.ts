// The server process: settings, secret, roles, health and signals.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, openConnection } from "../support/admin-fixtures.ts";
import {
  LAUNCHER,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const ROOT = join(import.meta.dir, "../..");
const scratch = temporaryDirectory();
const running: GatehouseProcess[] = [];
afterAll(async () => {
  await Promise.all(running.map((each) => each.stop()));
  rmSync(scratch, { recursive: true, force: true });
});

const start: typeof startGatehouseProcess = async (options) => {
  const started = await startGatehouseProcess(options);
  running.push(started);
  return started;
};

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command with settings that must end it. If they do not, it is killed and has no exit code. */
function runToEnd(env: Record<string, string>, args: readonly string[] = ["serve"]): Ended {
  const run = Bun.spawnSync([LAUNCHER, ...args], {
    cwd: scratch,
    env: {
      PATH: process.env["PATH"],
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      DATA_DIR: join(scratch, "data"),
      SERVER_SECRET_KEY: TEST_SECRET,
      ...env,
    },
    timeout: 40_000,
  });
  return { code: run.exitCode, stdout: run.stdout.toString(), stderr: run.stderr.toString() };
}

/** Expects one line on stderr that contains all of these texts, and no other output. */
function expectOneLine(ended: Ended, code: number, ...parts: readonly string[]): void {
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: "" });
  expect(ended.stderr.trimEnd().split("\n")).toHaveLength(1);
  for (const part of parts) expect(ended.stderr).toContain(part);
}

describe("invalid settings: one line with the setting, the problem and the fix; exit 2", () => {
  test.each([
    ["ADMIN_PORT", "eighty", "0 to 65535"],
    ["ADMIN_PORT", "65536", "0 to 65535"],
    ["ADMIN_PORT", "-1", "0 to 65535"],
    ["PROXY_PORT", "80.5", "0 to 65535"],
    ["REQUIRE_API_KEY", "yes", "true or false"],
    ["MAX_BODY_BYTES", "10MB", "whole number"],
    ["MAX_BODY_BYTES", "0", "whole number"],
    ["WORKERS", "0", "1 to 256"],
    ["WORKERS", "many", "1 to 256"],
    ["LOG_LEVEL", "loud", "debug"],
    ["LOG_FORMAT", "xml", "json"],
    ["BASE_DOMAIN", "not a domain", "gateway.example.com"],
    ["TRUSTED_PROXIES", "10.0.0.0/99", "10.0.0.0/8"],
    ["TRUSTED_PROXIES", "everyone", "none"],
    ["DRAIN_DELAY_MS", "soon", "whole number"],
    ["DRAIN_SECONDS", "-1", "whole number"],
  ] as const)("%s=%s", (name, value, fix) => {
    expectOneLine(runToEnd({ [name]: value }), 2, name, value, fix);
  });

  test.each([
    ["DATABASE_URL", "mysql://root:hunter2@db/gatehouse", "postgres://"],
    ["DATABASE_URL", "postgres://gatehouse:hunter2@db:notaport/x", "postgres://"],
    ["DATABASE_URL", "hunter2", "sqlite://"],
    ["REDIS_URL", "http://:hunter2@cache", "redis://"],
  ] as const)("%s=%s, without the value, which may contain a password", (name, value, fix) => {
    const ended = runToEnd({ [name]: value });
    expectOneLine(ended, 2, name, fix);
    expect(ended.stderr).not.toContain("hunter2");
  });

  test("also settings in .env", () => {
    const file = join(scratch, ".env");
    writeFileSync(file, "LOG_LEVEL=loud\n");
    try {
      expectOneLine(runToEnd({}), 2, "LOG_LEVEL", "loud");
    } finally {
      rmSync(file);
    }
  });

  test("an empty setting counts as unset", async () => {
    const gatehouse = await start({ env: { LOG_LEVEL: "", WORKERS: "", BASE_DOMAIN: "", DATABASE_URL: "" } });
    expect((await gatehouse.api("GET", "/gateways")).status).toBe(200);
  });
});

describe("an unknown command or flag: one line, exit 2", () => {
  test("a command, with the nearest one", () => expectOneLine(runToEnd({}, ["srve"]), 2, "srve", '"serve"'));

  test.each([
    [["serve", "--rol", "admin"], "--rol"],
    [["serve", "--port=80"], "--port"],
    [["serve", "now"], "now"],
    [["serve", "--role", "king"], "king"],
    [["serve", "--role"], "--role"],
  ] as const)("%p", (args, named) => expectOneLine(runToEnd({}, args), 2, named));

  test("--help and --version print to stdout, exit 0", async () => {
    for (const args of [["--help"], ["serve", "--help"]]) {
      const help = runToEnd({}, args);
      expect(help).toEqual({ code: 0, stdout: expect.stringContaining("serve"), stderr: "" });
    }
    const { version } = await Bun.file(join(ROOT, "package.json")).json();
    expect(runToEnd({}, ["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

describe("no SERVER_SECRET_KEY", () => {
  test("on a loopback HOST, a random one is created once, stored with mode 0600, and logged", async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, "server_secret_key");
    const env = { SERVER_SECRET_KEY: "" };
    const first = await startGatehouseProcess({ dataDir, env, keepData: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const secret = readFileSync(file, "utf8").trim();
    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(first.output()).toContain(file);
    expect(first.output()).not.toContain(secret);
    expect((await first.api("POST", "/gateways", { name: "kept" })).status).toBe(201);
    await first.stop();

    const second = await start({ dataDir, env });
    expect(readFileSync(file, "utf8").trim()).toBe(secret);
    expect(second.token.split(".")).toHaveLength(3);
    expect((await second.api("GET", "/gateways?name=kept")).body.count).toBe(1);
  });

  test("two data directories have two secrets", async () => {
    const [one, two] = await Promise.all([
      start({ env: { SERVER_SECRET_KEY: "" } }),
      start({ env: { SERVER_SECRET_KEY: "" } }),
    ]);
    const secretOf = ({ dataDir }: GatehouseProcess) =>
      readFileSync(join(dataDir, "server_secret_key"), "utf8");
    expect(secretOf(one)).not.toBe(secretOf(two));
  });

  test.each(["0.0.0.0", "::", "10.1.2.3"])(
    "on HOST %s the server does not start, with the reason",
    (HOST) => {
      const DATA_DIR = join(scratch, "never-made");
      expectOneLine(runToEnd({ HOST, SERVER_SECRET_KEY: "", DATA_DIR }), 2, "SERVER_SECRET_KEY", HOST);
      expect(existsSync(DATA_DIR)).toBe(false);
    },
  );

  test("with one, 0.0.0.0 starts", async () => {
    const gatehouse = await start({ env: { HOST: "0.0.0.0" } });
    expect((await fetch(`${gatehouse.adminUrl}/healthz`)).status).toBe(200);
  });

  test("a secret below 32 bytes causes a warning; one of 32 bytes does not", async () => {
    const short = await start({ env: { SERVER_SECRET_KEY: "x".repeat(31) } });
    const warnings = logOf(short).filter((line) => line["level"] === "warn");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]!["msg"]).toContain("SERVER_SECRET_KEY");
    expect((await short.api("GET", "/gateways")).status).toBe(200);
    const long = await start({ env: { SERVER_SECRET_KEY: "x".repeat(32) } });
    expect(logOf(long).filter((line) => line["level"] === "warn")).toEqual([]);
  });

  test.each(["1", "2"])("%s worker: below 32 bytes, a HOST that is not loopback is refused", (WORKERS) => {
    const DATA_DIR = join(scratch, "never-made");
    const weak = { HOST: "0.0.0.0", SERVER_SECRET_KEY: "x".repeat(31), WORKERS, DATA_DIR };
    expectOneLine(runToEnd(weak), 2, "SERVER_SECRET_KEY is 31 bytes long", "ALLOW_WEAK_SECRET=true");
    expect(existsSync(DATA_DIR)).toBe(false);
  });

  test("with ALLOW_WEAK_SECRET=true it starts there with the warning", async () => {
    const env = { HOST: "0.0.0.0", SERVER_SECRET_KEY: "x".repeat(31), ALLOW_WEAK_SECRET: "true" };
    const warnings = logOf(await start({ env })).filter((line) => line["level"] === "warn");
    expect(warnings.map((line) => line["msg"])).toEqual([expect.stringContaining("SERVER_SECRET_KEY")]);
  });
});

describe("listeners", () => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await start();
  });

  test("port 0 picks a free port, which is logged", () => {
    const ports = [gatehouse.adminUrl, gatehouse.proxyUrl].map((url) => Number(new URL(url).port));
    expect(ports[0]).not.toBe(ports[1]);
    for (const port of ports) expect(port).toBeGreaterThan(0);
  });

  test("HOST is 127.0.0.1 unless set", () => {
    expect(new URL(gatehouse.adminUrl).hostname).toBe("127.0.0.1");
    expect(new URL(gatehouse.proxyUrl).hostname).toBe("127.0.0.1");
  });

  test("the proxy listener serves health checks, and nothing else of the admin listener", async () => {
    const authorization = { Authorization: `Bearer ${gatehouse.token}` };
    for (const path of [
      "/api/v1/gateways",
      "/api/v1",
      "/api/openapi.json",
      "/api/docs",
      "/console",
      "/metrics",
      "/readyz/x",
    ]) {
      const response = await fetch(`${gatehouse.proxyUrl}${path}`, { headers: authorization });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: "rule_not_found", request_id: expect.any(String) });
    }
    for (const path of ["/healthz", "/readyz"]) {
      expect((await fetch(`${gatehouse.proxyUrl}${path}`)).status).toBe(200);
    }
  });

  test("other paths of the admin listener are served by the data plane", async () => {
    for (const path of ["/", "/v1/chat/completions", "/apiary", "/consoles"]) {
      const response = await fetch(`${gatehouse.adminUrl}${path}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: "rule_not_found" });
    }
  });

  test("/healthz is 200 while the process runs", async () => {
    for (const url of [gatehouse.adminUrl, gatehouse.proxyUrl]) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
  });

  test("/readyz reports the revision, the store and the counters on both listeners", async () => {
    const before = await readiness(gatehouse.adminUrl);
    expect(before).toEqual({
      status: 200,
      body: {
        status: "ready",
        revision: expect.any(Number),
        store: { state: "ok" },
        counters: { state: expect.any(String), detail: expect.any(String) },
        ledger: { state: expect.any(String), detail: expect.any(String) },
      },
    });
    await create(gatehouse, "/gateways", { name: "one more" });
    const after = await readiness(gatehouse.proxyUrl);
    expect(after.body.revision).toBe(before.body.revision + 1);
    expect(await readiness(gatehouse.adminUrl)).toEqual(after);
  });

  test("LOG_LEVEL warn omits the access log", async () => {
    const dataDir = temporaryDirectory();
    const ports = { ADMIN_PORT: String(freePort()), PROXY_PORT: String(freePort()) };
    const child = Bun.spawn([LAUNCHER, "serve"], {
      cwd: dataDir,
      env: {
        PATH: process.env["PATH"],
        DATA_DIR: dataDir,
        SERVER_SECRET_KEY: TEST_SECRET,
        LOG_LEVEL: "warn",
        ...ports,
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const url = `http://127.0.0.1:${ports.ADMIN_PORT}`;
    await waitFor(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok || null);
    expect((await fetch(`${url}/api/v1/gateways`)).status).toBe(401);
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
    expect(await new Response(child.stdout).text()).toBe("");
    rmSync(dataDir, { recursive: true, force: true });
  });
});

describe("--role admin|proxy|all", () => {
  test("a proxy process sees writes of an admin process that uses the same SQLite file", async () => {
    const dataDir = temporaryDirectory();
    const admin = await start({ dataDir, args: ["--role", "admin"] });
    const proxy = await startGatehouseProcess({ dataDir, args: ["--role=proxy"], keepData: true });
    running.push(proxy);
    expect([admin.proxyUrl, proxy.adminUrl]).toEqual(["", ""]);
    expect(await readiness(proxy.proxyUrl)).toMatchObject({ status: 200, body: { revision: 0 } });

    for (const name of ["one", "two", "three"]) await create(admin, "/gateways", { name });
    const { revision } = (await readiness(admin.adminUrl)).body;
    expect(revision).toBe(3);
    await waitUntil(async () => (await readiness(proxy.proxyUrl)).body.revision === revision);

    const response = await fetch(`${proxy.proxyUrl}/api/v1/gateways`, {
      headers: { Authorization: `Bearer ${admin.token}` },
    });
    expect(response.status).toBe(404);
  });

  test("a proxy process serves health checks and metrics on the operations listener, and nothing else", async () => {
    const { operationsUrl } = await start({ args: ["--role=proxy"] });
    expect((await fetch(`${operationsUrl}/healthz`)).status).toBe(200);
    expect(await readiness(operationsUrl)).toMatchObject({ status: 200, body: { revision: 0 } });
    const metrics = await fetch(`${operationsUrl}/metrics`);
    expect(metrics.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    expect(await metrics.text()).toContain("gatehouse_ready 1");
    for (const path of ["/", "/api/v1/gateways", "/console", "/v1/chat/completions"]) {
      const response = await fetch(operationsUrl + path);
      expect({ path, status: response.status, body: await response.json() }).toMatchObject({
        path,
        status: 404,
        body: { code: "not_found" },
      });
    }
    expect((await fetch(`${operationsUrl}/metrics`, { method: "POST" })).status).toBe(404);
  });

  test("with OPERATIONS_PORT every role has the operations listener; by default only a proxy", async () => {
    const [all, admin] = await Promise.all([
      start({ env: { OPERATIONS_PORT: "0", WORKERS: "2" } }),
      start({ args: ["--role", "admin"] }),
    ]);
    await waitUntil(async () => {
      const metrics = await fetch(`${all.operationsUrl}/metrics`);
      return (await metrics.text()).includes("gatehouse_ready 1");
    });
    expect(admin.operationsUrl).toBe("");
  });

  test("a taken operations port is reported with its setting and number", () => {
    const holder = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const child = Bun.spawnSync([LAUNCHER, "serve", "--role=proxy"], {
      env: {
        PATH: process.env["PATH"],
        PROXY_PORT: "0",
        OPERATIONS_PORT: String(holder.port),
        DATA_DIR: temporaryDirectory(),
      },
    });
    holder.stop(true);
    expect(child.exitCode).toBe(2);
    expect(child.stderr.toString()).toContain(`OPERATIONS_PORT ${holder.port} is in use on 127.0.0.1`);
  });

  test("records survive a restart", async () => {
    const dataDir = temporaryDirectory();
    const before = await startGatehouseProcess({ dataDir, keepData: true });
    const { id } = await create(before, "/gateways", { name: "durable", subdomain: "durable" });
    await before.stop(); // SIGKILL: what was acknowledged must be on the disk already
    const after = await start({ dataDir });
    expect((await after.api("GET", `/gateways/${id}`)).body).toMatchObject({ id, name: "durable" });
  });
});

describe("signals", () => {
  test("SIGTERM: /readyz is 503 at once while new requests are still served, then exit 0", async () => {
    const gatehouse = await start({ env: { DRAIN_DELAY_MS: "5000" } });
    gatehouse.signal("SIGTERM");
    await waitUntil(async () => (await readiness(gatehouse.adminUrl)).status === 503);
    for (const url of [gatehouse.adminUrl, gatehouse.proxyUrl]) {
      expect(await readiness(url)).toMatchObject({ status: 503, body: { status: "draining" } });
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
    expect((await gatehouse.api("POST", "/gateways", { name: "while draining" })).status).toBe(201);
    expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
    expect(await gatehouse.exited).toBe(0);
    expect(await fetch(`${gatehouse.adminUrl}/healthz`).catch(() => "refused")).toBe("refused");
  });

  test("SIGINT skips the delay", async () => {
    const gatehouse = await start({ env: { DRAIN_DELAY_MS: "600000" } });
    gatehouse.signal("SIGINT");
    expect(await gatehouse.exited).toBe(0);
  });

  test("a signal that follows at once is the same Ctrl-C and has no effect", async () => {
    const gatehouse = await start({ env: { DRAIN_DELAY_MS: "600000" } });
    gatehouse.signal("SIGTERM");
    gatehouse.signal("SIGTERM");
    await waitUntil(async () => (await readiness(gatehouse.adminUrl)).status === 503);
    expect((await readiness(gatehouse.adminUrl)).status).toBe(503);
  });

  test("a running request finishes before the process ends", async () => {
    const gatehouse = await start();
    const body = JSON.stringify({ name: "slow sender" });
    const connection = await openConnection(gatehouse.adminUrl);
    connection.send(
      `POST /api/v1/gateways HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gatehouse.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    // When the listener responds on a later connection, it has read the first half.
    expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(0);
    gatehouse.signal("SIGINT");
    await waitUntil(async () => (await fetch(`${gatehouse.adminUrl}/healthz`).catch(() => null)) === null);
    connection.send(body.slice(5));
    await waitUntil(() => connection.received().includes("slow sender"));
    expect(connection.received()).toMatch(/^HTTP\/1\.1 201 /);
    connection.close();
    expect(await gatehouse.exited).toBe(0);
  });

  test("a request that does not finish is cut after DRAIN_SECONDS", async () => {
    const gatehouse = await start({ env: { DRAIN_SECONDS: "1" } });
    const connection = await openConnection(gatehouse.adminUrl);
    connection.send(
      `POST /api/v1/gateways HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gatehouse.token}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    expect((await gatehouse.api("GET", "/gateways")).status).toBe(200);
    gatehouse.signal("SIGTERM");
    expect(await gatehouse.exited).toBe(0);
    await connection.closed;
    expect(connection.received()).not.toContain("201");
  }, 60_000);

  test("an idle kept-alive connection does not delay the exit", async () => {
    const gatehouse = await start({ env: { DRAIN_SECONDS: "600" } });
    const connection = await openConnection(gatehouse.adminUrl);
    connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await waitUntil(() => connection.received().includes("ok"));
    gatehouse.signal("SIGTERM");
    expect(await gatehouse.exited).toBe(0);
    connection.close();
  }, 60_000);

  test("npm start forwards SIGTERM", async () => {
    const dataDir = temporaryDirectory();
    const npm = Bun.spawn(["npm", "start"], {
      cwd: ROOT,
      env: {
        PATH: process.env["PATH"],
        HOME: dataDir,
        DATA_DIR: dataDir,
        ADMIN_PORT: "0",
        PROXY_PORT: "0",
        SERVER_SECRET_KEY: TEST_SECRET,
        LOG_FORMAT: "json",
        DRAIN_DELAY_MS: "0",
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    let printed = "";
    const read = (async () => {
      for await (const chunk of npm.stdout) printed += Buffer.from(chunk).toString();
    })();
    const url = await waitFor(() => /"url":"([^"]+)","msg":"admin API listening"/.exec(printed)?.[1] ?? null);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    npm.kill("SIGTERM");
    await npm.exited;
    await read;
    expect(printed).toContain('"msg":"stopped"');
    expect(await fetch(`${url}/healthz`).catch(() => "refused")).toBe("refused");
    rmSync(dataDir, { recursive: true, force: true });
  }, 60_000);
});

interface Dependency {
  readonly state: string;
  readonly detail?: string;
}

interface Readiness {
  readonly status: number;
  readonly body: {
    status: string;
    revision: number;
    store: Dependency;
    counters: Dependency;
    ledger: Dependency;
  };
}

async function readiness(url: string): Promise<Readiness> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as Readiness["body"] };
}

function logOf(gatehouse: GatehouseProcess): Record<string, unknown>[] {
  const lines = gatehouse.output().trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
