// The audit log: every administrative action with its administrator, address and request, rejected requests counted per address and
// minute, reads of secrets, log lines, and the verification.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { join } from "node:path";
import { mintToken } from "../../src/cli/mint-token.ts";
import { create, createChain, expectProblemsAt, STORES } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { callApi, startGatehouseProcess, TEST_SECRET, untilPrinted } from "../support/gatehouse-process.ts";
import type { GatehouseProcess, RunningGatehouse } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const provider = await useFakeProvider();
const ADMIN = { type: "server_secret", id: null, name: "admin" };

type Entry = Record<string, any>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests read arbitrary JSON

async function entries(gatehouse: Pick<RunningGatehouse, "api">, query = ""): Promise<Entry[]> {
  const { status, body } = await gatehouse.api("GET", `/audit?limit=1000${query}`);
  expect(status).toBe(200);
  return body.audit_entries as Entry[];
}

describe.each(STORES)("with %s", (_, environment) => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await startGatehouseProcess({ env: await environment() });
  });
  afterAll(() => gatehouse.stop());
  const newest = async () => (await entries(gatehouse))[0]!;

  test("every kind of change is an entry with actor, role, address, request and revision", async () => {
    const before = (await entries(gatehouse)).length;
    const headers = { "X-Request-Id": "the-request", "X-Forwarded-For": "203.0.113.7" };
    const { body: gateway } = await gatehouse.api("POST", "/gateways", { name: "audited" }, headers);
    expect(await newest()).toMatchObject({
      actor: ADMIN,
      role: "owner",
      address: "203.0.113.7",
      request_id: "the-request",
      action: "create",
      resource: "gateway",
      resource_id: gateway.id,
      gateway_id: gateway.id,
      name: "audited",
      revision: expect.any(Number),
    });
    const steps: readonly (readonly [method: string, path: string, body: unknown, expected: object])[] = [
      ["PATCH", `/gateways/${gateway.id}`, { name: "x" }, { action: "update", resource: "gateway" }],
      ["PUT", "/prices", { prices: [] }, { action: "update", resource: "prices" }],
      ["DELETE", "/prices", undefined, { action: "delete", resource: "prices" }],
      ["POST", "/apply", { gateways: [{ name: "x", require_api_key: true }] }, { action: "apply" }],
      ["POST", `/revisions/1/rollback`, undefined, { action: "rollback", name: "revision 1" }],
      [
        "DELETE",
        `/gateways/${gateway.id}?cascade=true`,
        undefined,
        { action: "delete", resource: "gateway" },
      ],
    ];
    for (const [method, path, body, expected] of steps) {
      const response = await gatehouse.api(method, path, body);
      expect([path, response.status < 300]).toEqual([path, true]);
      expect(await newest()).toMatchObject({
        ...expected,
        ...(method === "PUT" && { action: expect.stringMatching(/create|update/) }),
        actor: ADMIN,
      });
    }
    expect((await entries(gatehouse)).length).toBe(before + 1 + steps.length);
  });

  test("admin tokens that are created, changed and revoked", async () => {
    const token = await create(gatehouse, "/iam/admin-tokens", { name: "ci", role: "viewer" });
    const about = { resource: "admin_token", resource_id: token.id, actor: ADMIN, revision: null };
    const created = await newest();
    expect(created).toMatchObject({ ...about, action: "create", name: "ci" });
    expect(created["details"]).toMatchObject({ role: "viewer", gateways: null, secret_shown: true });
    await gatehouse.api("PATCH", `/iam/admin-tokens/${token.id}`, { name: "deploy" });
    expect(await newest()).toMatchObject({ ...about, action: "update", details: { renamed_from: "ci" } });
    await gatehouse.api("DELETE", `/iam/admin-tokens/${token.id}`);
    expect(await newest()).toMatchObject({ ...about, action: "revoke", name: "deploy" });
    const count = (await entries(gatehouse)).length;
    await gatehouse.api("DELETE", `/iam/admin-tokens/${token.id}`);
    expect(await entries(gatehouse)).toHaveLength(count);
  });

  test("a secret that is shown is marked, and no entry contains it", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "keys" });
    const { id, key } = await create(gatehouse, "/iam/api-keys", { name: "k", subject: gateway.id });
    expect((await newest())["details"].secret_shown).toBe(true);
    const rotated = await gatehouse.api("POST", `/iam/api-keys/${id}/rotate`);
    expect((await newest())["details"].secret_shown).toBe(true);
    await gatehouse.api("PATCH", `/iam/api-keys/${id}`, { name: "renamed" });
    expect((await newest())["details"].secret_shown).toBeUndefined();
    const document = { gateways: [{ name: "keys", api_keys: [{ name: "applied" }] }] };
    const applied = await gatehouse.api("POST", "/apply", document);
    expect((await newest())["details"].secret_shown).toBe(true);
    await createChain(gatehouse, "with a credential");
    const text = JSON.stringify(await entries(gatehouse));
    const secrets = [
      key,
      rotated.body.key,
      applied.body.changes.at(-1).key ?? "gw_none",
      "sk-abcdefghijklmnop",
    ];
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test("what changes nothing has no entry: reads, dry runs, rejected and invalid requests", async () => {
    const before = await entries(gatehouse);
    await gatehouse.api("GET", "/gateways");
    await gatehouse.api("POST", "/apply?dry_run=true", { gateways: [{ name: "planned" }] });
    await gatehouse.api("POST", "/gateways", { name: "" });
    await gatehouse.api("POST", "/gateways", {}, { "Sec-Fetch-Site": "cross-site" });
    expect(await entries(gatehouse)).toEqual(before);
  });

  test("entries are filtered by actor, action, outcome, resource, gateway, address and time, in pages", async () => {
    const token = await mintToken(TEST_SECRET, 60, "bob");
    const { body: gateway } = await callApi(gatehouse.adminUrl, token, "POST", "/gateways", {
      name: "of bob",
    });
    const one = (await entries(gatehouse, "&actor=bob"))[0]!;
    expect(one["name"]).toBe("of bob");
    for (const query of [`gateway_id=${gateway.id}`, "actor=bob&action=create&resource=gateway"])
      expect(await entries(gatehouse, `&${query}`)).toEqual([one]);
    const time = encodeURIComponent(one["created_at"] as string);
    expect((await entries(gatehouse, `&since=${time}`)).map(({ sequence }) => sequence)).toContain(
      one["sequence"],
    );
    expect((await entries(gatehouse, `&until=${time}`)).map(({ sequence }) => sequence)).not.toContain(
      one["sequence"],
    );
    expect(await entries(gatehouse, "&address=192.0.2.99")).toEqual([]);
    expect(await entries(gatehouse, "&actor=bob&outcome=done")).toEqual([one]);
    expect(await entries(gatehouse, "&actor=bob&outcome=refused")).toEqual([]);
    expectProblemsAt(await gatehouse.api("GET", "/audit?outcome=other"), "?outcome");
    const { body } = await gatehouse.api("GET", "/audit?limit=1&offset=1");
    expect(body).toMatchObject({ limit: 1, offset: 1 });
    expect(body.audit_entries).toEqual([(await entries(gatehouse))[1]]);
    expectProblemsAt(await gatehouse.api("GET", "/audit?action=nothing"), "?action");
    expectProblemsAt(await gatehouse.api("GET", "/audit?since=yesterday"), "?since");
    expect(await entries(gatehouse, "&search=OF%20BOB")).toEqual([one]);
    const ascending = await entries(gatehouse, "&sort=created_at");
    expect(ascending).toEqual((await entries(gatehouse)).toReversed());
    expectProblemsAt(await gatehouse.api("GET", "/audit?sort=body"), "?sort");
    expectProblemsAt(await gatehouse.api("GET", `/audit?search=${"x".repeat(201)}`), "?search");
  });

  test("the log is append-only: there is no operation that changes or removes entries", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expect((await gatehouse.api(method, "/audit")).status).toBe(405);
      expect((await gatehouse.api(method, "/audit/1")).status).toBe(404);
    }
  });

  test("every entry is a log line with its hash", async () => {
    await create(gatehouse, "/gateways", { name: "logged" });
    const { sequence, hash } = await newest();
    await untilPrinted(gatehouse, hash as string);
    const lines = gatehouse
      .output()
      .split("\n")
      .filter((line) => line.includes('"msg":"audit"'));
    const logged = lines.map((line) => (JSON.parse(line) as { audit: Entry }).audit);
    expect(logged.find((entry) => entry["sequence"] === sequence)).toEqual(await newest());
    const all = (await entries(gatehouse)).map((entry) => entry["sequence"] as number);
    expect(logged.map((entry) => entry["sequence"] as number)).toEqual(all.toReversed());
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("lines of the audit log in GET /logs are for owners only, like the audit log", async () => {
    await create(gatehouse, "/gateways", { name: "not for viewers" });
    const linesFor = async (role: "viewer" | "operator" | "owner") => {
      const token = await mintToken(TEST_SECRET, 60, role, { role });
      const { body } = await callApi(gatehouse.adminUrl, token, "GET", "/logs?limit=1000");
      return (body.logs as Entry[]).map((line) => line["msg"] as string);
    };
    expect(await linesFor("owner")).toContain("audit");
    for (const role of ["viewer", "operator"] as const) {
      expect(await linesFor(role)).not.toContain("audit");
      expect(await linesFor(role)).toContain("request");
    }
    const abort = new AbortController();
    const headers = { Authorization: `Bearer ${await mintToken(TEST_SECRET, 60, "v", { role: "viewer" })}` };
    const url = `${gatehouse.adminUrl}/api/v1/logs/stream`;
    const stream = await fetch(url, { headers, signal: abort.signal });
    await create(gatehouse, "/gateways", { name: "followed" });
    let text = "";
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      // The line of the request is logged after that of the audit log.
      if (text.includes('"path":"/api/v1/gateways"')) break;
    }
    abort.abort();
    expect(text).not.toContain('"msg":"audit"');
  });

  test("reads of secrets: the export and recorded bodies, once per minute", async () => {
    const reads = (query = "") => entries(gatehouse, `&action=read_secrets${query}`);
    const json = { Accept: "application/json" };
    await gatehouse.api("GET", "/export", undefined, json);
    await gatehouse.api("GET", "/export", undefined, json);
    expect(await reads("&resource=configuration")).toMatchObject([{ actor: ADMIN }]);
    const route = await seedRoute(gatehouse, {
      gateway: { log_bodies: true },
      upstream: { targets: [targetAt(provider)] },
    });
    const path = `/gateways/${route.gateway}/requests`;
    await gatehouse.api("GET", path);
    expect(await reads(`&gateway_id=${route.gateway}`)).toEqual([]);
    await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    });
    await waitUntil(async () => (await gatehouse.api("GET", path)).body.count > 0);
    await gatehouse.api("GET", path);
    expect(await reads(`&gateway_id=${route.gateway}`)).toMatchObject([
      { resource: "request_bodies", actor: ADMIN, gateway_id: route.gateway },
    ]);
  });

  test("bodies that a gateway begins to log while it is followed", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const at = `/gateways/${route.gateway}`;
    const reads = () => entries(gatehouse, `&action=read_secrets&gateway_id=${route.gateway}`);
    const abort = new AbortController();
    const stream = await fetch(`${gatehouse.adminUrl}/api/v1${at}/requests/stream`, {
      headers: { Authorization: `Bearer ${gatehouse.token}` },
      signal: abort.signal,
    });
    expect(await reads()).toEqual([]);
    await gatehouse.api("PATCH", at, { log_bodies: true });
    await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    });
    for await (const chunk of stream.body!) if (Buffer.from(chunk).includes('"bodies"')) break;
    abort.abort();
    expect(await reads()).toMatchObject([{ resource: "request_bodies", actor: ADMIN }]);
  });

  test("GET /audit/verification and gatehouse audit verify", async () => {
    const { body } = await gatehouse.api("GET", "/audit/verification");
    const { sequence, hash } = await newest();
    expect(body).toEqual({ valid: true, entries: sequence, removed: 0, sequence, hash, problem: null });
    const run = (...args: string[]) => runCommand(["audit", ...args], settingsOf(gatehouse));
    const verified = await run("verify");
    expect(verified.code).toBe(0);
    expect(verified.stdout).toContain(
      `valid: ${String(sequence)} entries; the newest is ${String(sequence)} with`,
    );
    const listed = await run("--actor", "bob");
    expect(listed.stdout).toContain("of bob");
  });
});

