// Roles of administrators: every operation of the OpenAPI document with every role, what an operator must not change, and tokens
// that are limited to gateways.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mintToken } from "../../src/cli/mint-token.ts";
import type { AdminRole } from "../../src/model/administrator.ts";
import { create, createChain, expectError, MISSING_ID, type Chain } from "../support/admin-fixtures.ts";
import { callApi, TEST_SECRET, type ApiResponse } from "../support/gatehouse-process.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const ROLES = ["viewer", "operator", "owner"] as const;

/** The least role for each operation, and whether an administrator who is limited to a gateway may call it. */
const TABLE: Readonly<Record<string, readonly [AdminRole, "gateway" | "filtered" | "shared" | "no"]>> = {
  "GET /gateways": ["viewer", "filtered"],
  "POST /gateways": ["operator", "no"],
  "GET /gateways/{gateway_id}": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}": ["operator", "gateway"],
  "PUT /gateways/{gateway_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/upstreams": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/upstreams": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/upstreams/{upstream_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/upstreams/{upstream_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/upstreams/{upstream_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/upstreams/{upstream_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/upstreams/{upstream_id}/health": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/test-connection": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/services": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/services": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/services/{service_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/services/{service_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/services/{service_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/services/{service_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/rules": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/rules": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/rules/{rule_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/rules/{rule_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/rules/{rule_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/rules/{rule_id}": ["operator", "gateway"],
  "POST /gateways/{gateway_id}/rules/{rule_id}/move": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/mcp-servers": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/mcp-servers": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/mcp-servers/{mcp_server_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/mcp-servers/{mcp_server_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/mcp-servers/{mcp_server_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/mcp-servers/{mcp_server_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/mcp-servers/{mcp_server_id}/tools": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/mcp-servers/{mcp_server_id}/tools/{name}/approve": ["operator", "gateway"],
  "POST /gateways/{gateway_id}/mcp-servers/{mcp_server_id}/tools/approve": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/models": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/models": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/models/{model_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/models/{model_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/models/{model_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/models/{model_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/game-days": ["owner", "gateway"],
  "POST /gateways/{gateway_id}/game-days": ["owner", "gateway"],
  "GET /gateways/{gateway_id}/game-days/{game_day_id}": ["owner", "gateway"],
  "PUT /gateways/{gateway_id}/game-days/{game_day_id}": ["owner", "gateway"],
  "PATCH /gateways/{gateway_id}/game-days/{game_day_id}": ["owner", "gateway"],
  "DELETE /gateways/{gateway_id}/game-days/{game_day_id}": ["owner", "gateway"],
  "GET /gateways/{gateway_id}/game-days/{game_day_id}/state": ["owner", "gateway"],
  "POST /gateways/{gateway_id}/game-days/{game_day_id}/stop": ["owner", "gateway"],
  "GET /gateways/{gateway_id}/budgets": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/budgets": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/budgets/{budget_id}": ["viewer", "gateway"],
  "PUT /gateways/{gateway_id}/budgets/{budget_id}": ["operator", "gateway"],
  "PATCH /gateways/{gateway_id}/budgets/{budget_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/budgets/{budget_id}": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/budgets/{budget_id}/state": ["viewer", "gateway"],
  "GET /gateways/{gateway_id}/budget-states": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/budgets/{budget_id}/reset": ["operator", "gateway"],
  "POST /gateways/{gateway_id}/budgets/{budget_id}/adjust": ["operator", "gateway"],
  "GET /iam/api-keys": ["viewer", "filtered"],
  "POST /iam/api-keys": ["owner", "filtered"],
  "GET /iam/api-keys/{api_key_id}": ["viewer", "filtered"],
  "PATCH /iam/api-keys/{api_key_id}": ["owner", "filtered"],
  "DELETE /iam/api-keys/{api_key_id}": ["owner", "filtered"],
  "POST /iam/api-keys/{api_key_id}/rotate": ["owner", "filtered"],
  "GET /iam/me": ["viewer", "shared"],
  "GET /iam/admin-tokens": ["owner", "no"],
  "POST /iam/admin-tokens": ["owner", "no"],
  "GET /iam/admin-tokens/{admin_token_id}": ["owner", "no"],
  "PATCH /iam/admin-tokens/{admin_token_id}": ["owner", "no"],
  "DELETE /iam/admin-tokens/{admin_token_id}": ["owner", "no"],
  "GET /gateways/{gateway_id}/blocks": ["viewer", "gateway"],
  "DELETE /gateways/{gateway_id}/blocks/{block_id}": ["operator", "gateway"],
  "DELETE /gateways/{gateway_id}/blocks": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/cache": ["viewer", "gateway"],
  "DELETE /gateways/{gateway_id}/cache": ["operator", "gateway"],
  "GET /gateways/{gateway_id}/usage": ["viewer", "gateway"],
  "GET /usage": ["viewer", "no"],
  "GET /prices": ["viewer", "shared"],
  "PUT /prices": ["operator", "no"],
  "DELETE /prices": ["operator", "no"],
  "GET /prices/builtin": ["viewer", "shared"],
  "POST /gateways/{gateway_id}/explain": ["viewer", "gateway"],
  "GET /plugins": ["viewer", "shared"],
  "GET /gateways/{gateway_id}/plugins/{entry}/shadow": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/plugins/{entry}/promote": ["operator", "gateway"],
  "GET /providers": ["viewer", "shared"],
  "GET /server": ["viewer", "shared"],
  "GET /gateways/{gateway_id}/requests": ["viewer", "gateway"],
  "POST /gateways/{gateway_id}/requests/{request_id}/explain": ["viewer", "gateway"],
  "GET /gateways/{gateway_id}/requests/stream": ["viewer", "gateway"],
  "GET /logs": ["viewer", "no"],
  "GET /logs/stream": ["viewer", "no"],
  "GET /traffic": ["viewer", "filtered"],
  "GET /overview": ["viewer", "filtered"],
  "GET /search": ["viewer", "filtered"],
  "GET /revisions": ["viewer", "filtered"],
  "GET /revisions/{revision}": ["viewer", "filtered"],
  "GET /revisions/{revision}/diff": ["viewer", "no"],
  "POST /revisions/{revision}/rollback": ["operator", "filtered"],
  "GET /audit": ["owner", "no"],
  "GET /audit/verification": ["owner", "no"],
  "GET /export": ["viewer", "filtered"],
  "POST /apply": ["operator", "no"],
};

interface DocumentedOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly role: string;
}

async function readOperations(): Promise<DocumentedOperation[]> {
  const document = (await (await fetch(`${gatehouse.adminUrl}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { "x-role": string }>>;
  };
  return Object.entries(document.paths).flatMap(([full, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const path = full.slice("/api/v1".length);
      return { name: `${method.toUpperCase()} ${path}`, method, path, role: operation["x-role"] };
    }),
  );
}

const operations = await readOperations();

function tokenWith(role: AdminRole, gateways?: readonly string[]): Promise<string> {
  return mintToken(TEST_SECRET, 600, `a ${role}`, { role, gateways });
}

async function apiOf(role: AdminRole, gateways?: readonly string[]) {
  const token = await tokenWith(role, gateways);
  return (method: string, path: string, body?: unknown) =>
    callApi(gatehouse.adminUrl, token, method, path, body);
}

/** Calls an operation with ids that do not exist and a body that no operation accepts. Returns the status, unread streams included. */
async function statusOf(
  { method, path }: DocumentedOperation,
  token: string,
  gatewayId: string,
): Promise<number> {
  const url = path.replace("{gateway_id}", gatewayId).replaceAll(/\{\w+\}/g, MISSING_ID);
  const abort = new AbortController();
  const response = await fetch(`${gatehouse.adminUrl}/api/v1${url}`, {
    method: method.toUpperCase(),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(method !== "get" && { body: '{"no_operation_has_this_field":1}' }),
    signal: abort.signal,
  });
  abort.abort();
  return response.status;
}

describe("every operation of the OpenAPI document", () => {
  test("has an entry in the table, and every entry an operation with this role", () => {
    expect(operations.map(({ name }) => name).toSorted()).toEqual(Object.keys(TABLE).toSorted());
    for (const { name, role } of operations) expect([name, role]).toEqual([name, TABLE[name]?.[0] ?? "?"]);
  });

  test.each(ROLES)("allows %s what the table says, and rejects everything else with 403", async (role) => {
    const token = await tokenWith(role);
    for (const operation of operations) {
      const required = TABLE[operation.name]?.[0] ?? "owner";
      const isAllowed = ROLES.indexOf(role) >= ROLES.indexOf(required);
      const status = await statusOf(operation, token, MISSING_ID);
      expect([operation.name, status === 403]).toEqual([operation.name, !isAllowed]);
      expect([operation.name, status]).not.toEqual([operation.name, 401]);
    }
  });

  test("rejects an owner who is limited to another gateway, except where the table says", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "own" });
    const token = await tokenWith("owner", [gateway.id]);
    for (const operation of operations) {
      const limited = TABLE[operation.name]?.[1] ?? "no";
      const status = await statusOf(operation, token, MISSING_ID);
      if (limited === "filtered") continue; // see "a token that is limited to a gateway"
      expect([operation.name, status === 403]).toEqual([operation.name, limited !== "shared"]);
      if (limited === "gateway" && operation.method === "get")
        expect([operation.name, await statusOf(operation, token, gateway.id)]).not.toEqual([
          operation.name,
          403,
        ]);
    }
  });

  test("without a token is 401", async () => {
    for (const { method, path } of operations) {
      const response = await fetch(`${gatehouse.adminUrl}/api/v1${path}`, { method: method.toUpperCase() });
      expect(response.status).toBe(401);
    }
  });
});

describe("claims of a token signed with SERVER_SECRET_KEY", () => {
  const sign = async (claims: Record<string, unknown>) => {
    const { SignJWT } = await import("jose");
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode(TEST_SECRET));
  };
  const me = async (claims: Record<string, unknown>) =>
    callApi(gatehouse.adminUrl, await sign(claims), "GET", "/iam/me");

  test("without role and gateways it is an owner's, as before", async () => {
    const { status, body } = await me({ sub: "admin" });
    expect(status).toBe(200);
    expect(body).toEqual({
      actor: { type: "server_secret", id: null, name: "admin" },
      role: "owner",
      gateways: null,
      expires_at: null,
    });
  });

  test("role and gateways are those of the token", async () => {
    const exp = Math.floor(Date.now() / 1000) + 60;
    const { body } = await me({ sub: "a", role: "viewer", gateways: ["g"], exp });
    expect(body).toMatchObject({ role: "viewer", gateways: ["g"] });
    expect(body.expires_at).toBe(new Date(exp * 1000).toISOString());
  });

  test.each([
    { role: "root" },
    { role: "Owner" },
    { role: "" },
    { role: null },
    { role: ["owner"] },
    { role: 1 },
    { role: "viewer", gateways: "all" },
    { gateways: [1] },
    { gateways: {} },
  ])("a token with %j is rejected: a claim that is not understood grants nothing", async (claims) => {
    expectError(await me(claims), 401, "unauthorized");
  });

  test("an empty list of gateways is access to none", async () => {
    const token = await sign({ sub: "a", gateways: [] });
    const { body } = await callApi(gatehouse.adminUrl, token, "GET", "/gateways");
    expect(body).toMatchObject({ gateways: [], count: 0 });
  });
});

const ISSUER = "https://login.example.com";

describe("an operator changes everything but keys, credentials, and administrators", () => {
  let chain: Chain;
  let operator: Awaited<ReturnType<typeof apiOf>>;
  let path: string;
  beforeAll(async () => {
    chain = await createChain(gatehouse, "operated");
    operator = await apiOf("operator");
    path = `/gateways/${chain.gateway}/upstreams/${chain.upstream}`;
  });
  const stored = async () => (await gatehouse.api("GET", path)).body;
  const expectForbidden = (response: ApiResponse) => expectError(response, 403, "forbidden");

  test("an upstream with its masked credentials", async () => {
    const upstream = await stored();
    upstream.targets[0].weight = 7;
    upstream.targets.push({ provider: "openai" });
    const response = await operator("PUT", path, upstream);
    expect(response.status).toBe(200);
    expect(response.body.targets[0].weight).toBe(7);
    expect(response.body.targets).toHaveLength(2);
  });

  test.each([
    ["another credential", (target: Record<string, unknown>) => ({ ...target, credentials: CREDENTIALS })],
    ["no credential", (target: Record<string, unknown>) => ({ ...target, credentials: null })],
    ["a secret header", (target: Record<string, unknown>) => ({ ...target, headers: { "X-Api-Key": "k" } })],
  ])("not %s of a target", async (_, change) => {
    const upstream = await stored();
    expectForbidden(await operator("PATCH", path, { targets: [change(upstream.targets[0])] }));
    expect(await stored()).toEqual(upstream);
    const { id, ...withoutId }: Record<string, unknown> = change(upstream.targets[0]);
    expectForbidden(await operator("PATCH", path, { targets: [withoutId] }));
    expect((await stored()).targets[0].id).toBe(id);
  });

  test("a target that is sent with its masked credential, and without its id", async () => {
    const { id, ...target } = (await stored()).targets[0];
    const { status, body } = await operator("PATCH", path, { targets: [{ ...target, weight: 3 }] });
    expect([status, body.targets?.[0].credentials]).toEqual([200, target.credentials]);
    expect(body.targets[0].id).not.toBe(id);
  });

  test("not a new target or upstream with a credential", async () => {
    const { targets } = await stored();
    const target = { provider: "openai", credentials: CREDENTIALS };
    expectForbidden(await operator("PATCH", path, { targets: [...targets, target] }));
    const collection = `/gateways/${chain.gateway}/upstreams`;
    expectForbidden(await operator("POST", collection, { name: "new", targets: [target] }));
    expect(
      (await operator("POST", collection, { name: "new", targets: [{ provider: "openai" }] })).status,
    ).toBe(201);
  });

  test("not the issuers of tokens that give access as API keys do", async () => {
    const gateway = `/gateways/${chain.gateway}`;
    const jwt_issuers = [{ issuer: ISSUER, audience: "tools", jwks_url: `${ISSUER}/keys` }];
    for (const [method, at, body] of [
      ["PATCH", gateway, { jwt_issuers }],
      ["POST", "/gateways", { name: "with issuers", jwt_issuers }],
    ] as const)
      expectForbidden(await operator(method, at, body));
    expect((await gatehouse.api("PATCH", gateway, { jwt_issuers })).status).toBe(200);
    expect((await operator("PATCH", gateway, { name: "renamed", jwt_issuers })).status).toBe(200);
    expectForbidden(await operator("PATCH", gateway, { jwt_issuers: [] }));
  });

  test("not where a stored credential is sent", async () => {
    const { targets } = await stored();
    const elsewhere = { ...targets[0], base_url: "https://attacker.example" };
    expectError(await operator("PATCH", path, { targets: [elsewhere] }), 400, "credential_required");
  });

  test("not API keys or credentials by way of a document, not even as a dry run", async () => {
    const documentWith = (gateway: object) => ({ gateways: [{ name: "applied", ...gateway }] });
    const key = documentWith({ api_keys: [{ name: "k" }] });
    const credential = documentWith({
      upstreams: [{ name: "u", targets: [{ provider: "openai", credentials: CREDENTIALS }] }],
    });
    for (const document of [key, credential])
      for (const query of ["", "?dry_run=true"])
        expectForbidden(await operator("POST", `/apply${query}`, document));
    expect((await operator("POST", "/apply", documentWith({}))).status).toBe(200);
    expect((await gatehouse.api("GET", "/gateways?name=applied")).body.count).toBe(1);
  });

  test("not API keys by way of a rollback or the deletion of a gateway", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "with a key" });
    const before = (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;
    const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: gateway.id });
    expectForbidden(await operator("POST", `/revisions/${before}/rollback`));
    expectForbidden(await operator("POST", `/revisions/${before}/rollback?dry_run=true`));
    expectForbidden(await operator("DELETE", `/gateways/${gateway.id}?cascade=true`));
    expect((await gatehouse.api("GET", `/iam/api-keys/${key.id}`)).body.active).toBe(true);
    await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`);
    expect((await operator("DELETE", `/gateways/${gateway.id}`)).status).toBe(204);
  });
});

const CREDENTIALS = { header_name: "Authorization", header_value: "Bearer sk-another-credential" };

describe("a token that is limited to a gateway", () => {
  let [own, other]: Chain[] = [];
  let limited: Awaited<ReturnType<typeof apiOf>>;
  const keys = { own: "", other: "" };
  beforeAll(async () => {
    [own, other] = [await createChain(gatehouse, "own chain"), await createChain(gatehouse, "other chain")];
    limited = await apiOf("owner", [own.gateway]);
    keys.own = (await create(gatehouse, "/iam/api-keys", { name: "own", subject: own.gateway })).id;
    keys.other = (await create(gatehouse, "/iam/api-keys", { name: "other", subject: other.gateway })).id;
  });
  afterAll(async () => {
    await gatehouse.api("DELETE", `/gateways/${other?.gateway}?cascade=true`);
  });

  test("lists, reads and changes only what belongs to it", async () => {
    const { body } = await limited("GET", "/gateways");
    expect(body.gateways.map(({ id }: { id: string }) => id)).toEqual([own?.gateway]);
    expect(body.count).toBe(1);
    expect((await limited("GET", `/gateways/${own?.gateway}/rules`)).body.count).toBe(1);
    expect((await limited("PATCH", `/gateways/${own?.gateway}`, { name: "renamed" })).status).toBe(200);
    expectError(await limited("GET", `/gateways/${other?.gateway}/rules`), 403, "forbidden");
    expectError(await limited("PATCH", `/gateways/${other?.gateway}`, { name: "x" }), 403, "forbidden");
    expectError(await limited("POST", "/gateways", { name: "x" }), 403, "forbidden");
  });

  test("exports only its own gateway", async () => {
    const token = await tokenWith("viewer", [own?.gateway ?? ""]);
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${gatehouse.adminUrl}/api/v1/export?gateway_id=${own?.gateway}`, {
      headers,
    });
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain("other chain");
    expectError(await limited("GET", `/export?gateway_id=${other?.gateway}`), 403, "forbidden");
    expectError(await limited("GET", "/export"), 403, "forbidden");
  });

  test("manages only the API keys of its gateway", async () => {
    const { body } = await limited("GET", "/iam/api-keys");
    expect(body.api_keys.map(({ id }: { id: string }) => id)).toEqual([keys.own]);
    expect((await limited("GET", `/iam/api-keys?subject=${other?.gateway}`)).body.count).toBe(0);
    expect((await limited("GET", `/iam/api-keys/${keys.own}`)).status).toBe(200);
    for (const [method, path, sent] of [
      ["GET", "", undefined],
      ["PATCH", "", { name: "x" }],
      ["DELETE", "", undefined],
      ["POST", "/rotate", undefined],
    ] as const)
      expectError(await limited(method, `/iam/api-keys/${keys.other}${path}`, sent), 404, "not_found");
    const subject = other?.gateway;
    expectError(await limited("POST", "/iam/api-keys", { name: "x", subject }), 403, "forbidden");
    expect((await limited("POST", "/iam/api-keys", { name: "x", subject: own?.gateway })).status).toBe(201);
    expect((await gatehouse.api("GET", `/iam/api-keys/${keys.other}`)).body).toMatchObject({
      name: "other",
      active: true,
    });
  });

  test("gets no explanation of a request that another gateway would serve", async () => {
    const explain = (request: object) =>
      limited("POST", `/gateways/${own?.gateway}/explain`, { method: "POST", body: {}, ...request });
    const subject = other?.gateway;
    const { key } = (await gatehouse.api("POST", "/iam/api-keys", { name: "shown", subject })).body;
    await gatehouse.api("PATCH", `/gateways/${subject}`, { subdomain: "others" });
    const { path } = (await gatehouse.api("GET", `/gateways/${subject}/rules`)).body.rules[0];
    for (const headers of [{ "X-GW-API-Key": key }, { Host: "others" }])
      for (const each of [path, "/no-rule"])
        expectError(await explain({ path: each, headers }), 403, "forbidden");
    expect((await explain({ path })).body.gateway.id).toBe(own?.gateway);
  });

  test("sees traffic and revisions of its gateway only, and rolls back only this gateway", async () => {
    expect((await limited("GET", "/traffic")).status).toBe(200);
    expectError(await limited("GET", `/traffic?gateway_id=${other?.gateway}`), 403, "forbidden");
    expect((await limited("GET", `/traffic?gateway_id=${own?.gateway}`)).status).toBe(200);
    expectError(await limited("GET", "/revisions"), 403, "forbidden");
    expectError(await limited("GET", `/revisions?gateway_id=${other?.gateway}`), 403, "forbidden");
    const { body } = await limited("GET", `/revisions?gateway_id=${own?.gateway}`);
    expect((await limited("GET", `/revisions/${body.revisions[0].revision}`)).status).toBe(200);
    const foreign = (await gatehouse.api("GET", `/revisions?gateway_id=${other?.gateway}`)).body.revisions[0];
    expectError(await limited("GET", `/revisions/${foreign.revision}`), 403, "forbidden");
    const rollback = `/revisions/${body.revisions[0].revision}/rollback`;
    expectError(await limited("POST", rollback), 403, "forbidden");
    expectError(await limited("POST", `${rollback}?gateway_id=${other?.gateway}`), 403, "forbidden");
    expect((await limited("POST", `${rollback}?gateway_id=${own?.gateway}`)).status).toBe(200);
  });
});
