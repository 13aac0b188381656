// MCP endpoints of gateways with `jwt_issuers`: OAuth metadata, challenges, and tokens instead of API keys.
import { describe, expect, test } from "bun:test";
import { importJWK, SignJWT } from "jose";
import { postMcp, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { TokenIssuer, useTokenIssuer } from "../support/token-issuer.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse({
  env: { PUBLIC_URL: "https://tools.example.com", BASE_DOMAIN: "tools.example.com" },
});
const servers = useMcpServers({ one: { tools: { read: {}, write: {} } } });
const issuer = await useTokenIssuer();

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

function seed(options: { claims?: object; gateway?: object; server?: object } = {}) {
  const jwt_issuers = [issuer.record({ ...options.claims })];
  return seedMcp(
    gatehouse,
    { files: { url: servers.one.url, ...options.server } },
    { gateway: { require_api_key: true, jwt_issuers, ...options.gateway } },
  );
}

const shared = await seed();

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

function listTools(url: string, headers: Record<string, string>) {
  return new StatelessClient(url, headers).request("tools/list");
}

function toolNames({ result }: { readonly result: Record<string, unknown> }): unknown[] {
  const { tools } = result;
  return Array.isArray(tools) ? tools.map((each: { name?: unknown }) => each.name) : [];
}

describe("metadata", () => {
  test("is at the path-inserted address, without a key, and names the resource by PUBLIC_URL", async () => {
    const response = await fetch(`${gatehouse.proxyUrl}${WELL_KNOWN}${shared.path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      resource: `https://tools.example.com${shared.path}`,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ["header"],
    });
  });

  test("names the host of a gateway that has a subdomain", async () => {
    const { path, gateway } = await seed({ gateway: { subdomain: "acme" } });
    const at = async (host: string) => {
      const response = await fetch(`${gatehouse.proxyUrl}${WELL_KNOWN}${path}`, { headers: { Host: host } });
      return ((await response.json()) as { resource?: string }).resource;
    };
    expect(await at("acme.tools.example.com")).toBe(`https://acme.tools.example.com${path}`);
    expect(await at("tools.example.com")).toBe(`https://tools.example.com${path}`);
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { jwt_issuers: [] });
    expect(await at("acme.tools.example.com")).toBeUndefined();
  });

  test("is 404 for other paths, other methods, and gateways without issuers", async () => {
    const plain = await seedMcp(gatehouse, { files: servers.one.url });
    for (const path of [plain.path, "/nothing", "", `x${shared.path}`])
      expect((await fetch(`${gatehouse.proxyUrl}${WELL_KNOWN}${path}`)).status).toBe(404);
    const posted = await fetch(`${gatehouse.proxyUrl}${WELL_KNOWN}${shared.path}`, { method: "POST" });
    expect(posted.status).toBe(404);
  });
});

