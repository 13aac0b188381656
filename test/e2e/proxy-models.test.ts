// GET /v1/models: which models are listed for which client, and when a rule serves the path instead.
import { afterEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { rawCall, seedKey, seedRoute, targetAt, type RawResponse } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const [gatehouse, strict] = await Promise.all([
  useGatehouse(),
  useGatehouse({ env: { REQUIRE_API_KEY: "true" } }),
]);
/** The response depends on the number of gateways, so every test starts without any. */
afterEach(async () => {
  for (const { id } of (await gatehouse.api("GET", "/gateways")).body.gateways)
    expect((await gatehouse.api("DELETE", `/gateways/${id}?cascade=true`)).status).toBe(204);
});

function list(headers: readonly HeaderPair[] = [], on = gatehouse): Promise<RawResponse> {
  return rawCall(on.proxyUrl, { method: "GET", target: "/v1/models", headers });
}

/** Resolves to the listed ids, or to the code of the error. */
async function listed(headers: readonly HeaderPair[] = [], on = gatehouse): Promise<string[]> {
  const response = await list(headers, on);
  if (response.status !== 200) return [`${response.status} ${response.json().code}`];
  return (response.json().data as { id: string }[]).map(({ id }) => id).sort();
}

function serving(models: string[], seed: { gateway?: string | object; rule?: object } = {}, on = gatehouse) {
  const { gateway = {}, rule = {} } = seed;
  return seedRoute(on, {
    gateway: typeof gateway === "string" ? gateway : { ...gateway },
    upstream: { targets: [targetAt(provider, { models })] },
    rule: { ...rule },
  });
}

const withKey = (key: string): HeaderPair[] => [["X-GW-API-Key", key]];

describe("GET /v1/models without a rule for it", () => {
  test("is in OpenAI's format, without a request to a provider", async () => {
    const { gateway } = await serving(["gpt-a"]);
    const response = await list();
    expect(response.status).toBe(200);
    expect(response.header("content-type")).toStartWith("application/json");
    expect(response.header("x-request-id")).toBeString();
    const { created_at } = (await gatehouse.api("GET", `/gateways/${gateway}`)).body;
    const created = Math.floor(Date.parse(created_at) / 1000);
    expect(response.json()).toEqual({
      object: "list",
      data: [{ id: "gpt-a", object: "model", created, owned_by: "openai" }],
    });
    expect(provider.requestCount).toBe(0);
  });

  test("lists the models and default models of all active rules once", async () => {
    const targets = [
      targetAt(provider, { models: ["a", "b"], default_model: "c" }),
      targetAt(provider, { provider: "anthropic", models: ["b", "d"] }),
      targetAt(provider, { default_model: "e" }),
      targetAt(provider),
    ];
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets } });
    await serving(["f"], { gateway });
    await serving(["asleep"], { gateway, rule: { active: false } });
    expect(await listed()).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  test("is for the only gateway, else for that of the key or the Host, else it is ambiguous", async () => {
    const one = await serving(["one"], { gateway: { subdomain: "one" } });
    expect(await listed()).toEqual(["one"]);
    await serving(["two"], { gateway: { subdomain: "two" } });
    expect(await listed()).toEqual(["400 ambiguous_gateway"]);
    expect(await listed([["Host", "two.example.com"]])).toEqual(["two"]);
    const { key } = await seedKey(gatehouse, one.gateway);
    expect(await listed(withKey(key))).toEqual(["one"]);
    expect(await listed([...withKey(key), ["Host", "two.example.com"]])).toEqual(["one"]);
    expect(await listed([["Authorization", `Bearer ${key}`]])).toEqual(["one"]);
  });

  test("lists only what the policies of the key allow", async () => {
    const first = await serving(["first"]);
    await serving(["second"], { gateway: first.gateway });
    const { key } = await seedKey(gatehouse, first.gateway, { policies: [first.rule] });
    expect(await listed(withKey(key))).toEqual(["first"]);
  });

  test("requires a key if the gateway does, and hides rules that require one from other clients", async () => {
    const { gateway } = await serving(["open"]);
    await serving(["closed"], { gateway, rule: { require_api_key: true } });
    const { key } = await seedKey(gatehouse, gateway);
    expect(await listed()).toEqual(["open"]);
    expect(await listed(withKey(key))).toEqual(["closed", "open"]);
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { require_api_key: true });
    expect(await listed()).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key))).toEqual(["closed", "open"]);
  });

  test("requires a key with REQUIRE_API_KEY", async () => {
    const { gateway } = await serving(["kept"], {}, strict);
    const { key } = await seedKey(strict, gateway);
    expect(await listed([], strict)).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key), strict)).toEqual(["kept"]);
  });

  test("is 401 with an unknown key", async () => {
    await serving(["a"]);
    expect(await listed(withKey(`gw_${"A".repeat(43)}`))).toEqual(["401 invalid_api_key"]);
  });

  test("is 404 without any gateway", async () => {
    expect(await listed()).toEqual(["404 rule_not_found"]);
  });

  test("is not served for other methods and spellings of the path", async () => {
    await serving(["a"]);
    for (const [method, target] of [
      ["POST", "/v1/models"],
      ["DELETE", "/v1/models"],
      ["GET", "/v1/models/"],
      ["GET", "/v1/modelsa"],
    ] as const) {
      const response = await rawCall(gatehouse.proxyUrl, { method, target });
      expect({ method, target, code: response.json().code }).toEqual({
        method,
        target,
        code: "rule_not_found",
      });
    }
  });
});

describe("GET /v1/models with a rule for it", () => {
  test.each(["/v1/models", "/v1/*", "/v1/{what}"])("the rule %s serves it", async (path) => {
    const targets = [targetAt(provider, { path: "", models: ["ours"] })];
    await seedRoute(gatehouse, { upstream: { targets }, rule: { path, methods: ["GET", "POST"] } });
    // The provider's list.
    expect(await listed()).toEqual(["claude-fake", "gpt-fake", "gpt-fake-mini"]);
    expect(provider.requestCount).toBe(1);
  });

  test("a rule for another method or other headers, or an inactive one, does not serve it", async () => {
    const { gateway } = await serving(["ours"], { rule: { path: "/v1/*", methods: ["POST"] } });
    const rule = { path: "/v1/models", methods: ["GET"] };
    await serving(["ours too"], { gateway, rule: { ...rule, headers: { "x-special": "1" } } });
    await serving(["asleep"], { gateway, rule: { ...rule, active: false } });
    expect(await listed()).toEqual(["ours", "ours too"]);
    expect(provider.requestCount).toBe(0);
  });

  test("several gateways with such a rule are ambiguous; a rule of another gateway does not serve it", async () => {
    const claiming = { rule: { path: "/v1/models", methods: ["GET"] } };
    const first = await serving(["first"], claiming);
    const second = await serving(["second"]);
    const { key } = await seedKey(gatehouse, second.gateway);
    expect(await listed(withKey(key))).toEqual(["second"]);
    await serving(["third"], claiming);
    expect(await listed()).toEqual(["400 ambiguous_gateway"]);
    expect(provider.requestCount).toBe(0);
    expect(first.path).toBe("/v1/models");
  });

  test("the policies and require_api_key of the rule apply", async () => {
    const claiming = await serving(["a"], {
      rule: { path: "/v1/models", methods: ["GET"], require_api_key: true },
    });
    const other = await serving(["b"], { gateway: claiming.gateway });
    const { key } = await seedKey(gatehouse, claiming.gateway, { policies: [other.rule] });
    expect(await listed()).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key))).toEqual(["403 rule_not_allowed"]);
  });
});
