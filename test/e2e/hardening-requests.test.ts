// Attacks on routing and credentials: paths that leave their rule, headers that servers act on, and keys of the gateway that would
// reach a provider.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";
import {
  CHAT,
  onlyRequest,
  rawCall,
  rawJson,
  seedKey,
  seedRoute,
  targetAt,
} from "../support/proxy-fixtures.ts";

let provider: FakeProvider;
let gatehouse: RunningGatehouse;
let chatPath: string;
let apiKey: string;

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseOnSystemClock();
  await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, { path: "/tenants/acme" })] },
    rule: { path: "/public/*", methods: ["GET"], strip_path: true },
  });
  const chat = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  chatPath = chat.path;
  ({ key: apiKey } = await seedKey(gatehouse, chat.gateway));
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), provider.stop()]);
});
beforeEach(() => provider.reset());

describe("Host", () => {
  test.each(["a:99999", "1.2.3.256", "999.999.999.999", "[1:2]", "a b", ""])(
    "%j is 400, and no dot segment reaches the provider",
    async (host) => {
      for (const target of ["/public/../admin", "/public/x"]) {
        const call = { method: "GET", target, headers: [["Host", host]] satisfies HeaderPair[] };
        const response = await rawCall(gatehouse.proxyUrl, call);
        expect(response.status).toBe(400);
      }
      expect(provider.requests).toEqual([]);
    },
  );

  test.each(["a:99999", "1.2.3.256", "a b", "x/api/v1/gateways?", "x#", "a@b", "a, b", ""])(
    "%j is 400 on the admin listener, whatever the path",
    async (host) => {
      for (const target of [
        "/api/v1/gateways",
        "/api/api/v1/gateways",
        "/api/docs",
        "/metrics",
        "/console/",
      ]) {
        const headers: HeaderPair[] = [
          ["Host", host],
          ["Authorization", `Bearer ${gatehouse.token}`],
        ];
        const response = await rawCall(gatehouse.adminUrl, { method: "GET", target, headers });
        expect(response.status).toBe(400);
        expect(JSON.parse(String(response.body))).toMatchObject({ code: "bad_request" });
      }
    },
  );
});

describe("path", () => {
  const send = (target: string) => rawCall(gatehouse.proxyUrl, { method: "GET", target });

  test.each(["/public/../admin", "/public/%2e%2e/admin", "/public/.%2E/admin", "/public/a/../../admin"])(
    "%s is matched without its dot segments",
    async (target) => {
      expect((await send(target)).json()).toMatchObject({ code: "rule_not_found" });
      expect(provider.requests).toEqual([]);
    },
  );

  test.each([
    "/public/..%2fadmin",
    "/public/%2e%2e%2Fadmin",
    "/public/..%5cadmin",
    "/public/a%5Cb",
    "/public/..;/admin",
    "/public/..;a=b/admin",
    "/public/x%2f../admin",
    "/public/.%2f",
  ])("%s is 400 invalid_path", async (target) => {
    const response = await send(target);
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ code: "invalid_path" });
    expect(provider.requests).toEqual([]);
  });

  test.each([
    ["/public/models/meta%2Fllama", "/tenants/acme/models/meta%2Fllama"],
    ["/public/a;b=c/..d", "/tenants/acme/a;b=c/..d"],
    ["/public/a/./b/../c", "/tenants/acme/a/c"],
  ])("%s is forwarded as %s", async (target, path) => {
    await send(target);
    expect(onlyRequest(provider).target).toBe(path);
  });
});

test("headers from which servers take another method or path are not forwarded", async () => {
  const names = [
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "X-Method-Override",
    "X-Original-URL",
    "X-Rewrite-URL",
  ];
  const headers = [...names, "X_Original_Url"].map((name): HeaderPair => [name, "/admin"]);
  await rawJson(gatehouse.proxyUrl, chatPath, CHAT, [...headers, ["X-Kept", "1"]]);
  const sent = onlyRequest(provider).headers.map(([name]) => name.toLowerCase().replaceAll("_", "-"));
  expect(sent).toContain("x-kept");
  for (const name of names) expect(sent).not.toContain(name.toLowerCase());
});

