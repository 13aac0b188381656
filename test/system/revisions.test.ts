// Revisions in the Admin API: every write is logged, and the configuration can be rolled back to any of them.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SignJWT } from "jose";
import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  create,
  createChain,
  expectError,
  expectProblemsAt,
  OPENAI_TARGET,
  STORES,
} from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);

type Diff = { path: string; before: unknown; after: unknown; secret?: true }[];

async function tokenOf(claims: Record<string, unknown>): Promise<Record<string, string>> {
  const key = new TextEncoder().encode(TEST_SECRET);
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(key);
  return { Authorization: `Bearer ${token}` };
}

async function latest(gatehouse: GatehouseProcess): Promise<ApiResponse["body"]> {
  return (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];
}

async function diffOf(gatehouse: GatehouseProcess, revision: number): Promise<Diff> {
  return (await gatehouse.api("GET", `/revisions/${revision}`)).body.diff as Diff;
}

/** Returns all records as the Admin API shows them. */
async function everything(gatehouse: GatehouseProcess): Promise<unknown[]> {
  const { body } = await gatehouse.api("GET", "/gateways?limit=1000");
  const found: unknown[] = [
    body.gateways,
    (await gatehouse.api("GET", "/iam/api-keys?limit=1000")).body.api_keys,
  ];
  for (const { id } of body.gateways)
    for (const kind of ["upstreams", "services", "rules"])
      found.push((await gatehouse.api("GET", `/gateways/${id}/${kind}?limit=1000`)).body[kind]);
  return found;
}

