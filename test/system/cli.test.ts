// The command line as an operator uses it: token, status, explain, keys, doctor, and bench against started processes.
// Plain text if the output is not a terminal, JSON with --json, one line and an exit code for every mistake.
import { SQL } from "bun";
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { createCertificate } from "../support/certificates.ts";
import { LAUNCHER, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { limiter } from "../support/plugin-fixtures.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { isInstalled } from "../support/required-program.ts";
import { expectOneLine, runCommand, settingsOf, type CommandResult } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const hasOpenssl = isInstalled(Bun.which("openssl"), {
  name: "openssl",
  tests: "the tests of certificates",
  install: "apt-get install openssl",
});

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);
const COMMANDS = [
  ...[
    "serve",
    "demo",
    "status",
    "token",
    "explain",
    "keys",
    "connect",
    "doctor",
    "rewrap",
    "bench",
    "fake-provider",
  ],
  ...[
    "export",
    "apply",
    "check",
    "revisions",
    "diff",
    "rollback",
    "blocks",
    "usage",
    "requests",
    "completion",
  ],
];

const scratch = temporaryDirectory();
const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
const route = await seedRoute(gatehouse, {
  gateway: { name: "acme", required_plugins: [limiter({ global: [50, "1m"] })] },
  upstream: { targets: [targetAt(provider)] },
  rule: { name: "chat", path: "/v1/chat" },
});
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs a command in this process, by default with the settings of the running gateway. */
const run = (args: readonly string[], env = settings()) => runCommand(args, env);

