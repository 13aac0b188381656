// Stores secrets through the Admin API and searches for them where they must not be: database files, logs, responses.
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { withSql } from "../contract/store-records.ts";
import {
  TEST_SECRET,
  startGatehouseProcess,
  untilPrinted,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { filesWith, formsOf, found } from "../support/leak-search.ts";
import { isLong } from "../support/long-form.ts";
import { hasPostgres, startPostgres } from "../support/postgres.ts";

/** Returns a credential that no pattern matches, with characters that URLs and JSON encode differently. */
const newCredential = () => `cr/${randomBytes(16).toString("hex")}+&="ä`;

/** Includes the random middle of each secret, so that a part of a secret is found too. */
const allForms = (secrets: readonly string[]) =>
  secrets.flatMap((secret) => [...formsOf(secret), ...formsOf(secret.slice(3, -6))]);

interface Place {
  readonly env: Record<string, string>;
  /** Secrets in the settings. */
  readonly secrets: readonly string[];
  readonly url: (dataDir: string) => string;
  /** Everything the database has written to disk. */
  readonly files: (dataDir: string) => Promise<string[]>;
}

async function sqlitePlace(): Promise<Place> {
  const url = (dataDir: string) => `sqlite://${dataDir}/gatehouse.db`;
  return Promise.resolve({ env: {}, secrets: [], url, files: (dataDir) => Promise.resolve([dataDir]) });
}

async function postgresPlace(): Promise<Place> {
  const cluster = await startPostgres();
  const password = `pw${randomBytes(12).toString("hex")}`;
  const url = (await cluster.createDatabase()).replace("postgres@", `postgres:${password}@`);
  return {
    env: { DATABASE_URL: url },
    secrets: [password],
    url: () => url,
    files: () =>
      withSql(url, async (sql) => {
        await sql.unsafe("CHECKPOINT");
        const [row] = (await sql.unsafe(
          "SELECT oid FROM pg_database WHERE datname = current_database()",
        )) as { oid: number }[];
        const data = join(cluster.directory, "data");
        return [join(data, "base", String(row?.oid)), join(data, "pg_wal"), join(cluster.directory, "log")];
      }),
  };
}

/** Returns the body, or the first chunk of an endless stream. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

/** Reports on what it would do with each request. */
const SHADOWED = {
  name: "rate_limiter",
  stage: "pre_request",
  mode: "shadow",
  settings: { limits: { global: { limit: 1, window: "1h" } } },
};

/** Query parameters that a GET requires. The search finds the upstream `u`, which has the credentials. */
const REQUIRED_QUERY: Readonly<Record<string, string>> = {
  "/api/v1/search": "?q=u",
  "/api/v1/gateways/{gateway_id}/budget-states": `?ids=${crypto.randomUUID()}`,
};

/** Sends every GET of the OpenAPI document, and of the other paths. */
async function readEverything(gatehouse: GatehouseProcess, ids: Record<string, string>): Promise<string[]> {
  const { paths } = (await (await fetch(`${gatehouse.adminUrl}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const templates = Object.keys(paths).filter((path) => paths[path]?.["get"] !== undefined);
  expect(templates.length).toBeGreaterThan(10);
  const apiPaths = templates.map((template) => {
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`no value for ${name}`);
      return id;
    });
    return path + (REQUIRED_QUERY[template] ?? "");
  });
  const { body } = await gatehouse.api("GET", "/revisions");
  for (const { revision } of body.revisions) apiPaths.push(`/api/v1/revisions/${revision}`);
  const others = ["/api/openapi.json", "/api/docs", "/healthz", "/readyz", "/metrics", "/console"];
  const responses: string[] = [];
  for (const path of [...apiPaths, ...others]) {
    const response = await fetch(gatehouse.adminUrl + path, {
      headers: { Authorization: `Bearer ${gatehouse.token}` },
    });
    if (apiPaths.includes(path)) expect([path, response.status]).toEqual([path, 200]);
    responses.push(
      `${path} ${JSON.stringify(Object.fromEntries(response.headers))} ${await textOf(response)}`,
    );
  }
  return responses;
}

const target = (header_value: string, fields: object = {}) => ({
  provider: "openai",
  credentials: { header_name: "Authorization", header_value },
  ...fields,
});

/** Sends requests with a secret in wrong places. None may create a record or fail internally. */
async function misplace(
  gatehouse: GatehouseProcess,
  ids: Record<string, string>,
  secret: string,
): Promise<ApiResponse[]> {
  const gateway = `/gateways/${ids["gateway_id"]}`;
  const upstream = (body: unknown) => gatehouse.api("POST", `${gateway}/upstreams`, body);
  const bodies: unknown[] = [
    { name: "x", targets: [{ provider: "openai", credentials: secret }] },
    {
      name: "x",
      targets: [
        { provider: "openai", credentials: { header_name: `not a name ${secret}`, header_value: secret } },
      ],
    },
    {
      name: "x",
      targets: [{ provider: "openai", credentials: { header_name: "X-Key", header_value: [secret] } }],
    },
    { name: "x", targets: [target(`${secret}\r\nX-More: ${secret}`)] },
    {
      name: "x",
      targets: [target(secret, { weight: secret, path: secret, format: secret, models: secret })],
    },
    { name: "x", targets: [target(secret, { base_url: `https://user:${secret}@host.example` })] },
    { name: "x", targets: [target(secret, { base_url: secret })] },
    { name: "x", targets: [target(secret, { provider: "of-my-own" })] },
    { name: "x", targets: secret, algorithm: secret },
    { name: "x", targets: [target(secret)], timeouts: secret, health_checks: { threshold: secret } },
  ];
  const responses: ApiResponse[] = [];
  for (const body of bodies) responses.push(await upstream(body));
  responses.push(
    await upstream(`{"name": "x", "targets": [{"credentials": "${encodeURIComponent(secret)}" oops`),
    await gatehouse.api("POST", `${gateway}/upstreams`, JSON.stringify(target(secret)), {
      "Content-Type": "text/plain",
    }),
    await gatehouse.api("PATCH", gateway, {
      required_plugins: [{ name: `not a name ${secret}`, stage: secret, settings: secret }],
    }),
    await gatehouse.api("PATCH", gateway, { subdomain: secret }),
    await gatehouse.api("POST", `${gateway}/rules`, {
      service_id: ids["service_id"],
      path: secret,
      methods: [secret],
    }),
    await gatehouse.api("POST", "/iam/api-keys", {
      name: "x",
      subject: ids["gateway_id"],
      expires_at: secret,
    }),
    await gatehouse.api("PATCH", `/iam/api-keys/${ids["api_key_id"]}`, { key: secret }),
    await gatehouse.api("GET", `/gateways?limit=${encodeURIComponent(secret)}`),
    await gatehouse.api("GET", "/gateways", undefined, {
      Authorization: `Bearer ${encodeURIComponent(secret)}`,
    }),
    await gatehouse.api("GET", "/gateways", undefined, { Authorization: encodeURIComponent(secret) }),
  );
  // Ignored (a read-only field) or rejected.
  for (const { status } of responses) expect(status === 200 || (status >= 400 && status < 500)).toBe(true);
  return responses;
}

/** Tests connections to a provider that quotes what it received: a stored target, and one that is not stored. */
async function testEchoingProvider(
  gatehouse: GatehouseProcess,
  gateway: string,
  credentials: readonly string[],
): Promise<ApiResponse[]> {
  const provider = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ headers }) => {
      const received = JSON.stringify([...headers]);
      const message = `rejected ${received} ${encodeURIComponent(received)}`;
      return Response.json({ error: { message } }, { status: 401 });
    },
  });
  const at = `/gateways/${gateway}`;
  const base_url = provider.url.origin;
  const responses: ApiResponse[] = [];
  for (const [index, credential] of credentials.entries()) {
    const tested = target(credential, { base_url, headers: { "X-Api-Key": credential } });
    responses.push(await gatehouse.api("POST", `${at}/test-connection`, { target: tested }));
    const stored = await gatehouse.api("POST", `${at}/upstreams`, {
      name: `echoing ${index}`,
      targets: [tested],
    });
    const ids = { upstream_id: stored.body.id, target_id: stored.body.targets[0].id };
    responses.push(stored, await gatehouse.api("POST", `${at}/test-connection`, ids));
  }
  for (const { body } of responses.filter(({ body: { checks } }) => checks !== undefined))
    expect(body.checks[3].message).toContain("rejected");
  await provider.stop(true);
  return responses;
}

