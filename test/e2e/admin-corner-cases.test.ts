// Regression tests for corner cases of the Admin API and of startup.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  create,
  createChain,
  expectError,
  expectProblemsAt,
  STORES,
  type Chain,
} from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import {
  PROGRAM,
  temporaryDirectory,
  TEST_SECRET,
  type RunningGatehouse,
} from "../support/gatehouse-process.ts";
import { readSettings } from "../../src/config/settings.ts";
import { availableParallelism } from "node:os";
import { writeFileSync } from "node:fs";

describe.each(STORES)("the Admin API over %s", (_, environment) => {
  let gatehouse: RunningGatehouse;
  let chain: Chain;
  beforeAll(async () => {
    gatehouse = await startGatehouseOnSystemClock({ env: await environment() });
    chain = await createChain(gatehouse);
  }, 60_000);
  afterAll(() => gatehouse.stop());

  test("a rule keeps its value of active", async () => {
    for (const active of [true, false]) {
      const rule = await create(gatehouse, `/gateways/${chain.gateway}/rules`, {
        service_id: chain.service,
        path: "/a",
        methods: ["GET"],
        active,
      });
      expect((await gatehouse.api("GET", `/gateways/${chain.gateway}/rules/${rule.id}`)).body.active).toBe(
        active,
      );
    }
  });
  test.each([
    "tomorrow",
    "",
    "2099-01-01",
    "2099-01-01T00:00:00",
    "2099-13-01T00:00:00Z",
    "2099-01-01T00:00:00+99:99",
  ])("expires_at %p returns 400", async (expires_at) => {
    expectProblemsAt(
      await gatehouse.api("POST", "/iam/api-keys", { name: "k", subject: chain.gateway, expires_at }),
      "expires_at",
    );
  });
  test.each(["/gateways/%00", "/iam/api-keys/%00"])("%s returns 404", async (path) => {
    expectError(await gatehouse.api("GET", path), 404, "not_found");
    expectError(await gatehouse.api("DELETE", path), 404, "not_found");
  });
  test.each(["/gateways?name=%00", "/iam/api-keys?subject=a%00"])(
    "%s returns a status below 500",
    async (path) => {
      expect((await gatehouse.api("GET", path)).status).toBeLessThan(500);
    },
  );
  test("revoking a revoked key whose rule is deleted returns 204", async () => {
    const own = await createChain(gatehouse);
    const key = await create(gatehouse, "/iam/api-keys", {
      name: "k",
      subject: own.gateway,
      policies: [own.rule],
    });
    expect((await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`)).status).toBe(204);
    expect((await gatehouse.api("DELETE", `/gateways/${own.gateway}/rules/${own.rule}`)).status).toBe(204);
    expect((await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`)).status).toBe(204);
  });
  test("PATCH rejects unknown fields with any value", async () => {
    expectProblemsAt(await gatehouse.api("PATCH", `/gateways/${chain.gateway}`, { nmae: null }), "nmae");
    expectProblemsAt(await gatehouse.api("POST", `/gateways/${chain.gateway}`, { nmae: null }), "nmae");
    const upstream = `/gateways/${chain.gateway}/upstreams/${chain.upstream}`;
    expectProblemsAt(
      await gatehouse.api("PATCH", upstream, { health_checks: { tresholdd: null } }),
      "health_checks.tresholdd",
    );
  });
});

describe("the secret", () => {
  test("may have spaces around it", async () => {
    const gatehouse = await startGatehouseOnSystemClock({
      env: { SERVER_SECRET_KEY: "  spaces around it, and long enough  " },
    });
    expect((await gatehouse.api("GET", "/gateways")).status).toBe(200);
    await gatehouse.stop();
  });
  test.each([
    "SERVER_SECRET_KEY=abcdefghijklmnopqrstuvwxyz0123456789 # comment",
    'SERVER_SECRET_KEY="abcdefghijklmnopqrstuvwxyz0123456789" # comment',
  ])("in .env may be followed by a comment: %s", (line) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, ".env"), `${line}\n`);
    const script = join(import.meta.dir, "../../scripts/generate_jwt_token.sh");
    const token = Bun.spawnSync([script], { cwd, env: { PATH: process.env["PATH"] } })
      .stdout.toString()
      .trim();
    const [header, payload, signature] = token.split(".");
    const expected = new Bun.CryptoHasher("sha256", "abcdefghijklmnopqrstuvwxyz0123456789")
      .update(`${header}.${payload}`)
      .digest("base64url");
    expect(signature).toBe(expected);
  });
});

describe("the command line", () => {
  const runToEnd = (env: Record<string, string>, args: string[] = ["serve"]) => {
    const run = Bun.spawnSync([PROGRAM, ...args], {
      cwd: "/tmp",
      timeout: 20_000,
      env: {
        PATH: process.env["PATH"],
        ADMIN_PORT: "0",
        PROXY_PORT: "0",
        DATA_DIR: temporaryDirectory(),
        SERVER_SECRET_KEY: TEST_SECRET,
        LOG_LEVEL: "warn",
        ...env,
      },
    });
    return { code: run.exitCode, stderr: run.stderr.toString() };
  };
  test.each(["constructor", "toString", "__proto__"])("gatehouse %s is an unknown command", (name) => {
    expect(runToEnd({}, [name])).toEqual({
      code: 2,
      stderr: expect.stringContaining(`unknown command "${name}"`),
    });
  });
  test.each(["999.1.1.1", "no-such-host.invalid"])("HOST=%s", (HOST) => {
    expect(runToEnd({ HOST })).toEqual({ code: 2, stderr: expect.stringContaining("HOST") });
  });
  test("a port that is in use is reported with its setting", () => {
    const holder = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    expect(runToEnd({ ADMIN_PORT: String(holder.port) }).stderr).toContain("ADMIN_PORT");
    expect(runToEnd({ PROXY_PORT: String(holder.port) }).stderr).toContain("PROXY_PORT");
    void holder.stop(true);
  });
  test("a DATA_DIR that cannot be created is reported", () => {
    expect(runToEnd({ DATA_DIR: "/dev/null/x" })).toEqual({
      code: 2,
      stderr: expect.stringContaining("DATA_DIR"),
    });
  });
  test("a SQLite file that cannot be opened is reported", () => {
    expect(runToEnd({ DATABASE_URL: "sqlite:///proc/gatehouse.db" }).stderr).toContain("/proc/gatehouse.db");
  });
});

test("settings: an empty WORKERS is unset, also with REDIS_URL", () => {
  expect(readSettings({ REDIS_URL: "redis://localhost", WORKERS: "" }).WORKERS).toBe(availableParallelism());
});
