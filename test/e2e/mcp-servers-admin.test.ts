// MCP servers as a resource of gateways, services that lead to them, the tools of API keys, and issuers of tokens.
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { create, createChain, expectError } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { temporarySqliteUrl, withSql } from "../contract/store-records.ts";

setDefaultTimeout(60_000);
const DATABASE_URL = temporarySqliteUrl();
const gatehouse = await useGatehouse({ env: { DATABASE_URL } });

const URL_OF = (name: string) => `https://${name}.example.com/mcp`;
let gateway: string;
let servers: string;
let services: string;

beforeAll(async () => {
  gateway = (await createChain(gatehouse, "tools")).gateway;
  servers = `/gateways/${gateway}/mcp-servers`;
  services = `/gateways/${gateway}/services`;
});

async function problemsOf(path: string, body: object): Promise<ApiResponse["body"]> {
  const response = await gatehouse.api("POST", path, body);
  expectError(response, 400, "validation_failed");
  return response.body.details;
}

async function pathsOf(path: string, body: object): Promise<string[]> {
  return (await problemsOf(path, body)).map((detail: { path: string }) => detail.path);
}

const idsOf = (...names: string[]) =>
  Promise.all(
    names.map(async (name) => (await create(gatehouse, servers, { name, url: URL_OF(name) })).id as string),
  );

test("a server has defaults, and can be created, read, replaced, merged, listed, found and deleted", async () => {
  const made = await create(gatehouse, servers, { name: "defaults", url: URL_OF("defaults") });
  const { id, created_at, updated_at, ...fields } = made;
  expect(fields).toEqual({
    gateway_id: gateway,
    name: "defaults",
    url: "https://defaults.example.com/mcp",
    headers: {},
    credentials: null,
    forward_authorization: false,
    tools: { allow: null, deny: [] },
    prefix: null,
    pin: "warn",
    timeouts: { connect: 5000, list: 5000, call: 120_000 },
    enabled: true,
  });
  const at = `${servers}/${id}`;
  expect((await gatehouse.api("GET", at)).body).toEqual({ id, ...fields, created_at, updated_at });
  const put = { name: "defaults", url: URL_OF("defaults"), pin: "hold", tools: { allow: ["get_*"] } };
  expect((await gatehouse.api("PUT", at, put)).body).toMatchObject({
    pin: "hold",
    tools: { allow: ["get_*"], deny: [] },
  });
  expect((await gatehouse.api("PATCH", at, { prefix: "d", enabled: false })).body).toMatchObject({
    prefix: "d",
    enabled: false,
    pin: "hold",
  });
  const found = await gatehouse.api("GET", "/search?q=defaults.example");
  expect(found.body.results).toMatchObject([{ kind: "mcp_server", id, name: "defaults" }]);
  expect((await gatehouse.api("GET", `${servers}?search=defaul`)).body.mcp_servers).toHaveLength(1);
  expect((await gatehouse.api("DELETE", at)).status).toBe(204);
  expectError(await gatehouse.api("GET", at), 404, "not_found");
});

test("invalid fields are rejected by name", async () => {
  const server = { name: "x", url: URL_OF("x") };
  for (const name of ["", "Upper", "a_b", "-a", "a-", "a b", "x".repeat(64), "ä"])
    expect(await pathsOf(servers, { ...server, name })).toEqual(["name"]);
  for (const url of [
    "mcp.example.com",
    "stdio://server",
    "https://user:pass@mcp.example.com/",
    "https://mcp.example.com/#tools",
    "https://mcp.example.com/mcp?api_key=secret",
    "http://169.254.169.254/mcp",
    "http://[fd00:ec2::254]/mcp",
    "http://metadata.google.internal/mcp",
    "https://mcp.example.com/a/%2e%2e%2fb",
  ])
    expect([url, await pathsOf(servers, { ...server, url })]).toEqual([url, ["url"]]);
  // `__` separates the prefix from the name, and the first one must end the prefix.
  for (const prefix of ["", "a__b", "a_", "_a", "a.b", "a b"])
    expect([prefix, await pathsOf(servers, { ...server, prefix })]).toEqual([prefix, ["prefix"]]);
  const cases: readonly [object, string][] = [
    [{ pin: "always" }, "pin"],
    [{ tools: { allow: [""] } }, "tools.allow[0]"],
    [{ tools: { deny: ["a b"] } }, "tools.deny[0]"],
    [{ tools: { deny: null } }, "tools.deny"],
    [{ timeouts: { call: 0 } }, "timeouts.call"],
    [{ timeouts: { list: 60_001 } }, "timeouts.list"],
    [{ headers: { "Mcp-Session-Id": "1" } }, "headers.Mcp-Session-Id"],
    [{ headers: { "Content-Length": "1" } }, "headers.Content-Length"],
    [{ command: "npx" }, "command"],
  ];
  for (const [change, path] of cases)
    expect(await pathsOf(servers, { ...server, ...change })).toEqual([path]);
});