describe.each(STORES)("revisions with %s", (_, environment) => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await startGatehouseProcess({ env: await environment() });
  });
  afterAll(() => gatehouse.stop());

  test("every write is listed with its subject, action and record, newest first, and by gateway", async () => {
    const alice = await tokenOf({ sub: "alice" });
    const { body: gateway } = await gatehouse.api("POST", "/gateways", { name: "logged" }, alice);
    const path = `/gateways/${gateway.id}`;
    await gatehouse.api("PATCH", path, { require_api_key: true }, await tokenOf({ sub: 7 }));
    const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: gateway.id });
    await gatehouse.api("DELETE", `${path}?cascade=true`, undefined, alice);
    const { status, body } = await gatehouse.api("GET", `/revisions?gateway_id=${gateway.id}`);
    expect(status).toBe(200);
    const first = body.revisions.at(-1).revision as number;
    const entry = (offset: number, fields: object) => ({
      revision: first + offset,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      resource: "gateway",
      resource_id: gateway.id,
      gateway_id: gateway.id,
      name: "logged",
      actor: { type: "server_secret", id: null, name: "alice" },
      reason: null,
      ...fields,
    });
    expect(body).toEqual({
      revisions: [
        entry(3, { action: "delete", subject: "alice" }),
        entry(2, {
          action: "create",
          subject: "admin",
          actor: { type: "server_secret", id: null, name: "admin" },
          resource: "api_key",
          resource_id: key.id,
          name: "k",
        }),
        entry(1, {
          action: "update",
          subject: null,
          actor: { type: "server_secret", id: null, name: "unnamed" },
        }),
        entry(0, { action: "create", subject: "alice" }),
      ],
      count: 4,
      limit: 100,
      offset: 0,
    });
    const paged = await gatehouse.api("GET", `/revisions?gateway_id=${gateway.id}&limit=1&offset=2`);
    expect(paged.body.revisions).toEqual([body.revisions[2]]);
    expect(paged.body.count).toBe(4);
  });

  test("a revision has a diff by field; credentials are masked, API keys are never shown", async () => {
    const chain = await createChain(gatehouse, "diffs");
    const path = `/gateways/${chain.gateway}/upstreams/${chain.upstream}`;
    const listed = await gatehouse.api("GET", "/revisions?limit=3");
    const created = await diffOf(gatehouse, listed.body.revisions[2].revision);
    expect(created.find(({ path }) => path === "name")).toEqual({
      path: "name",
      before: null,
      after: "models",
    });
    const targets = created.find(({ path }) => path === "targets")?.after as (typeof OPENAI_TARGET)[];
    expect(targets[0]?.credentials.header_value).toBe("Bea***mnop");
    const secret = "Bearer sk-another-secret-mnop"; // masked the same, but still a change
    await gatehouse.api("PATCH", path, {
      targets: [
        { ...OPENAI_TARGET, weight: 7, credentials: { header_name: "Authorization", header_value: secret } },
      ],
      timeouts: { total: 5000 },
    });
    const { body, headers } = await gatehouse.api("GET", `/revisions/${(await latest(gatehouse)).revision}`);
    expect(body).toMatchObject({ action: "update", resource: "upstream", resource_id: chain.upstream });
    expect((body.diff as Diff).sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      {
        path: "targets[0].credentials.header_value",
        before: "Bea***mnop",
        after: "Bea***mnop",
        secret: true,
      },
      { path: "targets[0].id", before: expect.any(String), after: expect.any(String) },
      { path: "targets[0].weight", before: 1, after: 7 },
      { path: "timeouts.total", before: null, after: 5000 },
    ]);
    expect(headers.get("etag")).toMatch(/^".+"$/);
    const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: chain.gateway });
    const rotated = await gatehouse.api("POST", `/iam/api-keys/${key.id}/rotate`);
    expect(await diffOf(gatehouse, (await latest(gatehouse)).revision)).toEqual([
      { path: "prefix", before: key.prefix, after: rotated.body.prefix },
    ]);
    await gatehouse.api("DELETE", `/gateways/${chain.gateway}?cascade=true`);
    const deletion = await gatehouse.api("GET", `/revisions/${(await latest(gatehouse)).revision}`);
    const paths = (deletion.body.diff as Diff).map(({ path }) => path);
    expect(paths).toContain("name");
    expect(paths).toContain(`rules/${chain.rule}.path`);
    expect(paths).toContain(`api_keys/${key.id}.name`);
    expect(JSON.stringify(deletion.body)).not.toMatch(/hash|another-secret/);
  });

  test("a rollback restores all records with ids, times and fields, and can be rolled back itself", async () => {
    const chain = await createChain(gatehouse, "to be restored");
    const key = await create(gatehouse, "/iam/api-keys", {
      name: "k",
      subject: chain.gateway,
      policies: [chain.rule],
    });
    const revision = (await latest(gatehouse)).revision as number;
    const before = await everything(gatehouse);
    await gatehouse.api("PATCH", `/gateways/${chain.gateway}`, { name: "changed", subdomain: "changed" });
    await gatehouse.api("PATCH", `/gateways/${chain.gateway}/rules/${chain.rule}`, { path: "/other" });
    await create(gatehouse, "/gateways", { name: "created since" });
    await gatehouse.api("DELETE", `/gateways/${chain.gateway}?cascade=true`);
    const after = await everything(gatehouse);
    const rolledBack = await gatehouse.api("POST", `/revisions/${revision}/rollback`);
    expect(rolledBack).toMatchObject({ status: 200, body: { revision: revision + 5, not_undone: [] } });
    expect(await everything(gatehouse)).toEqual(before);
    expect(await latest(gatehouse)).toMatchObject({
      revision: revision + 5,
      action: "rollback",
      subject: "admin",
      resource: "configuration",
      resource_id: null,
      gateway_id: null,
      name: `revision ${revision}`,
    });
    // Also effective for requests.
    const call = await fetch(`${gatehouse.proxyUrl}/other`, { headers: { "X-GW-API-Key": key.key } });
    expect(call.status).toBe(404);
    expect((await call.json()) as object).toMatchObject({ code: "rule_not_found" });
    const again = await gatehouse.api("POST", `/revisions/${revision}/rollback`);
    expect(again.body.revision).toBe(revision + 5);
    const undone = await gatehouse.api("POST", `/revisions/${revision + 4}/rollback`);
    expect(undone.body.revision).toBe(revision + 6);
    expect(await everything(gatehouse)).toEqual(after);
  });

  test("a revoked API key stays revoked and a rotated one keeps its new value; the response names both", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "keys" });
    const make = (name: string) => create(gatehouse, "/iam/api-keys", { name, subject: gateway.id });
    const [revoked, rotated] = [await make("revoked"), await make("rotated")];
    const { revision } = await latest(gatehouse);
    await gatehouse.api("PATCH", `/iam/api-keys/${rotated.id}`, { name: "renamed" });
    const replaced = await gatehouse.api("POST", `/iam/api-keys/${rotated.id}/rotate`);
    await gatehouse.api("DELETE", `/iam/api-keys/${revoked.id}`);
    const { status, body } = await gatehouse.api("POST", `/revisions/${revision}/rollback`);
    expect(status).toBe(200);
    expect(body.not_undone).toContainEqual({ api_key_id: revoked.id, name: "revoked", reason: "revoked" });
    expect(body.not_undone).toContainEqual({ api_key_id: rotated.id, name: "rotated", reason: "rotated" });
    expect(body.not_undone).toHaveLength(2);
    expect((await gatehouse.api("GET", `/iam/api-keys/${revoked.id}`)).body.active).toBe(false);
    const { body: now } = await gatehouse.api("GET", `/iam/api-keys/${rotated.id}`);
    expect(now).toMatchObject({ name: "rotated", prefix: replaced.body.prefix, active: true });
    const call = (key: string) =>
      fetch(`${gatehouse.proxyUrl}/v1/models`, { headers: { "X-GW-API-Key": key } });
    expect((await call(revoked.key)).status).toBe(401);
    expect((await call(rotated.key)).status).toBe(401);
    expect((await call(replaced.body.key)).status).toBe(200);
  });

  test("prices are logged like records and rolled back with them", async () => {
    const alice = await tokenOf({ sub: "alice" });
    const price = { model: "gpt-*", input_per_million: 1, output_per_million: 2 };
    const put = (input: number) =>
      gatehouse.api("PUT", "/prices", { prices: [{ ...price, input_per_million: input }] }, alice);
    const prices = async () => (await gatehouse.api("GET", "/prices")).body;
    const builtin = await prices();
    await create(gatehouse, "/gateways", { name: "before the prices" });
    const revision = Number((await latest(gatehouse)).revision);
    await put(1);
    const first = await prices();
    expect(await latest(gatehouse)).toMatchObject({
      ...{ revision: revision + 1, subject: "alice", action: "create", resource: "prices" },
      ...{ resource_id: "prices", gateway_id: null },
    });
    await put(3);
    expect(await latest(gatehouse)).toMatchObject({ action: "update", resource: "prices" });
    expect(await diffOf(gatehouse, revision + 2)).toEqual([
      { path: "prices[0].input_per_million", before: 1, after: 3 },
    ]);
    await gatehouse.api("POST", `/revisions/${revision + 1}/rollback`);
    expect(await prices()).toEqual(first);
    await gatehouse.api("POST", `/revisions/${revision}/rollback`);
    expect(await prices()).toEqual(builtin);
  });

  test("two revisions are compared by record; a dry run of a rollback returns the same in reverse", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "compared" });
    const from = Number((await latest(gatehouse)).revision);
    await gatehouse.api("PATCH", `/gateways/${id}`, { name: "between" });
    await gatehouse.api("PATCH", `/gateways/${id}`, { name: "compared", log_bodies: true });
    const compare = (query = "") => gatehouse.api("GET", `/revisions/${from}/diff${query}`);
    const changed = { action: "update", resource: "gateway", id, gateway_id: null, name: "compared" };
    expect((await compare()).body).toEqual({
      from,
      to: from + 2,
      records: [{ ...changed, changes: [{ path: "log_bodies", before: false, after: true }] }],
      left_out: 0,
    });
    expect((await compare(`?to=${from + 1}`)).body).toMatchObject({
      to: from + 1,
      records: [{ name: "between" }],
    });
    expect((await compare(`?to=${from}`)).body).toMatchObject({ to: from, records: [] });
    expectError(await compare(`?to=${from - 1}`), 400, "validation_failed");
    expectError(await compare("?to=x"), 400, "validation_failed");
    expectError(await compare(`?to=${from + 3}`), 404, "not_found");
    const planned = await gatehouse.api("POST", `/revisions/${from}/rollback?dry_run=true`);
    expect(planned.body).toEqual({
      revision: from + 2,
      not_undone: [],
      records: [{ ...changed, changes: [{ path: "log_bodies", before: true, after: false }] }],
      left_out: 0,
    });
    expect((await latest(gatehouse)).revision).toBe(from + 2);
  });

  test("one gateway is rolled back with its records; others and prices stay as they are", async () => {
    const [mine, other] = [await createChain(gatehouse, "mine"), await createChain(gatehouse, "other")];
    const revision = Number((await latest(gatehouse)).revision);
    const parts = async (id: string) =>
      Promise.all(["", "/upstreams", "/services", "/rules"].map((path) => read(`/gateways/${id}${path}`)));
    const read = async (path: string) => (await gatehouse.api("GET", path)).body;
    const before = await parts(mine.gateway);
    for (const { gateway, rule } of [mine, other])
      await gatehouse.api("PATCH", `/gateways/${gateway}/rules/${rule}`, { path: "/changed" });
    await gatehouse.api("PUT", "/prices", { prices: [{ model: "m", input_per_million: 1 }] });
    await create(gatehouse, `/gateways/${mine.gateway}/upstreams`, {
      name: "created since",
      targets: [{ provider: "openai" }],
    });
    await gatehouse.api("DELETE", `/gateways/${mine.gateway}?cascade=true`);
    const [others, prices] = [await parts(other.gateway), await read("/prices")];
    const path = `/revisions/${revision}/rollback?gateway_id=${mine.gateway}`;
    const planned = await gatehouse.api("POST", `${path}&dry_run=true`);
    expect(
      planned.body.records
        .map(({ action, resource }: Record<string, string>) => `${action} ${resource}`)
        .sort(),
    ).toEqual(["create gateway", "create rule", "create service", "create upstream"]);
    const rolledBack = await gatehouse.api("POST", path);
    expect(rolledBack).toMatchObject({ status: 200, body: { revision: revision + 6 } });
    expect(await parts(mine.gateway)).toEqual(before);
    expect(await parts(other.gateway)).toEqual(others);
    expect(await read("/prices")).toEqual(prices);
    expect(await latest(gatehouse)).toMatchObject({ action: "rollback", gateway_id: mine.gateway });
    // The rollback can be undone, as a whole and for the gateway.
    await gatehouse.api("POST", `/revisions/${revision + 5}/rollback?gateway_id=${mine.gateway}`);
    expect((await gatehouse.api("GET", `/gateways/${mine.gateway}`)).status).toBe(404);
    expectError(
      await gatehouse.api("POST", `/revisions/${revision}/rollback?gateway_id=unknown`),
      404,
      "not_found",
    );
  });

  test("one gateway is not rolled back to a subdomain that another gateway has taken since", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "first", subdomain: "wanted" });
    const { revision } = await latest(gatehouse);
    await gatehouse.api("PATCH", `/gateways/${id}`, { subdomain: "given-up" });
    await create(gatehouse, "/gateways", { name: "second", subdomain: "wanted" });
    const rejected = await gatehouse.api("POST", `/revisions/${revision}/rollback?gateway_id=${id}`);
    expectError(rejected, 409, "duplicate");
    expect((await gatehouse.api("GET", `/gateways/${id}`)).body.subdomain).toBe("given-up");
  });

  test("revisions are filtered by administrator, record type and time", async () => {
    const carol = await tokenOf({ sub: "carol" });
    await gatehouse.api("POST", "/gateways", { name: "of carol" }, carol);
    const newest = await latest(gatehouse);
    const list = async (query: string) => (await gatehouse.api("GET", `/revisions?${query}`)).body;
    expect((await list("actor=carol")).revisions).toEqual([newest]);
    const { body: shown } = await gatehouse.api("GET", `/revisions/${newest.revision}`);
    expect(shown.records).toMatchObject([{ action: "create", resource: "gateway", name: "of carol" }]);
    expect((await list("actor=carol&resource=gateway")).count).toBe(1);
    expect((await list("actor=carol&resource=rule")).count).toBe(0);
    expect((await list("resource=configuration&limit=1")).revisions[0]).toMatchObject({ resource_id: null });
    const time = encodeURIComponent(String(newest.created_at));
    expect((await list(`actor=carol&since=${time}`)).count).toBe(1);
    expect((await list(`actor=carol&until=${time}`)).count).toBe(0);
    expectProblemsAt(await gatehouse.api("GET", "/revisions?resource=other"), "?resource");
    expect((await list("search=OF%20CAROL")).revisions).toEqual([newest]);
    expect((await list("search=carol&resource=rule")).count).toBe(0);
    const oldest = (await list("sort=created_at&limit=1")).revisions;
    expect(oldest).toEqual((await list("limit=1000")).revisions.slice(-1));
    expectProblemsAt(await gatehouse.api("GET", "/revisions?sort=records"), "?sort");
    expectProblemsAt(await gatehouse.api("GET", `/revisions?search=${"x".repeat(201)}`), "?search");
  });

  test("a revision that does not exist is 404, whatever its number; rollback accepts only POST", async () => {
    for (const number of ["0", "999999", "-1", "x", "1e3", "1234567890123456", "%00"]) {
      expectError(await gatehouse.api("GET", `/revisions/${number}`), 404, "not_found");
      expectError(await gatehouse.api("POST", `/revisions/${number}/rollback`), 404, "not_found");
    }
    const missing = await gatehouse.api("POST", "/revisions/999999/rollback");
    expect(missing.body.error).toBe(
      "Revision 999999 is not among the last 10000 that are kept; nothing was changed.",
    );
    expectError(await gatehouse.api("GET", "/revisions/1/rollback"), 405, "method_not_allowed");
    expectError(await gatehouse.api("GET", "/revisions?limit=0"), 400, "validation_failed");
  });
});