/** Runs a command in a separate process. */
async function start(args: readonly string[], env = settings(), stdin = ""): Promise<CommandResult> {
  const child = Bun.spawn([LAUNCHER, ...args], {
    cwd: scratch,
    env: { PATH: process.env["PATH"], ...env },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

function settings(): Record<string, string> {
  return settingsOf(gatehouse);
}

const jsonOf = async (args: readonly string[], env?: Record<string, string>) => {
  const { code, stdout, stderr } = await run([...args, "--json"], env);
  return { code, stderr, value: JSON.parse(stdout) };
};

describe("every command", () => {
  test("has a help text with --json, and is listed in gatehouse --help", async () => {
    const { stdout } = await run(["--help"]);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command} +\\S`, "m"));
    for (const command of COMMANDS) {
      const help = await run([command, "--help"]);
      expect(help).toMatchObject({ code: 0, stderr: "" });
      expect(help.stdout).toStartWith(`Usage: gatehouse ${command}`);
      expect(help.stdout).toContain("--json");
    }
  });

  test("rejects an unknown flag with the nearest known one: one line, exit 2", async () => {
    for (const command of COMMANDS)
      expectOneLine(
        await run([command, "--jsn"]),
        2,
        'unknown flag "--jsn"',
        "did you mean --json?",
        "--help",
      );
  });

  test("an unknown command or global flag is rejected with the nearest known one: one line, exit 2", async () => {
    expectOneLine(await run(["stauts"]), 2, 'unknown command "stauts"; did you mean "status"?', "--help");
    expectOneLine(await run(["--verison"]), 2, 'unknown flag "--verison"; did you mean "--version"?');
    expectOneLine(await run(["xxxxxxxxxxxx"]), 2, 'unknown command "xxxxxxxxxxxx"; see gatehouse --help');
    expect(await run([])).toMatchObject({ code: 2, stderr: "" });
  });
});

describe("token", () => {
  test("is accepted by the server and has the requested lifetime", async () => {
    const { code, stdout, stderr } = await run(["token", "--seconds", "90"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const token = stdout.trimEnd();
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims).toEqual({ sub: "admin", iat: expect.any(Number), exp: expect.any(Number) });
    expect(claims.exp - claims.iat).toBe(90);
    const headers = { Authorization: `Bearer ${token}` };
    expect((await fetch(`${gatehouse.adminUrl}/api/v1/gateways`, { headers })).status).toBe(200);
  });

  test("is signed with the secret in DATA_DIR if SERVER_SECRET_KEY is not set", async () => {
    const directory = join(scratch, "generated");
    mkdirSync(directory);
    writeFileSync(join(directory, "server_secret_key"), `${TEST_SECRET}\n`);
    const { stdout } = await run(["token"], { DATA_DIR: directory });
    const headers = { Authorization: `Bearer ${stdout.trim()}` };
    expect((await fetch(`${gatehouse.adminUrl}/api/v1/gateways`, { headers })).status).toBe(200);
  });

  test("without a secret, or with an invalid lifetime: one line, exit 2", async () => {
    expectOneLine(await run(["token"], { DATA_DIR: scratch }), 2, "SERVER_SECRET_KEY", "DATA_DIR");
    expectOneLine(await run(["token", "--seconds", "soon"]), 2, "--seconds", "whole number");
  });
});

describe("serve", () => {
  test("prints addresses, console, token command and data directory on a terminal", async () => {
    const ports = { ADMIN_PORT: String(freePort()), PROXY_PORT: String(freePort()) };
    const dataDir = join(scratch, "terminal");
    // `script` gives the command a terminal.
    const child = Bun.spawn(["script", "-qec", `${LAUNCHER} serve`, "/dev/null"], {
      cwd: scratch,
      env: { PATH: process.env["PATH"], DATA_DIR: dataDir, NO_COLOR: "1", ...ports },
      stdin: "ignore",
      stdout: "pipe",
    });
    let output = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += chunk;
      if (/^data +\S/m.test(output)) break;
    }
    child.kill();
    await child.exited;
    expect(output).toContain(`console      http://127.0.0.1:${ports.ADMIN_PORT}/console`);
    expect(output).toContain(`requests     http://127.0.0.1:${ports.PROXY_PORT}`);
    expect(output).toContain('admin token  run "bin/gatehouse token"');
    expect(output).toContain(`data         ${dataDir}`);
  });
});

describe("status", () => {
  test("asks the gateway on ADMIN_PORT if no address is given", async () => {
    const { code, stdout } = await run(["status"], { ...settings(), GATEHOUSE_URL: "" });
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`at ${gatehouse.adminUrl} is ready`),
    });
    expectOneLine(await run(["status"], { ADMIN_PORT: "nine" }), 2, 'ADMIN_PORT is "nine"');
  });

  test("prints that a gateway is ready, its configuration, and its store", async () => {
    const { code, stdout, stderr } = await start(["status"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`at ${gatehouse.adminUrl} is ready`);
    expect(stdout).toContain("1 gateway");
    expect(stdout).not.toContain("\x1b");
    const { value } = await jsonOf(["status"]);
    expect(value).toMatchObject({ status: "ready", gateways: 1, store: { state: "ok" } });
  });

  test("prints how long the gateway has been running", async () => {
    await waitUntil(async () => (await jsonOf(["status"])).value.uptime_seconds > 0);
    expect((await start(["status"])).stdout).toMatch(/running +[1-9]\d* (s|min), \d+ MB/);
  });

  test("works without a token", async () => {
    const { code, value } = await jsonOf(["status", "--url", gatehouse.adminUrl], { DATA_DIR: scratch });
    expect(code).toBe(0);
    expect(value).toMatchObject({ status: "ready", gateways: null });
  });

  test("no server, or another server: one line, exit 1", async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    expectOneLine(await run(["status", "--url", url]), 1, url, "--url");
    expectOneLine(await run(["status", "--url", provider.url]), 1, "is not a Gatehouse");
    expectOneLine(await run(["status", "--url", "here"]), 2, "here");
  });
});

