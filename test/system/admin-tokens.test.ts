// Stored admin tokens: created once, kept as hashes, valid until they expire or are revoked, and named in revisions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  create,
  expectError,
  expectProblemsAt,
  MISSING_ID,
  STORES,
  UUID_V7,
} from "../support/admin-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { callApi, startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const TOKEN = /^admin_gw_[A-Za-z0-9_-]{43}$/;
const DAY_MS = 86_400_000;
const provider = await useFakeProvider();

describe.each(STORES)("with %s", (_, environment) => {
  let gatehouse: GatehouseProcess;
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await environment();
    gatehouse = await startGatehouseProcess({ env });
  });
  afterAll(() => gatehouse.stop());
  const createToken = (fields: object = {}) =>
    create(gatehouse, "/iam/admin-tokens", { name: "pipeline", ...fields });
  const as = (token: string) => (method: string, path: string, body?: unknown) =>
    callApi(gatehouse.adminUrl, token, method, path, body);

  test("a stream of events ends when its token is revoked or expires", async () => {
    const { id: gateway } = await create(gatehouse, "/gateways", { name: "followed" });
    const revoked = await createToken();
    const valid = await createToken();
    const endOf = async ({ token }: { token: string }, path: string) => {
      const headers = { Authorization: `Bearer ${token}` };
      const response = await fetch(`${gatehouse.adminUrl}/api/v1${path}`, { headers });
      return response.status === 200 ? (response.body?.getReader() ?? null) : null;
    };
    const isEnded = async (reader: Awaited<ReturnType<typeof endOf>>) => {
      while ((await reader?.read())?.done === false);
      return reader !== null;
    };
    const paths = [`/gateways/${gateway}/requests/stream`, "/logs/stream"];
    const ofExpired = async (lifetimeMs: number) => {
      const expires_at = new Date(Date.now() + lifetimeMs).toISOString();
      const expired = await createToken({ expires_at });
      return Promise.all(paths.map((path) => endOf(expired, path)));
    };
    let ending = await ofExpired(1000);
    // On a busy machine the token may have expired before the streams began.
    for (let lifetimeMs = 2000; ending.includes(null); lifetimeMs *= 2) ending = await ofExpired(lifetimeMs);
    const ended = [...(await Promise.all(paths.map((path) => endOf(revoked, path)))), ...ending];
    const open = await endOf(valid, "/logs/stream");
    await gatehouse.api("DELETE", `/iam/admin-tokens/${revoked.id}`);
    expect(await Promise.all(ended.map(isEnded))).toEqual([true, true, true, true]);
    await gatehouse.api("GET", "/gateways/after-the-end");
    let text = "";
    while (!text.includes("after-the-end")) {
      const { done, value } = (await open?.read()) ?? { done: true, value: undefined };
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    expect(text).toContain("after-the-end");
    await open?.cancel();
    await gatehouse.api("DELETE", `/gateways/${gateway}`);
  });

  test("POST /iam/admin-tokens creates a named, expiring token that is shown once", async () => {
    const response = await gatehouse.api("POST", "/iam/admin-tokens", {
      name: "ci",
      role: "operator",
      expires_at: "2099-01-01T00:00:00+01:00",
    });
    expect(response.status).toBe(201);
    const { token, ...record } = response.body;
    expect(token).toMatch(TOKEN);
    expect(record).toEqual({
      id: expect.stringMatching(UUID_V7),
      name: "ci",
      role: "operator",
      gateways: null,
      expires_at: "2098-12-31T23:00:00.000Z",
      prefix: token.slice(0, 15),
      active: true,
      last_used_at: null,
      created_by: "admin",
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(response.headers.get("location")).toBe(`/api/v1/iam/admin-tokens/${record.id}`);
    expect((await gatehouse.api("GET", `/iam/admin-tokens/${record.id}`)).body).toEqual(record);
    const { body } = await gatehouse.api("GET", "/iam/admin-tokens?name=ci");
    expect(body).toEqual({ admin_tokens: [record], count: 1, limit: 100, offset: 0 });
    expect(JSON.stringify(body)).not.toContain(token);
  });

  test("without role, gateways and expires_at: an owner of all gateways for 90 days", async () => {
    const { role, gateways, expires_at } = await createToken();
    expect({ role, gateways }).toEqual({ role: "owner", gateways: null });
    const days = (Date.parse(expires_at) - Date.now()) / DAY_MS;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThanOrEqual(90);
  });

  test.each([
    ["name", { name: "" }],
    ["role", { name: "a", role: "root" }],
    ["gateways", { name: "a", gateways: [] }],
    ["gateways[0]", { name: "a", gateways: [MISSING_ID] }],
    ["expires_at", { name: "a", expires_at: "2020-01-01T00:00:00Z" }],
    ["expires_at", { name: "a", expires_at: null }],
    ["token", { name: "a", token: "chosen" }],
    ["rol", { name: "a", rol: "viewer" }],
  ])("an invalid %s is a 400", async (path, body) => {
    expectProblemsAt(await gatehouse.api("POST", "/iam/admin-tokens", body), path);
  });

  test("the token authenticates with its role and its gateways", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "g" });
    const { id, token } = await createToken({ name: "viewer", role: "viewer", gateways: [gateway.id] });
    const { status, body } = await as(token)("GET", "/iam/me");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      actor: { type: "admin_token", id, name: "viewer" },
      role: "viewer",
      gateways: [gateway.id],
    });
    expectError(await as(token)("PATCH", `/gateways/${gateway.id}`, { name: "x" }), 403, "forbidden");
    expect((await as(token)("GET", `/gateways/${gateway.id}`)).status).toBe(200);
    await waitUntil(
      async () => (await gatehouse.api("GET", `/iam/admin-tokens/${id}`)).body.last_used_at !== null,
    );
  });

  test("a similar or unknown token is rejected", async () => {
    const { token } = await createToken();
    const wrong = [
      token.slice(0, -1),
      `${token}A`,
      token.slice("admin_".length),
      token.toUpperCase(),
      `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
      `admin_gw_${"A".repeat(43)}`,
    ];
    for (const each of wrong) expectError(await as(each)("GET", "/gateways"), 401, "unauthorized");
  });

  test("a revoked token stops working immediately, also on another node, and keeps its record", async () => {
    const other = await startGatehouseProcess({ env, dataDir: gatehouse.dataDir, keepData: true });
    try {
      const { id, token } = await createToken({ name: "revoked" });
      const onOther = () => callApi(other.adminUrl, token, "GET", "/gateways");
      expect((await onOther()).status).toBe(200);
      expect((await gatehouse.api("DELETE", `/iam/admin-tokens/${id}`)).status).toBe(204);
      expectError(await onOther(), 401, "unauthorized");
      expectError(await as(token)("GET", "/gateways"), 401, "unauthorized");
      expect((await gatehouse.api("GET", `/iam/admin-tokens/${id}`)).body.active).toBe(false);
      expect((await gatehouse.api("DELETE", `/iam/admin-tokens/${id}`)).status).toBe(204);
      const patch = await gatehouse.api("PATCH", `/iam/admin-tokens/${id}`, { name: "again" });
      expectError(patch, 409, "admin_token_revoked");
    } finally {
      await other.stop();
    }
  });

  test("PATCH changes name and expiry, with If-Match; role and gateways stay", async () => {
    const { id, expires_at } = await createToken({ role: "viewer" });
    const path = `/iam/admin-tokens/${id}`;
    const { headers } = await gatehouse.api("GET", path);
    const etag = { "If-Match": headers.get("etag") ?? "" };
    const renamed = await gatehouse.api("PATCH", path, { name: "renamed", role: "viewer" }, etag);
    expect(renamed.status).toBe(200);
    expect(renamed.body).toMatchObject({ name: "renamed", role: "viewer", expires_at });
    expectError(await gatehouse.api("PATCH", path, { name: "lost" }, etag), 412, "precondition_failed");
    expectProblemsAt(await gatehouse.api("PATCH", path, { role: "owner" }), "role");
    expectProblemsAt(
      await gatehouse.api("PATCH", path, { expires_at: "2020-01-01T00:00:00Z" }),
      "expires_at",
    );
    expect((await gatehouse.api("GET", "/iam/admin-tokens/none")).status).toBe(404);
  });

  test("revisions name the token that made the change, and no revision is without an actor", async () => {
    const { id, token } = await createToken({ name: "deployer", role: "operator" });
    await as(token)("POST", "/gateways", { name: "deployed" });
    const { body } = await gatehouse.api("GET", "/revisions");
    expect(body.revisions[0]).toMatchObject({
      subject: "deployer",
      actor: { type: "admin_token", id, name: "deployer" },
      action: "create",
    });
    const one = await gatehouse.api("GET", `/revisions/${body.revisions[0].revision}`);
    expect(one.body.actor).toEqual({ type: "admin_token", id, name: "deployer" });
    for (const { actor } of body.revisions) expect(actor.name).not.toBe("");
  });

  test("admin tokens are no part of the configuration: no revision, no export, and no rollback restores one", async () => {
    await create(gatehouse, "/gateways", { name: "first" });
    const newest = async () => (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;
    const before = await newest();
    const { id, token } = await createToken({ name: "not exported" });
    expect(await newest()).toBe(before);
    const exported = await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" });
    expect(JSON.stringify(exported.body)).not.toContain("not exported");
    await create(gatehouse, "/gateways", { name: "second" });
    await gatehouse.api("DELETE", `/iam/admin-tokens/${id}`);
    await gatehouse.api("POST", `/revisions/${before}/rollback`);
    expectError(await as(token)("GET", "/gateways"), 401, "unauthorized");
  });
});

describe("secrecy of admin tokens", () => {
  test("only the hash is stored, and no log line contains a token", async () => {
    const gatehouse = await startGatehouseProcess({ keepData: true, env: { LOG_LEVEL: "trace" } });
    const { token } = await create(gatehouse, "/iam/admin-tokens", { name: "a" });
    await callApi(gatehouse.adminUrl, token, "GET", "/gateways");
    await gatehouse.api("GET", `/iam/admin-tokens/${token}`);
    await gatehouse.stop();
    const files = readdirSync(gatehouse.dataDir).map((name) =>
      readFileSync(join(gatehouse.dataDir, name), "latin1"),
    );
    expect(files.length).toBeGreaterThan(0);
    expect(files.some((text) => text.includes(token.slice("admin_gw_".length + 6)))).toBe(false);
    expect(gatehouse.output()).not.toContain(token.slice("admin_gw_".length + 6));
  });

  test("an admin token is never forwarded to a provider", async () => {
    const gatehouse = await startGatehouseProcess();
    try {
      const { token } = await create(gatehouse, "/iam/admin-tokens", { name: "a" });
      const { proxyUrl } = gatehouse;
      const route = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { credentials: null })] },
      });
      const response = await fetch(`${proxyUrl}${route.path}?key=${token}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "x-api-key": token, "Content-Type": "application/json" },
        body: JSON.stringify({ model: "m", messages: [] }),
      });
      await response.text();
      expect(provider.requests).toHaveLength(1);
      expect(JSON.stringify(provider.requests[0])).not.toContain(token);
    } finally {
      await gatehouse.stop();
    }
  });
});

