// Routing over real HTTP: which gateway and which rule serve a request.
import { beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { create, expectErrorShape } from "../support/admin-fixtures.ts";
import {
  rawCall,
  seedKey,
  seedRoute,
  targetAt,
  type RawResponse,
  type RawCall,
} from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const [gatehouse, withBaseDomain] = await Promise.all([
  useGatehouse(),
  useGatehouse({ env: { BASE_DOMAIN: "gw.example.com" } }),
]);

/** Creates a route whose target sends its label to the provider. */
async function route(
  label: string,
  rule: Record<string, unknown>,
  gateway: string | Record<string, unknown> = {},
  on = gatehouse,
) {
  const target = targetAt(provider, { path: "/echo", headers: { "X-Label": label } });
  return seedRoute(on, { gateway, upstream: { targets: [target] }, rule });
}

/** Resolves to the label of the route that served, or to the code of the error. */
async function servedBy(target: string, call: RawCall = {}, on = gatehouse): Promise<string> {
  return outcomeOf(await rawCall(on.proxyUrl, { target, ...call }));
}

function outcomeOf(response: RawResponse): string {
  const body = response.json();
  if (response.status !== 200) return `${response.status} ${body.code}`;
  return (body.headers as HeaderPair[]).find(([name]) => name.toLowerCase() === "x-label")?.[1] ?? "none";
}

const host = (name: string): RawCall => ({ headers: [["Host", name]] });

describe("the gateway, without BASE_DOMAIN", () => {
  let acmeKey: string;
  beforeAll(async () => {
    const acme = await route("acme", { path: "/shared" }, { subdomain: "acme" });
    await route("acme only", { path: "/only-acme" }, acme.gateway);
    await route("beta", { path: "/shared" }, { subdomain: "beta" });
    await route("a number", { path: "/shared" }, { subdomain: "127" });
    acmeKey = (await seedKey(gatehouse, acme.gateway)).key;
  });

  test("is that of X-GW-API-Key, whatever the Host is", async () => {
    for (const name of ["beta.example.com", "acme.example.com", "127.0.0.1"]) {
      const headers: HeaderPair[] = [
        ["Host", name],
        ["X-GW-API-Key", acmeKey],
      ];
      expect(await servedBy("/shared", { headers })).toBe("acme");
    }
  });

  test("with a key, only the rules of its gateway are tried", async () => {
    const other = await route("other", { path: "/only-other" });
    const { key } = await seedKey(gatehouse, other.gateway);
    expect(await servedBy("/only-acme", { headers: [["X-GW-API-Key", key]] })).toBe("404 rule_not_found");
    expect(await servedBy("/only-other", { headers: [["X-GW-API-Key", key]] })).toBe("other");
  });

  test.each([
    "acme.example.com",
    "acme.example.com:8081",
    "ACME.Example.COM",
    "acme.example.com.",
    "acme.example.com.:8081",
    "acme.localhost",
    "acme",
    "acme:1",
  ])("otherwise has the first label of the Host as its subdomain: %s", async (name) => {
    expect(await servedBy("/shared", host(name))).toBe("acme");
  });

  test.each(["127.0.0.1", "127.0.0.1:8081", "[::1]", "[::1]:8081"])(
    "is not selected by an address, which has no first label: %s",
    async (name) => {
      expect(await servedBy("/shared", host(name))).toBe("400 ambiguous_gateway");
      expect(await servedBy("/only-acme", host(name))).toBe("acme only");
    },
  );

  test("if the Host selects it, other gateways are not tried", async () => {
    expect(await servedBy("/only-acme", host("beta.example.com"))).toBe("404 rule_not_found");
  });

  test("otherwise is the only one with a matching rule", async () => {
    expect(await servedBy("/only-acme", host("unknown.example.com"))).toBe("acme only");
    expect(await servedBy("/only-acme")).toBe("acme only");
  });

  test("several are 400 ambiguous_gateway, with the advice to send the Host or a key", async () => {
    const response = await rawCall(gatehouse.proxyUrl, { target: "/shared" });
    expect(outcomeOf(response)).toBe("400 ambiguous_gateway");
    expect(response.json().error).toMatch(/Host\b.*\bkey\b/);
    expectErrorShape({
      status: response.status,
      headers: new Headers(response.headers.map(([name, value]) => [name, value])),
      body: response.json(),
    });
    expect(provider.requestCount).toBe(0);
  });

  test("several rules of one gateway are not several gateways", async () => {
    const made = await route("twice", { path: "/twice" });
    await route("twice too", { path: "/twice" }, made.gateway);
    expect(await servedBy("/twice")).toBe("twice");
  });

  test("matches only if path, method, headers and the active state match", async () => {
    await route("posts", { path: "/apart" });
    await route("gets", { path: "/apart", methods: ["GET"] });
    await route("beta testers", { path: "/apart", headers: { "x-beta": "1" } });
    await route("asleep", { path: "/apart", active: false });
    expect(await servedBy("/apart")).toBe("posts");
    expect(await servedBy("/apart", { method: "GET" })).toBe("gets");
    expect(await servedBy("/apart", { headers: [["X-Beta", "1"]] })).toBe("400 ambiguous_gateway");
    expect(await servedBy("/apart", { method: "DELETE" })).toBe("405 method_not_allowed");
  });

  test("prefixes and parameters of several gateways are ambiguous, even if one matches better", async () => {
    await route("prefix", { path: "/wide/*" });
    await route("parameter", { path: "/wide/{what}" });
    expect(await servedBy("/wide/a/b")).toBe("prefix");
    expect(await servedBy("/wide")).toBe("prefix");
    expect(await servedBy("/wide/a")).toBe("400 ambiguous_gateway");
  });

  test("a changed subdomain is in effect when the Admin API responds", async () => {
    const { gateway } = await route("moving", { path: "/shared" }, { subdomain: "before" });
    expect(await servedBy("/shared", host("before.example.com"))).toBe("moving");
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { subdomain: "after" });
    expect(await servedBy("/shared", host("after.example.com"))).toBe("moving");
    expect(await servedBy("/shared", host("before.example.com"))).toBe("400 ambiguous_gateway");
  });

  test("two Host headers are rejected", async () => {
    const headers: HeaderPair[] = [
      ["Host", "acme.example.com"],
      ["Host", "beta.example.com"],
    ];
    const response = await rawCall(gatehouse.proxyUrl, { target: "/shared", headers });
    expect(response.status).toBe(400);
    expect(provider.requestCount).toBe(0);
  });

  test("is selected by the Host, not by an absolute-form target", async () => {
    expect(await servedBy("http://beta.example.com/shared", host("acme.example.com"))).toBe("acme");
  });

  test("the admin listener also serves the data plane", async () => {
    const response = await rawCall(gatehouse.adminUrl, { target: "/only-acme" });
    expect(outcomeOf(response)).toBe("acme only");
  });
});