test("names are unique in a gateway", async () => {
  const [id] = await idsOf("unique");
  expect(await problemsOf(servers, { name: "unique", url: URL_OF("other") })).toEqual([
    { path: "name", message: `"unique" is already the name of the MCP server ${id}` },
  ]);
  const other = await createChain(gatehouse, "other tools");
  await create(gatehouse, `/gateways/${other.gateway}/mcp-servers`, { name: "unique", url: URL_OF("u") });
});

describe("a service of type mcp", () => {
  test("has servers instead of an upstream", async () => {
    const [server] = await idsOf("served");
    const { upstream } = await createChain(gatehouse, "with an upstream");
    const made = await create(gatehouse, services, { name: "tools", type: "mcp", mcp_server_ids: [server] });
    expect(made).toMatchObject({ type: "mcp", upstream_id: null, mcp_server_ids: [server] });
    expect(await pathsOf(services, { name: "s" })).toEqual(["upstream_id"]);
    expect(await pathsOf(services, { name: "s", type: "mcp", upstream_id: upstream })).toEqual([
      "upstream_id",
    ]);
    expect(await pathsOf(services, { name: "s", upstream_id: upstream, mcp_server_ids: [server] })).toEqual([
      "mcp_server_ids",
    ]);
    const twice = { name: "s", type: "mcp", mcp_server_ids: [server, server] };
    expect(await problemsOf(services, twice)).toEqual([
      { path: "mcp_server_ids[1]", message: "is given twice" },
    ]);
    const used = await gatehouse.api("DELETE", `${servers}/${server}`);
    expectError(used, 409, "in_use");
    expect(used.body.error).toContain(`service "tools" (${made.id})`);
    expect((await gatehouse.api("DELETE", `${services}/${made.id}`)).status).toBe(204);
    expect((await gatehouse.api("DELETE", `${servers}/${server}`)).status).toBe(204);
  });

  test("is rejected if two of its servers have the same prefix, also if a server changes", async () => {
    const [one, two] = await idsOf("prefix-one", "prefix-two");
    await create(gatehouse, services, { name: "prefixes", type: "mcp", mcp_server_ids: [one, two] });
    const changed = await gatehouse.api("PATCH", `${servers}/${two}`, { prefix: "prefix-one" });
    expectError(changed, 400, "validation_failed");
    expect(changed.body.details[0].message).toContain('"prefix-two" has the same prefix "prefix-one"');
  });

  test("and its rules and keys get warnings about what has no effect", async () => {
    const warnings = async (path: string, body: object) =>
      (await create(gatehouse, path, body)).warnings as { path: string }[] | undefined;
    const [off, on] = await idsOf("switched-off", "switched-on");
    await gatehouse.api("PATCH", `${servers}/${off}`, { enabled: false });
    const empty = { name: "empty", type: "mcp" };
    expect(await warnings(services, empty)).toMatchObject([{ path: "mcp_server_ids" }]);
    expect(await warnings(services, { ...empty, name: "all off", mcp_server_ids: [off] })).toMatchObject([
      { path: "mcp_server_ids" },
    ]);
    const made = await create(gatehouse, services, { ...empty, name: "one on", mcp_server_ids: [off, on] });
    expect(made.warnings).toBeUndefined();
    const rules = `/gateways/${gateway}/rules`;
    const rule = { service_id: made.id, path: "/warned", methods: ["GET"] };
    expect(await warnings(rules, rule)).toMatchObject([{ path: "methods" }]);
    const { id, warnings: none } = await create(gatehouse, rules, { ...rule, methods: ["POST", "GET"] });
    expect(none).toBeUndefined();
    const key = { name: "k", subject: gateway, policies: [id] };
    expect(
      await warnings("/iam/api-keys", { ...key, tools: ["switched-on__*", "*", "sw*"] }),
    ).toBeUndefined();
    const useless = ["switched-on", "lost__*", "search"];
    expect((await warnings("/iam/api-keys", { ...key, tools: useless }))?.map(({ path }) => path)).toEqual([
      "tools[0]",
      "tools[1]",
      "tools[2]",
    ]);
  });

  test("changes to one with an upstream and back", async () => {
    const chain = await createChain(gatehouse, "changing");
    const at = `/gateways/${chain.gateway}/services/${chain.service}`;
    const toMcp = await gatehouse.api("PATCH", at, { type: "mcp", upstream_id: null });
    expect(toMcp.body).toMatchObject({ type: "mcp", upstream_id: null, mcp_server_ids: [] });
    expect(
      (await gatehouse.api("DELETE", `/gateways/${chain.gateway}/upstreams/${chain.upstream}`)).status,
    ).toBe(204);
  });
});