test("headers that some servers take for those of the body are not forwarded", async () => {
  const headers: HeaderPair[] = [
    ["Content_Encoding", "deflate"],
    ["Content-Encoding", "identity"],
    ["Content_Type", "multipart/form-data; boundary=b"],
  ];
  await rawJson(gatehouse.proxyUrl, chatPath, CHAT, headers);
  const sent = onlyRequest(provider).headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`);
  expect(sent.filter((field) => /^content[-_](?:type|encoding)/.test(field)).sort()).toEqual([
    "content-encoding: identity",
    "content-type: application/json",
  ]);
});

describe("a credential of the gateway reaches no provider", () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  const carriers: [string, (secret: string) => HeaderPair][] = [
    ["Authorization", (secret) => ["Authorization", `Bearer ${secret}`]],
    ["Basic", (secret) => ["Authorization", basic(`user:${secret}`)]],
    ["x-goog-api-key", (secret) => ["x-goog-api-key", secret]],
    ["Ocp-Apim-Subscription-Key", (secret) => ["Ocp-Apim-Subscription-Key", secret]],
    ["any other header", (secret) => ["X-Custom-Auth", `token ${secret}`]],
  ];

  function expectAbsent(secret: string): void {
    const { headers, target, body } = onlyRequest(provider);
    const sent = JSON.stringify([headers, target, Buffer.from(body).toString()]);
    expect(sent).not.toContain(secret);
    expect(sent).not.toContain(Buffer.from(`user:${secret}`).toString("base64"));
  }

  test.each(carriers)("an API key in %s", async (_, header) => {
    const headers: HeaderPair[] = [["X-GW-API-Key", apiKey], header(apiKey)];
    expect((await rawJson(gatehouse.proxyUrl, chatPath, CHAT, headers)).status).toBe(200);
    expectAbsent(apiKey);
  });

  test.each(carriers)("an admin token in %s", async (_, header) => {
    expect((await rawJson(gatehouse.proxyUrl, chatPath, CHAT, [header(gatehouse.token)])).status).toBe(200);
    expectAbsent(gatehouse.token);
  });

  test.each(["key", "api_key", "access_token"])("either of them in the query parameter %s", async (name) => {
    for (const secret of [apiKey, gatehouse.token, encodeURIComponent(` ${apiKey}`)]) {
      provider.reset();
      await rawJson(gatehouse.proxyUrl, `${chatPath}?a=1&${name}=${secret}&b=2`, CHAT);
      expectAbsent(secret);
      expect(onlyRequest(provider).target).toEndWith("?a=1&b=2");
    }
  });

  test("a provider's own key passes, in any of these headers", async () => {
    const headers: HeaderPair[] = [
      ["Authorization", "Bearer sk-own"],
      ["x-goog-api-key", "AIza-own"],
      ["Ocp-Apim-Subscription-Key", "azure-own"],
    ];
    await rawJson(gatehouse.proxyUrl, `${chatPath}?key=own`, CHAT, headers);
    const sent = new Map(onlyRequest(provider).headers.map(([name, value]) => [name.toLowerCase(), value]));
    expect(sent.get("authorization")).toBe("Bearer sk-own");
    expect(sent.get("x-goog-api-key")).toBe("AIza-own");
    expect(sent.get("ocp-apim-subscription-key")).toBe("azure-own");
  });

  test("a target with a credential gets none of the client's", async () => {
    const credentials = { header_name: "x-goog-api-key", header_value: "AIza-target" };
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { credentials })] },
    });
    const headers: HeaderPair[] = [
      ["x-goog-api-key", "AIza-client"],
      ["Ocp-Apim-Subscription-Key", "azure-client"],
    ];
    await rawJson(gatehouse.proxyUrl, path, CHAT, headers);
    const sent = JSON.stringify(onlyRequest(provider).headers);
    expect(sent).toContain("AIza-target");
    expect(sent).not.toContain("-client");
  });
});

test("headers with which a provider would control the web server or the origin are not relayed", async () => {
  const names = [
    "X-Accel-Redirect",
    "X-Accel-Expires",
    "X-Sendfile",
    "Service-Worker-Allowed",
    "Clear-Site-Data",
  ];
  provider.behave({ headers: [...names.map((name): HeaderPair => [name, "/admin"]), ["X-Kept", "1"]] });
  const response = await rawJson(gatehouse.proxyUrl, chatPath, CHAT);
  expect(response.header("x-kept")).toBe("1");
  for (const name of names) expect(response.all(name.toLowerCase())).toEqual([]);
});

describe("a JSON body", () => {
  test.each([
    ["a duplicate model", '{"model":"gpt-fake","messages":[],"model":"other"}'],
    [
      "a model written with escapes beside another",
      '{"model":"gpt-fake","messages":[],"m\\u006fdel":"other"}',
    ],
    ["deep nesting", `{"model":"gpt-fake","messages":[],"tools":${"[".repeat(40_000)}${"]".repeat(40_000)}}`],
  ])("with %s is 400, and no provider is called", async (_what, body) => {
    const headers: HeaderPair[] = [["Content-Type", "application/json"]];
    const response = await rawCall(gatehouse.proxyUrl, { target: chatPath, headers, body });
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ code: "invalid_json" });
    expect(provider.requests).toEqual([]);
  });
});