describe("a rollback", () => {
  test("becomes active in every node", async () => {
    const one = await startGatehouseProcess();
    const two = await startGatehouseProcess({ dataDir: one.dataDir, keepData: true });
    try {
      const chain = await createChain(one, "shared");
      const { revision } = await latest(one);
      await one.api("DELETE", `/gateways/${chain.gateway}?cascade=true`);
      const isServed = async () => (await fetch(`${two.proxyUrl}/v1/chat/completions`)).status === 405;
      await waitUntil(async () => !(await isServed()));
      await one.api("POST", `/revisions/${revision}/rollback`);
      await waitUntil(async () => await isServed());
    } finally {
      await two.stop();
      await one.stop();
    }
  });

  test("that no longer compiles changes nothing, and the error names the invalid record", async () => {
    const directory = temporaryDirectory();
    const plugin = join(directory, "greeter.ts");
    const source = `import { definePlugin, z } from "gatehouse/sdk";
      export default definePlugin({ name: "greeter", description: "d", stages: ["pre_request"], settings: z.object({}),
        create: () => ({ pre_request() {} }) });`;
    await Bun.write(plugin, source);
    const gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: directory } });
    try {
      const required_plugins = [{ name: "greeter", stage: "pre_request" }];
      const gateway = await create(gatehouse, "/gateways", { name: "greeted", required_plugins });
      await gatehouse.api("PATCH", `/gateways/${gateway.id}`, { required_plugins: [], name: "plain" });
      rmSync(directory, { recursive: true });
      const names = async () =>
        (await gatehouse.api("GET", "/plugins")).body.plugins.map(
          ({ name }: { name: string }) => name,
        ) as string[];
      await waitUntil(async () => !(await names()).includes("greeter"));
      const rejected = await gatehouse.api("POST", "/revisions/1/rollback");
      expectProblemsAt(rejected, `gateways/${gateway.id}.required_plugins[0].name`);
      expect((await gatehouse.api("GET", `/gateways/${gateway.id}`)).body.name).toBe("plain");
      expect((await latest(gatehouse)).revision).toBe(2);
    } finally {
      await gatehouse.stop();
    }
  });

  test("to a revision that is no longer kept (REVISIONS_KEPT) is 404", async () => {
    const gatehouse = await startGatehouseProcess({ env: { REVISIONS_KEPT: "3" } });
    try {
      for (let count = 1; count <= 5; count++) await create(gatehouse, "/gateways", { name: `g${count}` });
      expect((await gatehouse.api("GET", "/revisions")).body).toMatchObject({
        count: 3,
        revisions: [{ revision: 5 }, { revision: 4 }, { revision: 3 }],
      });
      const rejected = await gatehouse.api("POST", "/revisions/2/rollback");
      expectError(rejected, 404, "not_found");
      expect(rejected.body.error).toContain("not among the last 3");
      expect((await gatehouse.api("POST", "/revisions/3/rollback")).body.revision).toBe(6);
      expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(3);
    } finally {
      await gatehouse.stop();
    }
  });
});