describe("explain", () => {
  test("prints every step, and sends nothing", async () => {
    provider.reset();
    const args = ["explain", "--path", "/v1/chat", "--body", "-", "--header", "X-Team: red"];
    const { code, stdout, stderr } = await start(args, settings(), JSON.stringify(CHAT));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const part of [
      "POST /v1/chat at gateway acme",
      '✓ /v1/chat "chat"',
      "✓ no API key is required",
      "✓ rate_limiter passed",
      "global: 49 of 50 in 1m remaining",
      "→ openai (priority 1, weight 1, healthy, model gpt-fake)",
      `POST ${provider.url}/v1/chat/completions`,
      "x-team: red",
      JSON.stringify(CHAT),
    ])
      expect(stdout).toContain(part);
    expect(provider.requestCount).toBe(0);
  });

  test("prints the gateway's own response; reads the body from a file; prints JSON", async () => {
    const file = join(scratch, "body.json");
    writeFileSync(file, "{ broken");
    const type = ["--header", "Content-Type:application/json"];
    const args = ["explain", "--gateway", "acme", "--path", "/v1/chat", "--body", file, ...type];
    expect((await run(args)).stdout).toContain("400 invalid_json: The body is not valid JSON in UTF-8.");
    const { value } = await jsonOf([
      "explain",
      "--gateway",
      route.gateway,
      "--method",
      "get",
      "--path",
      "/x",
    ]);
    expect(value).toMatchObject({ rule: null, answer: { status: 404, code: "rule_not_found" } });
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["explain"]), 2, "--path");
    expectOneLine(
      await run(["explain", "--path", "/x", "--header", "nonsense"]),
      2,
      "nonsense",
      "X-Team: red",
    );
    expectOneLine(await run(["explain", "--path", "/x", "--body", "no-such-file"]), 2, "no-such-file");
    expectOneLine(await run(["explain", "--path", "x"]), 1, "path", "must start with");
    expectOneLine(await run(["explain", "--path", "/x", "--gateway", "unknown"]), 1, "unknown");
    expectOneLine(await run(["explain", "--path", "/x", "--token", "a.b.c"]), 1, "SERVER_SECRET_KEY");
    expectOneLine(
      await run(["explain", "--path", "/x"], { DATA_DIR: scratch }),
      2,
      "--token",
      "SERVER_SECRET_KEY",
    );
  });
});