test("API keys have patterns of tools", async () => {
  const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: gateway, tools: [] });
  expect(key.tools).toEqual([]);
  const at = `/iam/api-keys/${key.id}`;
  expect((await gatehouse.api("PATCH", at, { tools: ["a__*", "a__*"] })).body.tools).toEqual(["a__*"]);
  expect((await gatehouse.api("PATCH", at, { tools: null })).body.tools).toBeNull();
  expectError(await gatehouse.api("PATCH", at, { tools: ["a b"] }), 400, "validation_failed");
});

test("gateways have issuers of tokens", async () => {
  const at = `/gateways/${gateway}`;
  const issuer = {
    issuer: "https://login.example.com",
    audience: "https://tools.example.com/mcp",
    jwks_url: "https://login.example.com/jwks",
  };
  const set = (...jwt_issuers: object[]) => gatehouse.api("PATCH", at, { jwt_issuers });
  expect((await set(issuer)).body.jwt_issuers).toEqual([
    { ...issuer, claims: { user: "sub", labels: {}, tools: null } },
  ]);
  expect((await set({ ...issuer, jwks_url: "http://127.0.0.1:9/jwks" })).status).toBe(200);
  const rejected: readonly [object[], string][] = [
    [[{ ...issuer, jwks_url: "http://login.example.com/jwks" }], "jwt_issuers[0].jwks_url"],
    [[{ ...issuer, jwks_url: "http://169.254.169.254/jwks" }], "jwt_issuers[0].jwks_url"],
    [[{ ...issuer, audience: "" }], "jwt_issuers[0].audience"],
    [[{ ...issuer, claims: { labels: { Team: "t" } } }], "jwt_issuers[0].claims.labels.Team"],
    [[issuer, issuer], "jwt_issuers[1]"],
  ];
  for (const [issuers, path] of rejected) {
    const response = await set(...issuers);
    expectError(response, 400, "validation_failed");
    expect(response.body.details.map((detail: { path: string }) => detail.path)).toEqual([path]);
  }
  await set();
});

