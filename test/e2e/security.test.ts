// Claims of docs/security.md that no other test covers: forged token algorithms, isolation of gateways at every endpoint,
// and requests that try to reach another host.
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { create, createChain, expectError, type Chain } from "../support/admin-fixtures.ts";
import { TEST_SECRET } from "../support/gatehouse-process.ts";
import { limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { rawCall, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const gatehouse = await useGatehouse();
const provider = await useFakeProvider();

test("a token with alg RS256, ES256, PS256 or EdDSA that is signed with the secret as an HMAC key is rejected", async () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const send = async (alg: string) => {
    const signed = `${encode({ alg, typ: "JWT" })}.${encode({ sub: "admin", exp: Date.now() / 1000 + 3600 })}`;
    const signature = createHmac("sha256", TEST_SECRET).update(signed).digest("base64url");
    const headers = { Authorization: `Bearer ${signed}.${signature}` };
    return (await fetch(`${gatehouse.adminUrl}/api/v1/gateways`, { headers })).status;
  };
  for (const alg of ["RS256", "RS512", "ES256", "PS256", "EdDSA", "hs256", "HS256 "])
    expect(await send(alg)).toBe(401);
  expect(await send("HS256")).toBe(200);
});

/** Has to match nothing: the tests of this file send requests. */
const GAME_DAY = {
  name: "taken over",
  ends_at: new Date(Date.now() + 3_600_000).toISOString(),
  match: { models: ["none"] },
  faults: [{ type: "refuse" }],
};
const MCP_SERVER = { name: "taken-over", url: "https://mcp.example.com/mcp" };
const BUDGET = { name: "taken over", unit: "usd", amount: "1" };

describe("gateways are isolated at every endpoint of the OpenAPI document", () => {
  let own: Chain;
  let foreign: Chain & {
    readonly block: string;
    readonly budget: string;
    readonly game_day: string;
    readonly model: string;
    readonly mcp_server: string;
    readonly request: string;
  };
  let operations: [method: string, path: string][];

  beforeAll(async () => {
    own = await createChain(gatehouse, "own");
    const chain = await createChain(gatehouse, "foreign");
    const blocking = limiter({ per_user: [1, "1h"] }, { actions: { type: "block" } });
    const blocked = await seedPlugins(gatehouse, provider, [blocking]);
    for (let times = 0; times < 2; times++) await (await postChat(gatehouse, blocked)).text();
    const block = await waitFor(async () => {
      const { body } = await gatehouse.api("GET", `/gateways/${blocked.gateway}/blocks`);
      return (body.blocks[0]?.id as string | undefined) ?? null;
    });
    const { id: budget } = await create(gatehouse, `/gateways/${chain.gateway}/budgets`, BUDGET);
    const { id: game_day } = await create(gatehouse, `/gateways/${chain.gateway}/game-days`, GAME_DAY);
    const { id: model } = await create(gatehouse, `/gateways/${chain.gateway}/models`, {
      name: "assistant",
      targets: [{ upstream: chain.upstream }],
    });
    const { id: mcp_server } = await create(gatehouse, `/gateways/${chain.gateway}/mcp-servers`, MCP_SERVER);
    const recorded = await gatehouse.api("GET", `/gateways/${blocked.gateway}/requests`);
    foreign = {
      ...chain,
      block,
      budget,
      game_day,
      model,
      mcp_server,
      request: recorded.body.requests[0].request_id as string,
    };
    const document = (await (await fetch(`${gatehouse.adminUrl}/api/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method): [string, string] => [
        method.toUpperCase(),
        path.replace("/api/v1", ""),
      ]),
    );
  });

  test("a record of another gateway is 404 with every method, and stays unchanged", async () => {
    const parts = operations.filter(([, path]) =>
      /^\/gateways\/\{gateway_id\}\/[\w-]+\/\{\w+_id\}/.test(path),
    );
    // Upstreams, services and rules with four methods each, and blocks.
    expect(parts.length).toBeGreaterThanOrEqual(13);
    const before = await snapshot();
    for (const [method, path] of parts) {
      const part = /\{(\w+)_id\}(?:\/(?:\w+|\{name\}))*$/.exec(path)![1] as keyof typeof foreign;
      const id = foreign[part];
      expect([path, typeof id]).toEqual([path, "string"]);
      const at = path
        .replace("{gateway_id}", own.gateway)
        .replace(/\{\w+_id\}(?=(?:\/(?:\w+|\{name\}))*$)/, id);
      const body = method === "GET" || method === "DELETE" ? undefined : bodyFor(part, path);
      const response = await gatehouse.api(method, at, body);
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expectError(response, 404, "not_found");
    }
    expect(await snapshot()).toEqual(before);
  });

  /** Returns a valid body, so that only the id causes the error. */
  function bodyFor(part: string, path: string): object {
    if (path.endsWith("/adjust")) return { amount: "1" };
    if (path.endsWith("/reset") || path.endsWith("/approve")) return {};
    if (path.endsWith("/move")) return { before: own.rule };
    if (part === "upstream") return { name: "taken over", targets: [{ provider: "openai" }] };
    if (part === "service") return { name: "taken over", upstream_id: own.upstream };
    if (part === "budget") return BUDGET;
    if (part === "game_day") return GAME_DAY;
    if (part === "model") return { name: "taken over", targets: [{ upstream: own.upstream }] };
    if (part === "mcp_server") return MCP_SERVER;
    if (part === "request") return {};
    return { name: "taken over", service_id: own.service, path: "/taken-over", methods: ["POST"] };
  }

  async function snapshot(): Promise<unknown> {
    const at = `/gateways/${foreign.gateway}`;
    const places = [
      at,
      `${at}/upstreams`,
      `${at}/mcp-servers`,
      `${at}/services`,
      `${at}/rules`,
      `${at}/models`,
      `${at}/budgets`,
      `${at}/game-days`,
    ];
    return Promise.all(places.map(async (place) => (await gatehouse.api("GET", place)).body as unknown));
  }

  test("a target of another gateway is not tested", async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${foreign.gateway}/upstreams/${foreign.upstream}`);
    const [target] = body.targets as { id: string }[];
    const path = `/gateways/${own.gateway}/test-connection`;
    const upstream_id = foreign.upstream;
    for (const tested of [{ target_id: target?.id }, { target }])
      expectError(await gatehouse.api("POST", path, { upstream_id, ...tested }), 404, "not_found");
  });

  test("a reference to another gateway is 400 in every write", async () => {
    const at = `/gateways/${own.gateway}`;
    const service = { name: "s", upstream_id: foreign.upstream };
    const rule = { service_id: foreign.service, path: "/x", methods: ["POST"] };
    for (const [method, path, body] of [
      ["POST", `${at}/models`, { name: "m", targets: [{ upstream: foreign.upstream }] }],
      ["POST", `${at}/services`, { name: "s", type: "mcp", mcp_server_ids: [foreign.mcp_server] }],
      ["POST", `${at}/services`, service],
      ["PUT", `${at}/services/${own.service}`, service],
      ["PATCH", `${at}/services/${own.service}`, { upstream_id: foreign.upstream }],
      ["POST", `${at}/rules`, rule],
      ["PUT", `${at}/rules/${own.rule}`, rule],
      ["PATCH", `${at}/rules/${own.rule}`, { service_id: foreign.service }],
      ["POST", "/iam/api-keys", { name: "k", subject: own.gateway, policies: [foreign.rule] }],
    ] as const)
      expectError(await gatehouse.api(method, path, body), 400, "validation_failed");
  });

  test("a key of one gateway gives no access to another, whatever Host and path are", async () => {
    const mine = await seedRoute(gatehouse, {
      gateway: { subdomain: "mine" },
      upstream: { targets: [targetAt(provider, { path: "/mine" })] },
      rule: { path: "/shared", require_api_key: true },
    });
    const theirs = await seedRoute(gatehouse, {
      gateway: { subdomain: "theirs" },
      upstream: { targets: [targetAt(provider, { path: "/theirs" })] },
      rule: { path: "/shared", require_api_key: true },
    });
    await seedRoute(gatehouse, {
      gateway: theirs.gateway,
      upstream: { targets: [targetAt(provider, { path: "/theirs" })] },
      rule: { path: "/only-theirs", require_api_key: true },
    });
    const { key } = await seedKey(gatehouse, mine.gateway);
    provider.reset();
    const send = (target: string, host: string) =>
      rawCall(gatehouse.proxyUrl, {
        target,
        headers: [
          ["Host", host],
          ["X-GW-API-Key", key],
        ],
        body: "x",
      });
    expect((await send("/shared", "theirs.test")).status).toBe(200);
    expect((await send("/only-theirs", "theirs.test")).status).toBe(404);
    expect((await send("http://theirs.test/only-theirs", "mine.test")).status).toBe(404);
    expect(provider.requests.map(({ target }) => target)).toEqual(["/mine"]);
  });
});

describe("no request reaches a host other than the target's", () => {
  const HOSTILE = [
    "/in/@evil.test/x",
    "/in//evil.test/x",
    "/in/%2f%2fevil.test/x",
    "/in/\\\\evil.test/x",
    "/in/:80@evil.test/",
    "/in/http://evil.test/x",
    "/in/x?url=http://evil.test/#@evil.test",
    "/in/x;@evil.test",
    "/in/.evil.test/",
    "/in/%00@evil.test/",
    "/in/%0d%0aHost:%20evil.test",
    "http://evil.test/in/x",
    "http://user@evil.test/in/x",
    "//evil.test/in/x",
  ];
  test.each(HOSTILE)("%s", async (target) => {
    const { gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { path: "" })] },
      rule: { path: "/in/*", strip_path: true },
    });
    provider.reset();
    const response = await rawCall(gatehouse.proxyUrl, {
      target,
      headers: [["Host", "gatehouse.test"]],
      body: "x",
    });
    expect([200, 400, 404]).toContain(response.status);
    // A request that is forwarded goes to the provider, with its host.
    expect(provider.requestCount).toBe(response.status === 200 ? 1 : 0);
    for (const request of provider.requests) {
      expect(request.target).toStartWith("/");
      expect(request.header("host")).toBe(new URL(provider.url).host);
      expect(request.headers.filter(([name]) => name.toLowerCase() === "host")).toHaveLength(1);
    }
    await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
  });
});
