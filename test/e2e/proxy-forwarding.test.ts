// The request to the provider: its URL, Host and headers.
import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import type { RecordedRequest } from "../../src/fake-provider/server.ts";
import { mintToken, TEST_SECRET } from "../support/gatehouse-process.ts";
import {
  onlyRequest,
  rawCall,
  seedKey,
  seedRoute,
  targetAt,
  type RawCall,
} from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();

/** Sends a request through a route with this target and rule. Resolves to what the provider received. */
async function forwarded(
  target: Record<string, unknown>,
  rule: Record<string, unknown>,
  call: RawCall,
): Promise<RecordedRequest> {
  const { path, gateway } = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, { path: "/echo", ...target })] },
    rule,
  });
  provider.reset();
  const response = await rawCall(gatehouse.proxyUrl, { target: path, ...call });
  expect({ status: response.status, body: response.body.toString() }).toMatchObject({ status: 200 });
  expect((await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`)).status).toBe(204);
  return onlyRequest(provider);
}

/** Resolves to the headers that the provider received, as one text in lower case. */
async function sent(
  headers: readonly HeaderPair[],
  target: Record<string, unknown> = {},
): Promise<RecordedRequest> {
  return forwarded(target, {}, { headers });
}

const namesOf = (request: RecordedRequest) => request.headers.map(([name]) => name.toLowerCase());

describe("URL = target base_url + path", () => {
  const CREDENTIAL = { credentials: { header_name: "Authorization", header_value: "Bearer sk-target" } };

  /** Resolves to the request target that a target with this path and base path receives. */
  async function url(
    { base = "", path }: { base?: string; path?: string },
    rule: Record<string, unknown>,
    target: string,
  ): Promise<string> {
    const where = { base_url: provider.url + base, ...(path === undefined ? { path: null } : { path }) };
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] });
    const headers: HeaderPair[] = [["Content-Type", "application/json"]];
    return (await forwarded({ ...CREDENTIAL, ...where }, rule, { target, headers, body })).target;
  }

  const exact = { path: "/in/exact" };
  const prefix = { path: "/in/*" };
  const parameters = { path: "/in/{team}/chat" };
  const strip = { strip_path: true };

  test("uses the path of the target", async () => {
    expect(await url({ path: "/p" }, exact, "/in/exact")).toBe("/p");
    expect(await url({ path: "/p" }, prefix, "/in/deep/down")).toBe("/p");
    expect(await url({ path: "/p" }, parameters, "/in/red/chat")).toBe("/p");
    expect(await url({ path: "/p" }, { ...exact, ...strip }, "/in/exact")).toBe("/p");
  });

  test("appends the remainder for a prefix rule with strip_path", async () => {
    const rule = { ...prefix, ...strip };
    expect(await url({ path: "/p" }, rule, "/in/deep/down")).toBe("/p/deep/down");
    expect(await url({ path: "/p" }, rule, "/in/deep/")).toBe("/p/deep/");
    expect(await url({ path: "/p" }, rule, "/in")).toBe("/p");
    const deep = { path: "/in/{team}/v1/*", ...strip };
    expect(await url({ path: "/p" }, deep, "/in/red/v1/chat/x")).toBe("/p/chat/x");
  });

  test('keeps the request path with path ""', async () => {
    expect(await url({ path: "" }, exact, "/in/exact")).toBe("/in/exact");
    expect(await url({ path: "" }, prefix, "/in/deep/down/")).toBe("/in/deep/down/");
    expect(await url({ path: "" }, parameters, "/in/red/chat")).toBe("/in/red/chat");
  });

  test('removes the matched prefix with path "" and strip_path', async () => {
    const rule = { ...prefix, ...strip };
    expect(await url({ path: "" }, rule, "/in/deep/down")).toBe("/deep/down");
    expect(await url({ path: "", base: "/base" }, rule, "/in/deep/down")).toBe("/base/deep/down");
    expect(await url({ path: "", base: "/base" }, rule, "/in")).toBe("/base");
    expect(await url({ path: "" }, { path: "/*", ...strip }, "/deep/down")).toBe("/deep/down");
    expect(await url({ path: "", base: "/base" }, { ...exact, ...strip }, "/in/exact")).toBe("/base");
  });

  test("uses the provider's chat endpoint without a path", async () => {
    expect(await url({}, exact, "/in/exact")).toBe("/v1/chat/completions");
    expect(await url({ base: "/base" }, prefix, "/in/anything")).toBe("/base/v1/chat/completions");
  });

  test("keeps the path of a base_url, with or without a trailing slash", async () => {
    expect(await url({ base: "/base/path", path: "/p" }, exact, "/in/exact")).toBe("/base/path/p");
    expect(await url({ base: "/base/path/", path: "/p" }, exact, "/in/exact")).toBe("/base/path/p");
    expect(await url({ base: "/", path: "" }, exact, "/in/exact")).toBe("/in/exact");
  });

  test.each(["?a=1&b=2&a=3", "?q=%2F%2f+x%20y&empty=&bare", "?u=https://x.test/?y=z", "?[]=1;2&é=%C3%A9"])(
    "keeps the query string: %s",
    async (query) => {
      const expected = query.replace("é", "%C3%A9");
      const raw = Buffer.from(query).toString("latin1");
      expect(await url({ path: "/p" }, exact, `/in/exact${raw}`)).toBe(`/p${expected}`);
      expect(await url({ path: "" }, { ...prefix, ...strip }, `/in/x${raw}`)).toBe(`/x${expected}`);
    },
  );

  test("keeps percent-encoding in a path", async () => {
    expect(await url({ path: "" }, prefix, "/in/a%2Fb%2fc%20d;e=f/@:!$&'()*+,")).toBe(
      "/in/a%2Fb%2fc%20d;e=f/@:!$&'()*+,",
    );
  });

  test.each(["/in/../../secret", "/in/%2e%2e/%2e%2e/secret", "/in/..\\..\\secret", "/in/x/.././../secret"])(
    "no path leaves the base_url: %s",
    async (target) => {
      const { gateway } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { base_url: `${provider.url}/base`, path: "" })] },
        rule: { ...prefix, ...strip },
      });
      const response = await rawCall(gatehouse.proxyUrl, { target });
      expect(response.status).toBe(target.includes("\\") ? 400 : 404);
      expect(provider.requestCount).toBe(0);
      await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
    },
  );
});

describe("preserve_host", () => {
  test("sends the client's Host to the target", async () => {
    const call: RawCall = { headers: [["Host", "Client.example.com:8443"]] };
    const request = await forwarded({}, { preserve_host: true }, call);
    expect(request.headers.filter(([name]) => name.toLowerCase() === "host")).toEqual([
      ["Host", "Client.example.com:8443"],
    ]);
  });

  test("otherwise sends the target's host", async () => {
    const request = await forwarded({}, {}, { headers: [["Host", "client.example.com"]] });
    expect(request.header("host")).toBe(new URL(provider.url).host);
  });
});

describe("request headers that are not forwarded", () => {
  test("all others are forwarded unchanged", async () => {
    const passing: HeaderPair[] = [
      ["X-Custom", 'Some, value; with="things"'],
      ["Accept", "text/html"],
      ["Accept-Language", "de"],
      ["User-Agent", "a client/1.0"],
      ["OpenAI-Organization", "org-1"],
      ["X-Stainless-Lang", "js"],
      ["Accept-Encoding", "gzip, br"],
      ["anthropic-beta", "one,two"],
      ["X-Latin", "caf\xe9"],
      ["X_Custom_Underscore", "kept"],
      ["Origin", "https://app.test"],
      ["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ];
    const request = await sent(passing);
    for (const [name, value] of passing) expect([name, request.header(name)]).toEqual([name, value]);
  });

  test("hop-by-hop fields", async () => {
    const request = await sent([
      ["Connection", "close"],
      ["Keep-Alive", "timeout=5"],
      ["Proxy-Authorization", "Basic eDp5"],
      ["Proxy-Authenticate", "Basic"],
      ["Proxy-Connection", "keep-alive"],
      ["TE", "trailers"],
      ["Trailer", "X-Sum"],
      ["Upgrade", "h2c"],
    ]);
    const gone = [
      "keep-alive",
      "proxy-authorization",
      "proxy-authenticate",
      "proxy-connection",
      "te",
      "trailer",
      "upgrade",
    ];
    expect(namesOf(request).filter((name) => gone.includes(name))).toEqual([]);
    expect(request.header("connection")).not.toBe("close");
  });

  test("all fields that Connection names", async () => {
    const request = await sent([
      ["Connection", "close, X-Hop , x-OTHER"],
      ["Connection", "X-Third"],
      ["X-Hop", "1"],
      ["X-Other", "2"],
      ["X-Third", "3"],
      ["X-Stays", "4"],
    ]);
    expect(namesOf(request).filter((name) => name.startsWith("x-"))).toEqual(["x-stays"]);
  });

  test("Connection: X-GW-API-Key neither forwards the key nor bypasses the check of the key", async () => {
    const { path, gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { path: "/echo" })] },
      rule: { require_api_key: true },
    });
    const { key } = await seedKey(gatehouse, gateway);
    const connection: HeaderPair = ["Connection", "close, X-GW-API-Key"];
    const without = await rawCall(gatehouse.proxyUrl, { target: path, headers: [connection] });
    expect(without.status).toBe(401);
    const headers: HeaderPair[] = [connection, ["X-GW-API-Key", key]];
    const response = await rawCall(gatehouse.proxyUrl, { target: path, headers });
    expect(response.status).toBe(200);
    expect(onlyRequest(provider).headers.flat().join("\n")).not.toContain(key);
    const unknown: HeaderPair[] = [connection, ["X-GW-API-Key", `gw_${"A".repeat(43)}`]];
    expect((await rawCall(gatehouse.proxyUrl, { target: path, headers: unknown })).status).toBe(401);
  });

  test("Host and Content-Length are set once for the new request", async () => {
    const call: RawCall = { headers: [["Content-Type", "text/plain"]], body: "five!" };
    const request = await forwarded({}, {}, call);
    expect(namesOf(request).filter((name) => name === "host")).toHaveLength(1);
    expect(request.headers.filter(([name]) => /^(content-length|transfer-encoding)$/i.test(name))).toEqual([
      ["Content-Length", "5"],
    ]);
  });

  test("Cookie", async () => {
    const request = await sent([["Cookie", "session=secret"]]);
    expect(request.headers.flat().join("\n")).not.toContain("session=secret");
  });

  test("X-GW-*", async () => {
    const request = await sent([
      ["X-GW-Anything", "1"],
      ["x-gw-provider", "2"],
      ["X-GW-", "3"],
    ]);
    expect(namesOf(request).filter((name) => name.startsWith("x-gw"))).toEqual([]);
  });

  test.each([
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Port",
    "X-Forwarded-Server",
    "X-Forwarded-Prefix",
    "X-Forwarded-Client-Cert",
    "X-Real-IP",
    "X-Client-IP",
    "Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "CF-Connecting-IPv6",
    "Fastly-Client-IP",
    "Fly-Client-IP",
    "X-Cluster-Client-IP",
    "X-Original-Forwarded-For",
    "X-Envoy-External-Address",
    "X-Azure-ClientIP",
    "X-AppEngine-User-IP",
    "X-Forwarded",
    "Forwarded-For",
    "X-Originating-IP",
    "X-Remote-IP",
    "X-Remote-Addr",
    "Proxy-Client-IP",
    "WL-Proxy-Client-IP",
    "X-Vercel-Forwarded-For",
  ])("forwarding and client-IP headers: %s", async (name) => {
    const request = await sent([[name, "203.0.113.77"]]);
    expect(request.headers.flat().join("\n")).not.toContain("203.0.113.77");
  });

  test.each([
    "X_GW_API_Key",
    "X_Forwarded_For",
    "X-Forwarded_For",
    "X_Real_IP",
    "X_Api_Key",
    "Api_Key",
    "Transfer_Encoding",
    "Content_Length",
    "Proxy_Authorization",
    "True_Client-IP",
  ])("one of them spelled with an underscore: %s", async (name) => {
    const request = await sent([[name, "12345"]]);
    expect(request.headers.flat().join("\n")).not.toContain("12345");
  });

  test("client credentials if the target has a credential: Authorization, x-api-key, api-key", async () => {
    const request = await sent(
      [
        ["Authorization", "Bearer sk-client"],
        ["X-Api-Key", "sk-client"],
        ["Api-Key", "sk-client"],
      ],
      { credentials: { header_name: "X-Target-Auth", header_value: "sk-target" } },
    );
    expect(request.headers.flat().join("\n")).not.toContain("sk-client");
    expect(request.header("x-target-auth")).toBe("sk-target");
  });
});

describe("the target's headers, then its credentials, take precedence", () => {
  test("the target's headers replace the client's", async () => {
    const request = await sent(
      [
        ["X-Team", "client"],
        ["User-Agent", "client"],
      ],
      { headers: { "X-Team": "target", "user-agent": "target" } },
    );
    const both = request.headers.filter(([name]) => /^(x-team|user-agent)$/i.test(name));
    expect(both.map(([, value]) => value)).toEqual(["target", "target"]);
  });

  test("the target's credentials replace headers of the target and the client, in any case", async () => {
    const request = await sent([["X-Auth", "client"]], {
      headers: { "x-AUTH": "from headers" },
      credentials: { header_name: "X-Auth", header_value: "from credentials" },
    });
    expect(
      request.headers.filter(([name]) => name.toLowerCase() === "x-auth").map(([, value]) => value),
    ).toEqual(["from credentials"]);
  });

  test("fields that the client's Connection names are still sent for the target", async () => {
    const request = await sent([["Connection", "close, X-Team, Authorization"]], {
      headers: { "X-Team": "target" },
      credentials: { header_name: "Authorization", header_value: "Bearer sk-target" },
    });
    expect(request.header("x-team")).toBe("target");
    expect(request.header("authorization")).toBe("Bearer sk-target");
  });
});

describe("a target without credentials", () => {
  test("receives the client's provider credential", async () => {
    const own: HeaderPair[] = [
      ["Authorization", "Bearer sk-own"],
      ["x-api-key", "sk-ant-own"],
      ["api-key", "azure-own"],
    ];
    const request = await sent(own);
    for (const [name, value] of own) expect([name, request.header(name)]).toEqual([name, value]);
  });

  test("receives the client's credential next to a gateway key, never the key", async () => {
    const { path, gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { path: "/echo" })] },
    });
    const { key } = await seedKey(gatehouse, gateway);
    const own: HeaderPair = ["Authorization", "Bearer sk-own"];
    await rawCall(gatehouse.proxyUrl, { target: path, headers: [own, ["X-GW-API-Key", key]] });
    expect(onlyRequest(provider).header("authorization")).toBe("Bearer sk-own");
    expect(onlyRequest(provider).headers.flat().join("\n")).not.toContain(key);
    for (const header of [
      ["Authorization", `Bearer ${key}`],
      ["Authorization", key],
      ["Authorization", `Basic ${key}`],
      ["x-api-key", key],
      ["api-key", key],
    ] satisfies HeaderPair[]) {
      provider.reset();
      const response = await rawCall(gatehouse.proxyUrl, { target: path, headers: [header] });
      expect(response.status).toBe(200);
      expect(onlyRequest(provider).headers.flat().join("\n")).not.toContain(key);
    }
  });

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = (header: object, payload: object, secret: string) => {
    const text = `${encode(header)}.${encode(payload)}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  };
  const HS256 = { alg: "HS256", typ: "JWT" };
  const adminTokens: [string, () => string][] = [
    ["a fresh one", () => mintToken({ SERVER_SECRET_KEY: TEST_SECRET })],
    ["an expired one", () => signed(HS256, { sub: "admin", exp: 1 }, TEST_SECRET)],
    ["one not valid yet", () => signed(HS256, { sub: "admin", nbf: 9_999_999_999 }, TEST_SECRET)],
  ];

  test.each(adminTokens)("never receives an admin JWT: %s", async (_, make) => {
    const token = make();
    for (const header of [
      ["Authorization", `Bearer ${token}`],
      ["authorization", `bearer ${token}`],
      ["Authorization", token],
      ["x-api-key", token],
      ["api-key", token],
    ] satisfies HeaderPair[]) {
      const request = await sent([header]);
      expect(request.headers.flat().join("\n")).not.toContain(token);
    }
  });

  test("never receives an admin JWT next to another credential in the same header", async () => {
    const token = mintToken({ SERVER_SECRET_KEY: TEST_SECRET });
    const foreign = signed(HS256, { sub: "client" }, "another secret");
    const request = await sent([
      ["Authorization", `Bearer ${foreign}`],
      ["Authorization", `Bearer ${token}`],
    ]);
    expect(request.headers.flat().join("\n")).not.toContain(token);
  });

  test("receives a JWT of another issuer like any provider credential", async () => {
    const foreign = `Bearer ${signed(HS256, { sub: "client" }, "another secret")}`;
    expect((await sent([["Authorization", foreign]])).header("authorization")).toBe(foreign);
  });
});