describe("the gateway, with BASE_DOMAIN", () => {
  beforeAll(async () => {
    await route("acme", { path: "/shared" }, { subdomain: "acme" }, withBaseDomain);
    await route("beta", { path: "/shared" }, { subdomain: "beta" }, withBaseDomain);
    await route("gw", { path: "/shared" }, { subdomain: "gw" }, withBaseDomain);
  });

  test.each([
    "acme.gw.example.com",
    "acme.gw.example.com:8081",
    "Acme.GW.example.COM",
    "acme.gw.example.com.",
    "acme.gw.example.com.:8081",
  ])("acme.BASE_DOMAIN selects the gateway with subdomain acme: %s", async (name) => {
    expect(await servedBy("/shared", host(name), withBaseDomain)).toBe("acme");
  });

  test.each([
    "acme.example.com",
    "acme",
    "gw.example.com",
    "deep.acme.gw.example.com",
    "acme.deep.gw.example.com",
    "acmegw.example.com",
    "acme-gw.example.com",
    "acme.gw.example.com.evil.test",
    "127.0.0.1",
  ])("any other Host selects no gateway: %s", async (name) => {
    expect(await servedBy("/shared", host(name), withBaseDomain)).toBe("400 ambiguous_gateway");
  });
});

describe("the rule", () => {
  test("exact beats parameters, parameters beat prefixes, the longer prefix wins, for any priority", async () => {
    const { gateway } = await route("short prefix", { path: "/p/*", priority: -3 });
    await route("long prefix", { path: "/p/v1/*", priority: -2 }, gateway);
    await route("parameters", { path: "/p/v1/{what}", priority: -1 }, gateway);
    await route("exact", { path: "/p/v1/chat", priority: 9 }, gateway);
    expect(await servedBy("/p/v1/chat")).toBe("exact");
    expect(await servedBy("/p/v1/other")).toBe("parameters");
    expect(await servedBy("/p/v1/other/deep")).toBe("long prefix");
    expect(await servedBy("/p/v1")).toBe("long prefix");
    expect(await servedBy("/p/v2")).toBe("short prefix");
    expect(await servedBy("/p")).toBe("short prefix");
  });

  test("then by priority, lowest first; then the rule with more headers; then the older one", async () => {
    const path = "/order";
    const { gateway } = await route("older", { path, priority: 5 });
    await route("younger", { path, priority: 5 }, gateway);
    await route("one header", { path, priority: 5, headers: { "x-a": "*" } }, gateway);
    await route("two headers", { path, priority: 5, headers: { "x-a": "*", "x-b": "*" } }, gateway);
    expect(await servedBy(path)).toBe("older");
    expect(await servedBy(path, { headers: [["X-A", "1"]] })).toBe("one header");
    const both: HeaderPair[] = [
      ["X-A", "1"],
      ["X-B", "1"],
    ];
    expect(await servedBy(path, { headers: both })).toBe("two headers");
    await route("lower priority", { path, priority: 4 }, gateway);
    expect(await servedBy(path, { headers: both })).toBe("lower priority");
  });

  test("all headers must be present with the given value; * matches any value", async () => {
    const { path } = await route("picky", {
      path: "/picky",
      headers: { "X-Plan": "Gold", "X-Trace": "*" },
    });
    const outcome = (...headers: HeaderPair[]) => servedBy(path, { headers });
    expect(await outcome(["x-plan", "Gold"], ["X-TRACE", "anything"])).toBe("picky");
    expect(await outcome(["X-Plan", "Gold"], ["X-Trace", ""])).toBe("picky");
    expect(await outcome(["X-Plan", "Gold"])).toBe("404 rule_not_found");
    expect(await outcome(["X-Trace", "1"])).toBe("404 rule_not_found");
    expect(await outcome(["X-Plan", "gold"], ["X-Trace", "1"])).toBe("404 rule_not_found");
    expect(await outcome(["X-Plan", "Golden"], ["X-Trace", "1"])).toBe("404 rule_not_found");
  });

  test("the best matching rule serves; a better path with the wrong method or header does not match", async () => {
    const { gateway } = await route("get only", { path: "/step/back", methods: ["GET"] });
    await route("needs a header", { path: "/step/{what}", headers: { "x-need": "1" } }, gateway);
    await route("catch all", { path: "/step/*" }, gateway);
    expect(await servedBy("/step/back")).toBe("catch all");
    expect(await servedBy("/step/back", { headers: [["X-Need", "1"]] })).toBe("needs a header");
    expect(await servedBy("/step/back", { method: "GET" })).toBe("get only");
  });

  test("/v1/* matches /v1 and everything below it; otherwise a trailing slash matters", async () => {
    const { gateway } = await route("prefix", { path: "/tree/*" });
    await route("exact", { path: "/leaf" }, gateway);
    await route("parameter", { path: "/leaves/{leaf}" }, gateway);
    for (const path of ["/tree", "/tree/", "/tree/a", "/tree/a/", "/tree/a/b?c=d"])
      expect(await servedBy(path)).toBe("prefix");
    for (const path of ["/trees", "/tre", "/leaf/", "/leaves/a/", "/leaves/", "/Leaf"])
      expect(await servedBy(path)).toBe("404 rule_not_found");
    expect(await servedBy("/leaf")).toBe("exact");
    expect(await servedBy("/leaves/a")).toBe("parameter");
  });

  test("an inactive rule does not match; an activated rule serves when the Admin API responds", async () => {
    const { path, gateway, rule } = await route("sleeper", { active: false });
    expect(await servedBy(path)).toBe("404 rule_not_found");
    await gatehouse.api("PATCH", `/gateways/${gateway}/rules/${rule}`, { active: true });
    expect(await servedBy(path)).toBe("sleeper");
    await gatehouse.api("PATCH", `/gateways/${gateway}/rules/${rule}`, { active: false });
    expect(await servedBy(path)).toBe("404 rule_not_found");
  });

  test("405 with Allow if a rule would match with another method", async () => {
    const { path, gateway } = await route("a", { path: "/methods/here", methods: ["POST", "PUT"] });
    await route("b", { path: "/methods/{x}", methods: ["DELETE"] }, gateway);
    await route("c", { path: "/methods/*", methods: ["PATCH"], headers: { "x-c": "1" } }, gateway);
    const response = await rawCall(gatehouse.proxyUrl, { method: "GET", target: path });
    expect(outcomeOf(response)).toBe("405 method_not_allowed");
    expect(response.header("allow")?.split(", ").sort()).toEqual(["DELETE", "POST", "PUT"]);
    const call: RawCall = { method: "GET", target: path, headers: [["X-C", "1"]] };
    const withHeader = await rawCall(gatehouse.proxyUrl, call);
    expect(withHeader.header("allow")?.split(", ").sort()).toEqual(["DELETE", "PATCH", "POST", "PUT"]);
    expect(provider.requestCount).toBe(0);
  });

  test("otherwise 404 rule_not_found, also if another method would lack a header", async () => {
    await route("headed", { path: "/headed", headers: { "x-h": "1" } });
    const response = await rawCall(gatehouse.proxyUrl, { method: "GET", target: "/headed" });
    expect(outcomeOf(response)).toBe("404 rule_not_found");
    expect(response.header("allow")).toBeUndefined();
    expect(await servedBy("/nowhere")).toBe("404 rule_not_found");
    expect(await servedBy("/nowhere", { method: "OPTIONS" })).toBe("404 rule_not_found");
  });

  test("reserved prefixes are whole segments and take precedence", async () => {
    const { gateway } = await route("wild", { path: "/*", methods: ["GET"], headers: { "x-wild": "1" } });
    const { key } = await seedKey(gatehouse, gateway);
    const wild: RawCall = {
      method: "GET",
      headers: [
        ["X-Wild", "1"],
        ["X-GW-API-Key", key],
      ],
    };
    for (const path of ["/", "/apiary", "/api-keys", "/consoles", "/healthzz", "/readyz.txt", "/v1/api/x"])
      expect(await servedBy(path, wild)).toBe("wild");
    provider.reset();
    for (const path of [
      "/api",
      "/api/",
      "/api/v1/gateways",
      "/console",
      "/console/x",
      "/metrics",
      "/metrics/x",
    ])
      expect(await servedBy(path, wild)).toBe("404 rule_not_found");
    expect(await servedBy("/x/../api/v1/gateways", wild)).toBe("404 rule_not_found");
    for (const path of ["/healthz", "/readyz"])
      expect((await rawCall(gatehouse.proxyUrl, { ...wild, target: path })).status).toBe(200);
    for (const path of ["/api", "/api/v1/x", "/console/x", "/metrics/x", "/healthz", "/readyz"])
      await rawCall(gatehouse.adminUrl, { ...wild, target: path });
    expect(provider.requestCount).toBe(0);
    await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
  });

  test("cannot use a reserved prefix", async () => {
    const { gateway, service } = await route("any", {});
    for (const path of ["/api", "/api/*", "/api/x/{y}", "/console/", "/metrics", "/healthz", "/readyz/x"]) {
      const response = await gatehouse.api("POST", `/gateways/${gateway}/rules`, {
        service_id: service,
        path,
        methods: ["GET"],
      });
      expect({ path, status: response.status }).toEqual({ path, status: 400 });
    }
    await create(gatehouse, `/gateways/${gateway}/rules`, {
      service_id: service,
      path: "/apis",
      methods: ["GET"],
    });
  });
});