test("gatehouse audit verify exits with 1 and names the entry that was changed", async () => {
  const gatehouse = await startGatehouseProcess();
  try {
    for (const name of ["a", "b", "c"]) await create(gatehouse, "/gateways", { name });
    const sql = new SQL({ adapter: "sqlite", filename: join(gatehouse.dataDir, "gatehouse.db") });
    await sql`UPDATE audit_entries SET body = replace(body, '"admin"', '"mallory"') WHERE sequence = 2`;
    await sql.close();
    const verified = await runCommand(["audit", "verify"], settingsOf(gatehouse));
    expect(verified.code).toBe(1);
    expect(verified.stdout).toContain("not valid: entry 2 was changed");
  } finally {
    await gatehouse.stop();
  }
});

describe("rejected requests", () => {
  let gatehouse: GatehouseInProcess;
  beforeAll(async () => {
    gatehouse = await startGatehouseInProcess();
  });
  afterAll(() => gatehouse.stop());
  const refused = async (address: string) => entries(gatehouse, `&action=refused&address=${address}`);
  const reject = (address: string, authorization = "Bearer wrong") =>
    fetch(`${gatehouse.adminUrl}/api/v1/gateways`, {
      headers: { Authorization: authorization, "X-Forwarded-For": address },
    });
  const nextMinute = async (isDone: () => Promise<boolean>) => {
    gatehouse.clock.advance(60_000);
    await waitUntil(isDone);
  };

  test("are one entry per address and minute", async () => {
    for (let count = 0; count < 5; count++) expect((await reject("198.51.100.1")).status).toBe(401);
    await reject("198.51.100.2");
    expect(await refused("198.51.100.1")).toEqual([]);
    await nextMinute(async () => (await refused("198.51.100.1")).length === 1);
    expect((await refused("198.51.100.1"))[0]).toMatchObject({
      actor: null,
      role: null,
      details: { count: 5, codes: { unauthorized: 5 }, first_at: expect.any(String) },
    });
    expect((await refused("198.51.100.2"))[0]?.["details"].count).toBe(1);
    await reject("198.51.100.1");
    await nextMinute(async () => (await refused("198.51.100.1")).length === 2);
  });

  test("of administrators and of other sites are counted with their code and name", async () => {
    const viewer = await mintToken(TEST_SECRET, 60, "a viewer", { role: "viewer" });
    const headers = { "X-Forwarded-For": "198.51.100.3" };
    await callApi(gatehouse.adminUrl, viewer, "POST", "/gateways", { name: "x" }, headers);
    const crossSite = { ...headers, "Sec-Fetch-Site": "cross-site" };
    await callApi(gatehouse.adminUrl, gatehouse.token, "POST", "/gateways", { name: "x" }, crossSite);
    await nextMinute(async () => (await refused("198.51.100.3")).length === 1);
    expect((await refused("198.51.100.3"))[0]?.["details"]).toMatchObject({
      count: 2,
      codes: { forbidden: 1, cross_site_request: 1 },
      actors: ["a viewer"],
    });
  });

  test("of more than 100 addresses in a minute are counted together", async () => {
    for (let host = 0; host < 120; host++) await reject(`203.0.113.${host}`);
    const count = async () => (await entries(gatehouse, "&action=refused")).length;
    const before = await count();
    await nextMinute(async () => (await count()) > before);
    expect(await count()).toBe(before + 101);
    const others = (await entries(gatehouse, "&action=refused")).filter((entry) => entry["address"] === null);
    expect(others.map((entry) => entry["details"].count as number)).toEqual([20]);
  });

  test("are recorded when the gateway stops", async () => {
    const stopping = await startGatehouseProcess({ keepData: true });
    await fetch(`${stopping.adminUrl}/api/v1/gateways`);
    stopping.signal("SIGTERM");
    await stopping.exited;
    expect(stopping.output()).toContain('"action":"refused"');
    const again = await startGatehouseProcess({ dataDir: stopping.dataDir });
    try {
      expect(await entries(again)).toMatchObject([{ action: "refused", address: "127.0.0.1" }]);
    } finally {
      await again.stop();
    }
  });
});