describe("keys", () => {
  test("a key is created, used, listed, and revoked", async () => {
    const args = ["keys", "create", "--name", "mobile app", "--rule", "chat", "--expires", "30d"];
    const created = await run(args);
    expect({ code: created.code, key: created.stdout }).toEqual({
      code: 0,
      key: expect.stringMatching(/^gw_[A-Za-z0-9_-]{43}\n$/),
    });
    expect(created.stderr).toContain("shown only once");
    const call = () =>
      fetch(`${gatehouse.proxyUrl}${route.path}`, {
        method: "POST",
        headers: { "X-GW-API-Key": created.stdout.trim(), "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      });
    expect((await call()).status).toBe(200);
    const listed = await run(["keys", "list", "--gateway", "acme"]);
    expect(listed.stdout).toMatch(/mobile app +gw_\S+… +active +\d{4}-/);
    expect(listed.stdout).not.toContain(created.stdout.trim());
    const { value } = await jsonOf(["keys", "list"]);
    expect(value).toMatchObject([{ name: "mobile app", policies: [route.rule], active: true }]);
    expect((await run(["keys", "revoke", "mobile app"])).stdout).toStartWith("revoked");
    expect((await call()).status).toBe(401);
    expect((await run(["keys", "list"])).stdout).toContain("revoked");
  });

  test("a key is created with labels, models and tools, and the list shows labels and models", async () => {
    const labels = ["--label", "team=search", "--label", "app=a=b"];
    const args = ["keys", "create", "--name", "labeled", ...labels, "--model", "gpt-*", "--model", "o3"];
    args.push("--tool", "tickets__*", "--tool", "docs__search");
    const { value } = await jsonOf(args);
    expect(value).toMatchObject({
      labels: { app: "a=b", team: "search" },
      models: ["gpt-*", "o3"],
      tools: ["tickets__*", "docs__search"],
    });
    const { stdout } = await run(["keys", "list"]);
    expect(stdout).toMatch(/labeled .* app=a=b, team=search +gpt-\*, o3/);
    await run(["keys", "revoke", "labeled"]);
    const create = (...flags: string[]) => run(["keys", "create", "--name", "x", ...flags]);
    expectOneLine(await create("--label", "team"), 2, '--label is "team"', "NAME=VALUE");
    expectOneLine(await create("--label", "a=1", "--label", "a=2"), 2, "--label", '"a"');
    expectOneLine(await create("--label", "Team=x"), 1, "labels.Team");
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["keys"]), 2, "create, list, revoke");
    expectOneLine(await run(["keys", "make"]), 2, '"keys make"');
    expectOneLine(await run(["keys", "create"]), 2, "--name");
    expectOneLine(await run(["keys", "create", "--name", "x", "--expires", "soon"]), 2, "soon", "30d");
    expectOneLine(await run(["keys", "create", "--name", "x", "--rule", "/none"]), 2, "/none");
    expectOneLine(await run(["keys", "revoke"]), 2, "id or the name");
    expectOneLine(await run(["keys", "revoke", "unknown"]), 1, "unknown");
    expectOneLine(await run(["keys", "list", "extra"]), 2, "extra");
  });
});

describe("doctor", () => {
  interface Check {
    readonly name: string;
    readonly state: string;
    readonly detail: string;
    readonly mend: string | null;
  }
  const checksOf = async (env: Record<string, string>) => {
    const { code, value } = await jsonOf(["doctor"], env);
    const checks: Check[] = value.checks;
    for (const { state, mend } of checks) expect(mend === null).toBe(state === "ok");
    const named = (name: string) => checks.filter((check) => check.name === name);
    return { code, named, failed: checks.filter(({ state }) => state === "fail") };
  };

  test("reports no problem next to a running gateway; connects to its provider without sending a request", async () => {
    provider.reset();
    const { code, failed, named } = await checksOf(settings());
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(named("ports").map(({ detail }) => detail.replace(/\d+/, "n"))).toEqual([
      "ADMIN_PORT n is used by a running gateway",
      "PROXY_PORT n is used by a running gateway",
    ]);
    expect(named("providers")[0]?.detail).toContain(provider.url);
    expect(provider.requestCount).toBe(0);
    const { stdout } = await start(["doctor"]);
    expect(stdout).toMatch(/^ok {4}settings {3}all settings are valid$/m);
    expect(stdout).not.toContain("\x1b");
  });

  test("REQUEST_LOG_SINK must be a file that can be written or a collector that is reachable", async () => {
    const free = { ADMIN_PORT: "0", PROXY_PORT: "0", DATA_DIR: join(scratch, "sink-data") };
    const sinkAt = async (path: string) =>
      (await checksOf({ ...free, REQUEST_LOG_SINK: `file:${path}` })).named("sink");
    const path = join(scratch, "sink", "requests.jsonl");
    expect((await checksOf(free)).named("sink")).toMatchObject([{ state: "ok" }]);
    const created = `the file ${path} of REQUEST_LOG_SINK can be created`;
    expect(await sinkAt(path)).toMatchObject([{ state: "ok", detail: created }]);
    expect(await Bun.file(path).exists()).toBe(false);
    await Bun.write(path, "");
    expect(await sinkAt(path)).toMatchObject([
      { state: "ok", detail: `the file ${path} of REQUEST_LOG_SINK is writable` },
    ]);
    const REQUEST_LOG_SINK = "otlp";
    const OTEL_EXPORTER_OTLP_LOGS_ENDPOINT = `http://127.0.0.1:${freePort()}/v1/logs`;
    const otlp = await checksOf({ ...free, REQUEST_LOG_SINK, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT });
    expect(otlp.failed).toMatchObject([
      { name: "sink", mend: expect.stringContaining("check OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") },
    ]);
    const mend = "make it writable, or set another REQUEST_LOG_SINK";
    expect(await sinkAt(scratch)).toMatchObject([
      { state: "fail", detail: `the file ${scratch} of REQUEST_LOG_SINK is not a regular file`, mend },
    ]);
    const below = join(path, "requests.jsonl");
    expect(await sinkAt(below)).toMatchObject([
      {
        state: "fail",
        detail: `the file ${below} of REQUEST_LOG_SINK cannot be created because ${path} is a file`,
        mend,
      },
    ]);
  });

  test("changes nothing before the first start", async () => {
    const directory = join(scratch, "not", "yet");
    const { code, named } = await checksOf({ DATA_DIR: directory, ADMIN_PORT: "0", PROXY_PORT: "0" });
    expect(code).toBe(0);
    expect(named("store")[0]?.detail).toContain("will create the embedded database");
    expect(await Bun.file(join(directory, "server_secret_key")).exists()).toBe(false);
    expect(await Bun.file(join(directory, "gatehouse.db")).exists()).toBe(false);
  });

  test("invalid settings, a missing secret, and a taken port fail, each with a fix", async () => {
    const free = { ADMIN_PORT: "0", PROXY_PORT: "0" };
    const bad = await checksOf({ LOG_LEVEL: "loud" });
    expect(bad.code).toBe(1);
    expect(bad.failed).toMatchObject([{ name: "settings", detail: expect.stringContaining("LOG_LEVEL") }]);
    const open = await checksOf({ ...free, HOST: "0.0.0.0", DATA_DIR: join(scratch, "open") });
    expect(open.failed).toMatchObject([{ name: "secret", mend: expect.stringContaining("openssl") }]);
    const weak = {
      ...free,
      HOST: "0.0.0.0",
      SERVER_SECRET_KEY: "x".repeat(31),
      DATA_DIR: join(scratch, "weak"),
    };
    expect((await checksOf(weak)).failed).toMatchObject([
      {
        name: "secret",
        detail: expect.stringContaining("31 bytes"),
        mend: expect.stringContaining("openssl"),
      },
    ]);
    expect((await checksOf({ ...weak, ALLOW_WEAK_SECRET: "true" })).failed).toEqual([]);
    const taken = await checksOf({ ...free, PROXY_PORT: String(provider.port) });
    expect(taken.failed).toMatchObject([
      { name: "ports", detail: `PROXY_PORT ${provider.port} is taken by another program` },
    ]);
    const file = join(scratch, "a-file");
    writeFileSync(file, "");
    const unusable = await checksOf({
      ...free,
      DATA_DIR: join(file, "data"),
      SERVER_SECRET_KEY: TEST_SECRET,
    });
    expect(unusable.code).toBe(1);
    const { stdout } = await run(["doctor"], { LOG_LEVEL: "loud" });
    expect(stdout).toMatch(/^fail  settings +LOG_LEVEL .*; fix: fix it in the environment/);
  });

  test("reports an unavailable database, Redis, and provider, without printing passwords", async () => {
    const port = freePort();
    const { failed } = await checksOf({
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      SERVER_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: `postgres://gatehouse:hunter2@127.0.0.1:${port}/x`,
      REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`,
    });
    expect(failed.map(({ name }) => name)).toEqual(["store", "counters"]);
    expect(JSON.stringify(failed)).not.toContain("hunter2");
    const stopped = await startFakeProvider();
    await stopped.stop();
    const tokenServer = await startFakeProvider();
    await tokenServer.stop();
    const credentials = {
      type: "oauth_client_credentials",
      token_url: `${tokenServer.url}/token`,
      client_id: "app",
      client_secret: "secret",
    };
    const upstreams = `/gateways/${route.gateway}/upstreams`;
    const upstream = { name: "stopped", targets: [targetAt(stopped), targetAt(provider, { credentials })] };
    const { body } = await gatehouse.api("POST", upstreams, upstream);
    const unreachable = await checksOf(settings());
    await gatehouse.api("DELETE", `${upstreams}/${body.id}`);
    expect(unreachable.failed.map(({ name, detail }) => `${name}: ${detail}`).sort()).toEqual(
      [stopped, tokenServer].map(({ url }) => `providers: ${url} is not reachable (ECONNREFUSED)`).sort(),
    );
    const otherKey = await checksOf({ ...settings(), SERVER_SECRET_KEY: `${TEST_SECRET}-another` });
    expect(otherKey.failed).toMatchObject([
      { name: "providers", mend: expect.stringContaining("ENCRYPTION_KEY") },
    ]);
  });

  test("a DATA_DIR that is a file fails its checks, and the other checks run", async () => {
    const file = join(scratch, "data-file");
    writeFileSync(file, "");
    const { code, failed, named } = await checksOf({ DATA_DIR: file, ADMIN_PORT: "0", PROXY_PORT: "0" });
    expect(code).toBe(1);
    expect(failed.map(({ name }) => name)).toEqual(["secret", "data", "store"]);
    expect(named("data")[0]?.detail).toBe(`DATA_DIR ${file} is not a directory`);
    expect(named("ports")).toHaveLength(2);
    expect(named("providers")).toHaveLength(1);
  });

  test("does not say that nothing is stored if the database is unreachable", async () => {
    const { named } = await checksOf({
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      SERVER_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: `postgres://gatehouse@127.0.0.1:${freePort()}/x`,
    });
    for (const name of ["secrets", "providers"])
      expect(named(name)).toMatchObject([
        { state: "warn", detail: "not checked because the database cannot be used" },
      ]);
  });

  test("reports whether the OTLP collector accepts connections", async () => {
    const free = { ADMIN_PORT: "0", PROXY_PORT: "0", DATA_DIR: join(scratch, "traced") };
    const without = await checksOf(free);
    expect(without.named("traces")).toMatchObject([{ state: "ok" }]);
    const reachable = await checksOf({ ...free, OTEL_EXPORTER_OTLP_ENDPOINT: provider.url });
    expect(reachable.named("traces")[0]?.detail).toContain(`${provider.url} is reachable`);
    const url = `http://127.0.0.1:${freePort()}`;
    const { code, failed } = await checksOf({ ...free, OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/otlp` });
    expect(code).toBe(1);
    expect(failed).toMatchObject([
      {
        name: "traces",
        detail: `${url} is not reachable (ECONNREFUSED)`,
        mend: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT"),
      },
    ]);
  });

  test("checks the endpoints of traces and metrics one by one, and reports discarded resource attributes", async () => {
    const free = { ADMIN_PORT: "0", PROXY_PORT: "0", DATA_DIR: join(scratch, "measured") };
    const without = await checksOf({ ...free, OTEL_EXPORTER_OTLP_ENDPOINT: provider.url });
    expect(without.named("metrics")).toMatchObject([
      { state: "ok", detail: "not exported: OTEL_METRICS_EXPORTER is none" },
    ]);
    const url = `http://127.0.0.1:${freePort()}`;
    const { code, failed, named } = await checksOf({
      ...free,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${provider.url}/spans`,
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_RESOURCE_ATTRIBUTES: "team=search,region",
    });
    expect(code).toBe(1);
    expect(named("traces")).toMatchObject([
      { state: "ok", detail: expect.stringContaining(`${provider.url} is reachable`) },
      {
        state: "warn",
        detail: 'OTEL_RESOURCE_ATTRIBUTES has the entry "region"; all resource attributes are discarded',
        mend: expect.stringContaining("give pairs such as"),
      },
    ]);
    expect(failed).toMatchObject([
      { name: "metrics", mend: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT") },
    ]);
    const own = await checksOf({
      ...free,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${url}/metrics`,
      OTEL_METRICS_EXPORTER: "otlp",
    });
    expect(own.failed).toMatchObject([
      { name: "metrics", mend: expect.stringContaining("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") },
    ]);
  });

  test.skipIf(!hasOpenssl)("a server with TLS at an IP address", async () => {
    const directory = mkdtempSync(join(scratch, "tls-"));
    const validity = ["20200101000000Z", "20991231000000Z"] as const;
    const tracesAt = async (name: string, names: string) => {
      const files = createCertificate(directory, name, validity, names);
      const [key, cert] = [Bun.file(files.key), Bun.file(files.cert)];
      const fetch = () => new Response();
      const server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { key, cert }, fetch });
      // The authorities are read when a process starts.
      const { stdout } = await start(["doctor"], {
        ADMIN_PORT: "0",
        PROXY_PORT: "0",
        DATA_DIR: join(directory, "data"),
        OTEL_EXPORTER_OTLP_ENDPOINT: server.url.origin,
        NODE_EXTRA_CA_CERTS: files.cert,
      });
      await server.stop(true);
      return stdout.replaceAll(server.url.origin, "URL");
    };
    expect(await tracesAt("address", "IP:127.0.0.1")).toContain("URL is reachable over TLS");
    expect(await tracesAt("other", "DNS:other.example")).toContain(
      "URL is not reachable (ERR_TLS_CERT_ALTNAME_INVALID)",
    );
  });

  test.skipIf(!hasPostgres)(
    "a user of PostgreSQL who may not create, migrate or write the tables",
    async () => {
      const cluster = await sharedPostgres();
      const user = `reader_${randomBytes(6).toString("hex")}`;
      const failuresAt = async (owned: string, ...statements: string[]) => {
        const sql = new SQL(owned, { max: 1 });
        for (const statement of statements) await sql.unsafe(statement);
        await sql.close();
        const DATABASE_URL = owned.replace("postgres@", `${user}@`);
        const { named } = await checksOf({
          ADMIN_PORT: "0",
          PROXY_PORT: "0",
          SERVER_SECRET_KEY: TEST_SECRET,
          DATABASE_URL,
        });
        return named("store").flatMap(({ state, detail }) => (state === "fail" ? [detail] : []));
      };
      const REVOKE = "REVOKE ALL ON SCHEMA public FROM PUBLIC";
      const USE = `GRANT USAGE ON SCHEMA public TO ${user}`;
      const READ = `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${user}`;
      const WRITE = `GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${user}`;
      const CREATE = `GRANT CREATE ON SCHEMA public TO ${user}`;
      const mayNot = (what: string) => [`the user in DATABASE_URL may not ${what} the tables`];
      const empty = await cluster.createDatabase();
      expect(await failuresAt(empty, `CREATE ROLE ${user} LOGIN`, REVOKE)).toEqual(
        mayNot("create or migrate"),
      );
      expect(await failuresAt(empty, USE, CREATE)).toEqual([]);
      const migrated = await cluster.createMigrated();
      expect(await failuresAt(migrated, USE, READ)).toEqual(mayNot("write to"));
      expect(await failuresAt(migrated, WRITE)).toEqual([]);
      const older = "DELETE FROM schema_versions WHERE version > 1";
      expect(await failuresAt(migrated, CREATE, older)).toEqual(mayNot("create or migrate"));
    },
    60_000,
  );

  test.skipIf(!hasPostgres || !hasRedis)(
    "an available PostgreSQL and Redis, with their clocks, and whether Redis keeps what it has",
    async () => {
      const evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
      const [cluster, redis] = await Promise.all([sharedPostgres(), startRedis(evicting)]);
      try {
        const { code, named } = await checksOf({
          ADMIN_PORT: "0",
          PROXY_PORT: "0",
          SERVER_SECRET_KEY: TEST_SECRET,
          DATABASE_URL: await cluster.createDatabase(),
          REDIS_URL: redis.url,
        });
        expect(code).toBe(0);
        expect(named("store")[0]?.detail).toMatch(
          /^PostgreSQL \d.* is reachable, schema version 0; the next start migrates it to/,
        );
        expect(named("data")[0]?.detail).toMatch(/, \d+ MB are free$/);
        expect(named("clock").map(({ detail }) => detail)).toEqual([
          "agrees with the clock of the database",
          "agrees with the clock of Redis",
        ]);
        expect(named("counters")).toMatchObject([
          { detail: "Redis is reachable and counts" },
          { state: "warn", detail: expect.stringContaining("maxmemory_policy is allkeys-lru") },
          { state: "ok", detail: expect.stringContaining("aof_enabled 1") },
        ]);
      } finally {
        await redis.stop();
      }
    },
    60_000,
  );
});

test("bench needs no setup and leaves no files behind", async () => {
  const { code, stdout } = await start(["bench", "--seconds", "1", "--json"], { TMPDIR: scratch });
  const value = JSON.parse(stdout);
  expect({ code, failed: value.failed }).toEqual({ code: 0, failed: 0 });
  expect(value.requests_per_second).toBeGreaterThan(0);
  expect(value.gateway_ms.p50).toBeGreaterThan(0);
  expect([...new Bun.Glob("gatehouse-bench-*").scanSync({ cwd: scratch, onlyFiles: false })]).toEqual([]);
}, 60_000);