describe("secrets of servers", () => {
  const SECRET = "Bearer stored-secret-1234";
  const MASK = "Bea***1234";
  const home = {
    url: URL_OF("home"),
    headers: { "X-Api-Key": "another-secret-5678", "X-Team": "blue" },
    credentials: { header_name: "Authorization", header_value: SECRET },
  };

  test("are masked, kept with the mask, and required again if the server moves", async () => {
    const shown = await create(gatehouse, servers, { name: "secrets", ...home });
    expect(shown.credentials.header_value).toBe(MASK);
    expect(shown.headers).toEqual({ "X-Api-Key": "ano***5678", "X-Team": "blue" });
    const at = `${servers}/${shown.id}`;
    expect((await gatehouse.api("PUT", at, { ...shown, pin: "off" })).body.credentials).toEqual(
      shown.credentials,
    );
    for (const change of [
      { url: URL_OF("evil") },
      { url: `${URL_OF("home")}/other` },
      { headers: { ...shown.headers, Host: "evil.example.com" } },
      { credentials: { header_name: "X-Echo", header_value: MASK } },
    ]) {
      const moved = await gatehouse.api("PATCH", at, change);
      expectError(moved, 400, "credential_required");
      expect(JSON.stringify(moved.body)).not.toContain("secret-");
    }
    const copy = { ...home, name: "copy", credentials: shown.credentials };
    expectError(await gatehouse.api("POST", servers, copy), 400, "validation_failed");
    const whole = { ...home, url: URL_OF("moved") };
    expect((await gatehouse.api("PATCH", at, whole)).status).toBe(200);
  });

  test("a patch may change one member of credentials without repeating their type", async () => {
    const credentials = {
      type: "azure_client",
      tenant_id: "tenant",
      client_id: "client",
      client_secret: SECRET,
    };
    const shown = await create(gatehouse, servers, { name: "patched", url: URL_OF("patched"), credentials });
    const patch = (change: object) =>
      gatehouse.api("PATCH", `${servers}/${shown.id}`, { credentials: change });
    const renewed = await patch({ client_secret: "a-newer-secret-5678" });
    expect(renewed.body.credentials).toEqual({ ...shown.credentials, client_secret: "a-n***5678" });
    expectError(await patch({ tenant_id: "evil" }), 400, "credential_required");
    const unknown = await patch({ tenant: null });
    expect(unknown.body.details).toEqual([{ path: "credentials.tenant", message: expect.any(String) }]);
    const none = { tenant_id: null, client_id: null, client_secret: null, scope: null };
    const header = { type: "header", header_name: "X-Api-Key", header_value: SECRET };
    const other = await patch({ ...none, ...header });
    expect(other.body.credentials).toEqual({ ...header, header_value: MASK });
  });

  test("are not sent to another place by a document or a rollback", async () => {
    const chain = await createChain(gatehouse, "documented tools");
    const at = `/gateways/${chain.gateway}/mcp-servers`;
    const made = await create(gatehouse, at, { name: "docs", ...home });
    const before = await latestRevision();
    const exported = await exportOf("documented tools");
    const [server] = exported.gateways[0].mcp_servers;
    expect(server.credentials.header_value).toBe("${DOCUMENTED_TOOLS_MCP_DOCS_KEY:-Bea***1234}");
    expect(server.headers["X-Api-Key"]).toBe("${DOCUMENTED_TOOLS_MCP_DOCS_X_API_KEY:-ano***5678}");
    expect(await changesOf(exported)).toEqual([]);
    server.url = URL_OF("evil");
    const moved = await gatehouse.api("POST", "/apply", exported);
    expectError(moved, 400, "credential_required");
    expect(moved.body.details[0].path).toStartWith("gateways[0].mcp_servers[0].");
    const elsewhere = { ...home, url: URL_OF("elsewhere"), credentials: null, headers: {} };
    expect((await gatehouse.api("PUT", `${at}/${made.id}`, { name: "docs", ...elsewhere })).status).toBe(200);
    // The secret was sent to `home` only, so that the state of that revision can be restored.
    const back = await gatehouse.api("POST", `/revisions/${before}/rollback`);
    expect(back.status).toBe(200);
    const newer = { ...home, url: URL_OF("elsewhere") };
    expect((await gatehouse.api("PUT", `${at}/${made.id}`, { name: "docs", ...newer })).status).toBe(200);
    const refused = await gatehouse.api("POST", `/revisions/${before}/rollback`);
    expectError(refused, 400, "credential_required");
    expect(refused.body.error).toContain('MCP server "docs" would send its stored secret to another url');
  });
});

test("documents contain servers, services with their names, tools of keys and issuers, and prune them", async () => {
  const chain = await createChain(gatehouse, "whole");
  const at = `/gateways/${chain.gateway}`;
  const { id } = await create(gatehouse, `${at}/mcp-servers`, { name: "docs", url: URL_OF("docs") });
  const service = await create(gatehouse, `${at}/services`, {
    name: "tools",
    type: "mcp",
    mcp_server_ids: [id],
  });
  await create(gatehouse, `${at}/rules`, { service_id: service.id, path: "/mcp", methods: ["*"] });
  await create(gatehouse, "/iam/api-keys", { name: "k", subject: chain.gateway, tools: ["docs__*"] });
  const exported = await exportOf("whole");
  const [document] = exported.gateways;
  expect(document.mcp_servers).toEqual([{ name: "docs", url: URL_OF("docs") }]);
  expect(document.services[1]).toEqual({ name: "tools", type: "mcp", mcp_servers: ["docs"] });
  expect(document.api_keys[0].tools).toEqual(["docs__*"]);
  expect(await changesOf(exported)).toEqual([]);
  document.services[1].mcp_servers = ["dogs"];
  const invalid = await gatehouse.api("POST", "/apply", exported);
  expectError(invalid, 400, "validation_failed");
  expect(invalid.body.details).toEqual([
    {
      path: "gateways[0].services[1].mcp_servers[0]",
      message: 'there is no MCP server "dogs" in this gateway of the document; did you mean "docs"?',
    },
  ]);
  document.mcp_servers = [];
  document.services.pop();
  document.rules.pop();
  const pruned = await changesOf(exported, "?prune=true");
  expect(pruned.map(({ action, resource }) => `${action} ${resource}`)).toEqual([
    "delete rule",
    "delete service",
    "delete mcp_server",
  ]);
});