describe("challenges", () => {
  const address = `https://tools.example.com${WELL_KNOWN}${shared.path}`;

  test("a request without a credential is 401 with the address of the metadata, and no error", async () => {
    const response = await listTools(shared.url, {});
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${address}"`);
    expect(response.error).toMatchObject({ data: { code: "api_key_required" } });
  });

  test("a token that is not valid is 401 with invalid_token", async () => {
    const response = await listTools(shared.url, bearer("eyJ.eyJ.x"));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer error="invalid_token", resource_metadata="${address}"`,
    );
    expect(response.error).toMatchObject({ data: { code: "invalid_token" } });
  });

  test("a token that is not valid is rejected even if no key is required", async () => {
    const open = await seed({ gateway: { require_api_key: false } });
    expect((await listTools(open.url, {})).status).toBe(200);
    expect((await listTools(open.url, bearer("x"))).status).toBe(401);
  });
});

describe("accepted tokens", () => {
  test("a token serves instead of an API key, and keys still do", async () => {
    const response = await listTools(shared.url, bearer(await issuer.sign()));
    expect(response.status).toBe(200);
    expect(toolNames(response)).toEqual(["read", "write"]);
    const { key } = await seedKey(gatehouse, shared.gateway, {});
    expect((await listTools(shared.url, { "X-GW-API-Key": key })).status).toBe(200);
    expect((await listTools(shared.url, bearer(key))).status).toBe(200);
  });

  test("keys are fetched once for many tokens", async () => {
    await listTools(shared.url, bearer(await issuer.sign()));
    const before = issuer.fetches;
    for (const sub of ["a", "b", "c"]) await listTools(shared.url, bearer(await issuer.sign({ sub })));
    expect(issuer.fetches).toBe(before);
  });

  test("a clock that differs by some seconds is tolerated", async () => {
    const now = Math.floor(Date.now() / 1000);
    const token = await issuer.sign({ exp: now - 10, nbf: now + 10 });
    expect((await listTools(shared.url, bearer(token))).status).toBe(200);
  });

  test("the claim of tools limits what is listed and called; a token without it may use no tools", async () => {
    const { url } = await seed({ claims: { tools: "grants.tools" } });
    const some = bearer(await issuer.sign({ grants: { tools: ["files__re*"] } }));
    const list = await listTools(url, some);
    expect(toolNames(list)).toEqual(["read"]);
    expect(list.result["cacheScope"]).toBe("private");
    const client = new StatelessClient(url, some);
    expect((await client.request("tools/call", { name: "read", arguments: {} })).error).toBeUndefined();
    expect((await client.request("tools/call", { name: "write", arguments: {} })).error).toBeDefined();
    const text = bearer(await issuer.sign({ grants: { tools: "files__write other__x" } }));
    expect(toolNames(await listTools(url, text))).toEqual(["write"]);
    expect(toolNames(await listTools(url, bearer(await issuer.sign())))).toEqual([]);
  });

  test("a session belongs to the user, across the user's tokens", async () => {
    const headers = bearer(await issuer.sign());
    const client = await SessionClient.start(shared.url, { headers });
    const ping = (authorization: Record<string, string>) =>
      postMcp(
        shared.url,
        { jsonrpc: "2.0", id: 1, method: "tools/list" },
        { ...client.allHeaders, ...authorization },
      );
    expect((await ping(bearer(await issuer.sign({ jti: "another" })))).status).toBe(200);
    expect((await ping(bearer(await issuer.sign({ sub: "bob" })))).status).toBe(404);
  });

  test.each(["per_user", "per_key", "per_label:team"])("limits %s count by the token", async (type) => {
    const limits = { [type]: { limit: 1, window: "1h" } };
    const { url } = await seed({
      claims: { labels: { team: "team" } },
      gateway: { required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings: { limits } }] },
    });
    const ann = bearer(await issuer.sign({ sub: "ann", team: "a" }));
    const bob = bearer(await issuer.sign({ sub: "bob", team: "b" }));
    expect((await listTools(url, ann)).status).toBe(200);
    // A client of a token must not choose its user.
    expect((await listTools(url, { ...ann, "X-User-ID": "other" })).status).toBe(429);
    expect((await listTools(url, bob)).status).toBe(200);
  });

  test("the request log names the user", async () => {
    const token = await issuer.sign({ sub: "carol" });
    await listTools(shared.url, { ...bearer(token), "X-Request-Id": "token-of-carol" });
    const { body } = await gatehouse.api(
      "GET",
      `/gateways/${shared.gateway}/requests?request_id=token-of-carol`,
    );
    expect(JSON.stringify(body)).toContain('"name":"jwt:carol"');
    expect(JSON.stringify(body)).not.toContain(token);
  });

  test("the token is not forwarded, not even as the credential of a server", async () => {
    const { url } = await seed({
      server: { forward_authorization: true, headers: { "X-Own": "token test" } },
    });
    const token = await issuer.sign({ sub: "dora" });
    const basic = `Basic ${Buffer.from(`ann:${token}`).toString("base64")}`;
    for (const value of [`Bearer ${token}`, basic, "Bearer own"]) {
      const headers = { ...bearer(token), "X-MCP-files-Authorization": value };
      const client = new StatelessClient(url, headers);
      expect((await client.request("tools/call", { name: "read", arguments: {} })).status).toBe(200);
      const sent = servers.one.received.findLast(({ rpcMethod }) => rpcMethod === "tools/call");
      expect(sent?.headers.get("authorization")).toBe(value === "Bearer own" ? value : null);
      expect(JSON.stringify([...(sent?.headers ?? [])])).not.toContain(token);
    }
  });
});

describe("rejected tokens", () => {
  const now = Math.floor(Date.now() / 1000);

  test.each<[string, Record<string, unknown>]>([
    ["of another issuer", { iss: "https://other.example.com" }],
    ["for another audience", { aud: "https://other.example.com" }],
    ["without an audience", { aud: undefined }],
    ["that is expired", { exp: now - 60 }],
    ["that never expires", { exp: undefined }],
    ["that is not valid yet", { nbf: now + 300 }],
    ["without a user", { sub: undefined }],
    ["with an empty user", { sub: "" }],
    ["with a user that is no text", { sub: { a: 1 } }],
    ["with a long user", { sub: "x".repeat(257) }],
    ["that is too long", { padding: "x".repeat(10_000) }],
  ])("a token %s", async (_, claims) => {
    const response = await listTools(shared.url, bearer(await issuer.sign(claims)));
    expect(response.status).toBe(401);
    expect(response.error).toMatchObject({ data: { code: "invalid_token" } });
    expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test("unsigned, signed with the public key as an HMAC key, or changed after signing", async () => {
    const valid = await issuer.sign();
    const [header = "", , signature = ""] = valid.split(".");
    const [publicKey = {}] = issuer.publicKeys;
    const hmacKeys = [JSON.stringify(publicKey), publicKey.x ?? ""].map((text) =>
      new TextEncoder().encode(text),
    );
    const forged = await Promise.all(
      hmacKeys.map((key) =>
        new SignJWT(issuer.claims()).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(key),
      ),
    );
    const tokens = [
      `${part({ alg: "none" })}.${part(issuer.claims())}.`,
      `${part({ alg: "none", kid: "one" })}.${part(issuer.claims())}.${signature}`,
      `${header}.${part(issuer.claims({ sub: "root" }))}.${signature}`,
      `${part({ alg: "ES256", kid: "one", crit: ["x"], x: 1 })}.${part(issuer.claims())}.${signature}`,
      ...forged,
    ];
    for (const token of tokens) expect((await listTools(shared.url, bearer(token))).status).toBe(401);
    expect((await listTools(shared.url, bearer(valid))).status).toBe(200);
  });

  test("with an algorithm that is not one of public keys, before any key is fetched", async () => {
    const own = new TokenIssuer();
    await own.addKey("one", "ES256");
    const { url } = await seed({ gateway: { jwt_issuers: [own.record()] } });
    const [publicKey = {}] = own.publicKeys;
    const secret = new TextEncoder().encode(JSON.stringify(publicKey));
    const hmac = (alg: string) =>
      new SignJWT(own.claims()).setProtectedHeader({ alg, kid: "one" }).sign(secret);
    const tokens = {
      none: `${part({ alg: "none", kid: "one" })}.${part(own.claims())}.`,
      nOnE: `${part({ alg: "nOnE", kid: "one" })}.${part(own.claims())}.`,
      HS256: await hmac("HS256"),
      HS512: await hmac("HS512"),
    };
    for (const [alg, token] of Object.entries(tokens)) {
      const response = await listTools(url, bearer(token));
      expect(response.status).toBe(401);
      expect(response.error).toMatchObject({
        message: expect.stringContaining(`The token is signed with "${alg}". Accepted are RS256,`),
        data: { code: "invalid_token" },
      });
    }
    expect(own.fetches).toBe(0);
    expect((await listTools(url, bearer(await own.sign()))).status).toBe(200);
    await own.stop();
  });

  test("signed with an HMAC key that the issuer lists", async () => {
    const own = new TokenIssuer();
    const secret = Buffer.from("a secret of more than 32 bytes, to be sure");
    own.publicKeys.push({ kty: "oct", k: secret.toString("base64url"), kid: "one", alg: "HS256" });
    const { url } = await seed({ gateway: { jwt_issuers: [own.record()] } });
    const key = await importJWK(own.publicKeys[0] ?? {}, "HS256");
    const token = await new SignJWT(own.claims()).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(key);
    expect((await listTools(url, bearer(token))).status).toBe(401);
    await own.stop();
  });

  test("of another gateway with another audience or issuer", async () => {
    const audience = "https://second.example.com";
    const second = await seed({ gateway: { jwt_issuers: [{ ...issuer.record(), audience }] } });
    const token = await issuer.sign();
    expect((await listTools(second.url, bearer(token))).status).toBe(401);
    expect((await listTools(second.url, bearer(await issuer.sign({ aud: ["x", audience] })))).status).toBe(
      200,
    );
  });

  test("together with an API key, or with a second token", async () => {
    const { key } = await seedKey(gatehouse, shared.gateway, {});
    const token = await issuer.sign();
    for (const headers of [
      { ...bearer(token), "X-GW-API-Key": key },
      { ...bearer(token), "X-API-Key": key },
      bearer(`${token}, Bearer ${token}`),
      bearer(`${token}, Bearer ${key}`),
    ])
      expect((await listTools(shared.url, headers)).status).toBe(401);
  });
});

describe("keys of the issuer", () => {
  test("an unknown key causes one fetch, however many tokens name it", async () => {
    const own = new TokenIssuer();
    await own.addKey("one", "ES256");
    const { url } = await seed({ gateway: { jwt_issuers: [own.record()] } });
    const stranger = new TokenIssuer();
    await stranger.addKey("unknown", "ES256");
    const token = await stranger.sign(own.claims(), "unknown");
    for (let sent = 0; sent < 3; sent++) expect((await listTools(url, bearer(token))).status).toBe(401);
    expect(own.fetches).toBe(1);
    expect((await listTools(url, bearer(await own.sign()))).status).toBe(200);
    await Promise.all([own.stop(), stranger.stop()]);
  });

  test("a token that names no key may be signed with any of them", async () => {
    const own = new TokenIssuer();
    for (const kid of ["old", "new"]) await own.addKey(kid, "ES256");
    const { url } = await seed({ gateway: { jwt_issuers: [own.record()] } });
    const stranger = new TokenIssuer();
    await stranger.addKey("one", "ES256");
    const statusOf = async (token: Promise<string>) => (await listTools(url, bearer(await token))).status;
    for (const kid of ["old", "new"]) expect(await statusOf(own.sign({}, kid, {}))).toBe(200);
    expect(await statusOf(own.sign({ exp: 1 }, "new", {}))).toBe(401);
    expect(await statusOf(stranger.sign(own.claims(), "one", {}))).toBe(401);
    await Promise.all([own.stop(), stranger.stop()]);
  });

  test.each([500, 302, 404])("no token is accepted while keys are unavailable: status %p", async (status) => {
    const own = new TokenIssuer();
    await own.addKey("one", "ES256");
    own.status = status;
    const { url } = await seed({ gateway: { jwt_issuers: [own.record()] } });
    const response = await listTools(url, bearer(await own.sign()));
    expect(response.status).toBe(503);
    expect(response.error).toMatchObject({ data: { code: "token_keys_unavailable" } });
    expect(response.headers.get("retry-after")).toBe("10");
    await listTools(url, bearer(await own.sign()));
    expect(own.fetches).toBe(1);
    await own.stop();
  });
});