test("a token stops working when it expires", async () => {
  const gatehouse = await startGatehouseInProcess();
  try {
    const expires_at = new Date(gatehouse.clock.unixNow() + 1000).toISOString();
    const { token } = await create(gatehouse, "/iam/admin-tokens", { name: "a", expires_at });
    const call = () => callApi(gatehouse.adminUrl, token, "GET", "/gateways");
    expect((await call()).status).toBe(200);
    gatehouse.clock.advance(1000);
    expectError(await call(), 401, "unauthorized");
  } finally {
    await gatehouse.stop();
  }
});

describe("gatehouse token", () => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await startGatehouseProcess();
  });
  afterAll(() => gatehouse.stop());
  const run = (...args: string[]) => runCommand(args, settingsOf(gatehouse));

  test("--role and --gateway sign a token with this role", async () => {
    const { stdout, code } = await run("token", "--role", "viewer", "--gateway=g", "--name", "reader");
    expect(code).toBe(0);
    const { body } = await callApi(gatehouse.adminUrl, stdout.trim(), "GET", "/iam/me");
    expect(body).toMatchObject({
      actor: { type: "server_secret", id: null, name: "reader" },
      role: "viewer",
      gateways: ["g"],
    });
    const message = '--role is "root"; give one of viewer, operator, owner';
    expectOneLine(await run("token", "--role", "root"), 2, message);
  });

  test("create prints only the token; list and revoke work with it", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "acme" });
    const created = await run(
      "token",
      "create",
      "--name=ci",
      "--role=operator",
      "--gateway=acme",
      "--expires=1h",
    );
    expect(created.code).toBe(0);
    const token = created.stdout.trim();
    expect(token).toMatch(TOKEN);
    const { body } = await callApi(gatehouse.adminUrl, token, "GET", "/iam/me");
    expect(body).toMatchObject({ role: "operator", gateways: [gateway.id] });
    const listed = await run("token", "list");
    expect(listed.stdout).toContain("ci");
    expect(listed.stdout).not.toContain(token);
    const revoked = await run("token", "revoke", "ci");
    expect(revoked.stdout).toContain('revoked token "ci"');
    expectError(await callApi(gatehouse.adminUrl, token, "GET", "/iam/me"), 401, "unauthorized");
  });
});