describe("tools of a server", () => {
  let at: string;

  /** Stores what a node would have seen: the approved and the last definition. */
  async function see(server: string, name: string, before: object, after: object): Promise<void> {
    const texts = [before, after].map((each) => JSON.stringify({ name, ...each }));
    await withSql(
      DATABASE_URL,
      (
        sql,
      ) => sql`INSERT INTO mcp_tools (server_id, name, gateway_id, hash, definition, approved_hash, approved_definition, first_seen_at)
        VALUES (${server}, ${name}, ${gateway}, ${texts[1]}, ${texts[1]}, ${texts[0]}, ${texts[0]}, ${"2030-01-01T00:00:00.000Z"})`,
    );
  }

  beforeAll(async () => {
    const [id = ""] = await idsOf("pinned");
    at = `${servers}/${id}`;
    await see(id, "same", { description: "d" }, { description: "d" });
    await see(id, "moved", { description: "reads" }, { description: "deletes" });
    await see(id, "a b/c", {}, { x: 1 });
  });

  const toolsOf = async () => (await gatehouse.api("GET", `${at}/tools`)).body.tools;

  test("are listed with their status and what has changed", async () => {
    expect((await gatehouse.api("GET", `${at}/tools?limit=1`)).body).toMatchObject({ count: 3, limit: 1 });
    expect(await toolsOf()).toMatchObject([
      { name: "a b/c", status: "changed" },
      {
        name: "moved",
        status: "changed",
        definition: { name: "moved", description: "deletes" },
        diff: [{ path: "description", before: "reads", after: "deletes" }],
        approved_at: null,
      },
      { name: "same", status: "new", diff: [] },
    ]);
    await gatehouse.api("PATCH", at, { pin: "hold" });
    expect((await toolsOf())[1]).toMatchObject({ name: "moved", status: "withheld" });
  });

  test("are approved one by one, with the definition that was read, or all together", async () => {
    const outdated = await gatehouse.api("POST", `${at}/tools/moved/approve`, { hash: "other" });
    expectError(outdated, 409, "tool_changed");
    expectError(await gatehouse.api("POST", `${at}/tools/unknown/approve`, {}), 404, "not_found");
    const { hash } = (await toolsOf())[1];
    const approved = await gatehouse.api("POST", `${at}/tools/moved/approve`, { hash });
    expect(approved.body).toEqual({ approved: ["moved"] });
    expect((await toolsOf())[1]).toMatchObject({ status: "approved", diff: [] });
    const [entry] = (await gatehouse.api("GET", "/audit?limit=1")).body.audit_entries;
    expect(entry).toMatchObject({ action: "update", resource: "mcp_tool", details: { approve: ["moved"] } });
    const all = await gatehouse.api("POST", `${at}/tools/approve`);
    expect(all.body).toEqual({ approved: ["a b/c"] });
    expect((await gatehouse.api("POST", `${at}/tools/approve`)).body).toEqual({ approved: [] });
    const encoded = `${at}/tools/${encodeURIComponent("a b/c")}/approve`;
    expect((await gatehouse.api("POST", encoded, {})).body).toEqual({ approved: ["a b/c"] });
  });
});

test("an operator may change servers, but not their secrets", async () => {
  const { body: minted } = await gatehouse.api("POST", "/iam/admin-tokens", { name: "op", role: "operator" });
  const headers = { Authorization: `Bearer ${minted.token}` };
  const made = await gatehouse.api("POST", servers, { name: "plain", url: URL_OF("plain") }, headers);
  expect(made.status).toBe(201);
  const credentials = { header_name: "Authorization", header_value: "Bearer secret-of-operator" };
  expectError(
    await gatehouse.api("PATCH", `${servers}/${made.body.id}`, { credentials }, headers),
    403,
    "forbidden",
  );
});

async function exportOf(name: string): Promise<ApiResponse["body"]> {
  const { body } = await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" });
  return { ...body, gateways: body.gateways.filter((each: { name: string }) => each.name === name) };
}

async function changesOf(document: object, query = ""): Promise<{ action: string; resource: string }[]> {
  const { body, status } = await gatehouse.api("POST", `/apply${query}`, document);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.changes.filter(({ action }: { action: string }) => action !== "none");
}

async function latestRevision(): Promise<number> {
  return (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision as number;
}