const places: [string, () => Promise<Place>][] = [["SQLite", sqlitePlace]];
if (isLong && hasPostgres) places.push(["PostgreSQL", postgresPlace]);

describe("the search itself", () => {
  test("finds a secret in every encoding, within any text", () => {
    const secret = newCredential();
    const forms = allForms([secret]);
    for (const before of ["", "a", "ab", "abc"]) {
      const text = `${before}Bearer ${secret}, and more`;
      for (const hidden of [
        text,
        Buffer.from(text).toString("base64"),
        Buffer.from(text).toString("base64url"),
        Buffer.from(text).toString("hex"),
        encodeURIComponent(text),
        JSON.stringify({ text }),
        `${before}${secret.slice(3, -6)}`,
      ]) {
        expect(found(hidden, forms)).not.toEqual([]);
      }
    }
    expect(found(`Bearer ${newCredential()}`, forms)).toEqual([]);
  });
});

describe.each(places)("secrets kept in %s", (_, makePlace) => {
  test("are in no file of the database, no log and no response to a GET", async () => {
    const place = await makePlace();
    const gatehouse = await startGatehouseProcess({ env: { ...place.env, LOG_LEVEL: "trace" } });
    const credentials = [newCredential(), newCredential(), newCredential(), newCredential()] as const;
    const responses: string[] = [];
    const api = async (method: string, path: string, body?: unknown) => {
      const response = await gatehouse.api(method, path, body);
      expect([path, response.status]).toEqual([
        path,
        body === undefined ? response.status : Math.min(response.status, 201),
      ]);
      return response;
    };

    const gatewayMade = await api("POST", "/gateways", {
      name: "g",
      subdomain: "secretive",
      required_plugins: [SHADOWED],
    });
    const gateway = gatewayMade.body.id as string;
    const upstreams = `/gateways/${gateway}/upstreams`;
    const made = await api("POST", upstreams, {
      name: "u",
      targets: [
        target(credentials[0], { headers: { "X-Api-Key": credentials[3] } }),
        target(`Bearer ${credentials[1]}`),
      ],
    });
    const upstream = made.body.id as string;
    const service = (await api("POST", `/gateways/${gateway}/services`, { name: "s", upstream_id: upstream }))
      .body.id as string;
    const rule = (
      await api("POST", `/gateways/${gateway}/rules`, {
        service_id: service,
        path: "/v1/*",
        methods: ["POST"],
      })
    ).body.id as string;
    const keyMade = await api("POST", "/iam/api-keys", { name: "k", subject: gateway, policies: [rule] });
    const apiKey = keyMade.body.id as string;
    const firstKey = keyMade.body.key as string;
    const budget = await api("POST", `/gateways/${gateway}/budgets`, { name: "b", unit: "usd", amount: "1" });
    const modelBody = { name: "m", targets: [{ upstream }] };
    const model = await api("POST", `/gateways/${gateway}/models`, modelBody);
    const mcpBody = {
      name: "tools",
      url: "https://mcp.example.com/mcp",
      headers: { "X-Api-Key": credentials[0] },
      credentials: { header_name: "Authorization", header_value: credentials[1] },
    };
    const mcpServer = await api("POST", `/gateways/${gateway}/mcp-servers`, mcpBody);
    expect(mcpServer.status).toBe(201);
    const ends_at = new Date(Date.now() + 60_000).toISOString();
    const gameDayBody = { name: "g", ends_at, match: { models: ["none"] }, faults: [{ type: "refuse" }] };
    const gameDay = await api("POST", `/gateways/${gateway}/game-days`, gameDayBody);
    const tokenMade = await api("POST", "/iam/admin-tokens", { name: "t" });
    const adminToken = tokenMade.body.token as string;
    const ids = {
      entry: SHADOWED.name,
      gateway_id: gateway,
      upstream_id: upstream,
      service_id: service,
      rule_id: rule,
      budget_id: budget.body.id as string,
      model_id: model.body.id as string,
      game_day_id: gameDay.body.id as string,
      mcp_server_id: mcpServer.body.id as string,
      api_key_id: apiKey,
      admin_token_id: tokenMade.body.id as string,
      revision: "1",
    };

    // Send a masked record back, change a credential, keep one with PATCH, rotate a key: none of this may reveal a secret.
    const shown = (await api("GET", `${upstreams}/${upstream}`)).body;
    const changes = [
      made,
      await api("PUT", `${upstreams}/${upstream}`, shown),
      await api("PATCH", `${upstreams}/${upstream}`, { targets: [shown.targets[0], target(credentials[2])] }),
      await api("PATCH", `${upstreams}/${upstream}`, { name: "renamed" }),
      await api("PATCH", `/iam/api-keys/${apiKey}`, { name: "renamed" }),
      mcpServer,
      await api("PUT", `/gateways/${gateway}/mcp-servers/${mcpServer.body.id}`, mcpServer.body),
    ];
    const echoing = await testEchoingProvider(gatehouse, gateway, credentials);
    changes.push(...echoing);
    const secondKey = (await api("POST", `/iam/api-keys/${apiKey}/rotate`)).body.key as string;
    expect(secondKey).toMatch(/^gw_/);
    responses.push(...(await readEverything(gatehouse, ids)));

    // Rejected requests, internal errors, and requests to the data plane, with the secrets in wrong places.
    const rejections: ApiResponse[] = [];
    for (const secret of [...credentials, firstKey, secondKey, adminToken, gatehouse.token]) {
      rejections.push(...(await misplace(gatehouse, ids, secret)));
    }
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}/rules/${rule}`)).status).toBe(409);
    const url = place.url(gatehouse.dataDir);
    await withSql(url, (sql) => sql.unsafe("ALTER TABLE upstreams RENAME TO upstreams_renamed"));
    const broken = await gatehouse.api("POST", upstreams, { name: "u", targets: [target(credentials[0])] });
    expect(broken.status).toBe(500);
    await withSql(url, (sql) => sql.unsafe("ALTER TABLE upstreams_renamed RENAME TO upstreams"));
    for (const key of [firstKey, secondKey, adminToken, credentials[0], gatehouse.token]) {
      const headers = {
        Authorization: `Bearer ${encodeURIComponent(key)}`,
        "X-Api-Key": encodeURIComponent(key),
      };
      await (await fetch(`${gatehouse.proxyUrl}/no/such/rule`, { headers })).text();
    }
    responses.push(...(await readEverything(gatehouse, ids)));
    for (const { body } of [...changes, broken]) responses.push(JSON.stringify(body));
    for (const { body } of rejections) responses.push(JSON.stringify(body));

    const forms = allForms([
      ...credentials,
      firstKey,
      secondKey,
      adminToken,
      gatehouse.token,
      TEST_SECRET,
      ...place.secrets,
    ]);
    for (const response of responses) expect([response, found(response, forms)]).toEqual([response, []]);
    await untilPrinted(gatehouse, '"status":500');
    expect(found(gatehouse.output(), forms)).toEqual([]);
    const files = await place.files(gatehouse.dataDir);
    expect(filesWith(files, [upstream]).length).toBeGreaterThan(0);
    expect(filesWith(files, forms)).toEqual([]);

    // The credential is stored, encrypted.
    const [row] = (await withSql(url, (sql) => sql.unsafe("SELECT body FROM upstreams"))) as {
      body: string;
    }[];
    expect(row?.body).toContain('"header_value":"v1.');
    gatehouse.signal("SIGTERM");
    expect(await gatehouse.exited).toBe(0);
    expect(filesWith(await place.files(gatehouse.dataDir), forms)).toEqual([]);
    expect(found(gatehouse.output(), forms)).toEqual([]);
    await gatehouse.stop();
  }, 60_000);
});
