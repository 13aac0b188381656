// Section 4 of the contract, GET /v1/models: whose models are listed, to whom, and when a rule answers instead.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { rawCall, seedKey, seedRoute, targetAt, type RawResponse } from "../support/proxy-fixtures.ts";

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
let strict: GatehouseProcess;

beforeAll(async () => {
  provider = await startFakeProvider();
  [gatehouse, strict] = await Promise.all([
    startGatehouseProcess(),
    startGatehouseProcess({ env: { REQUIRE_API_KEY: "true" } }),
  ]);
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), strict.stop(), provider.stop()]);
});
/** How many gateways there are decides, so every test begins with none. */
afterEach(async () => {
  provider.reset();
  for (const { id } of (await gatehouse.api("GET", "/gateways")).body.gateways)
    expect((await gatehouse.api("DELETE", `/gateways/${id}?cascade=true`)).status).toBe(204);
});

function list(headers: readonly HeaderPair[] = [], on = gatehouse): Promise<RawResponse> {
  return rawCall(on.proxyUrl, { method: "GET", target: "/v1/models", headers });
}

/** The ids that are listed, or the code of the error. */
async function listed(headers: readonly HeaderPair[] = [], on = gatehouse): Promise<string[]> {
  const answer = await list(headers, on);
  if (answer.status !== 200) return [`${answer.status} ${answer.json().code}`];
  return (answer.json().data as { id: string }[]).map(({ id }) => id).sort();
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

describe("GET /v1/models, where no rule claims it", () => {
  test("is in OpenAI's shape, without asking any provider", async () => {
    const { gateway } = await serving(["gpt-a"]);
    const answer = await list();
    expect(answer.status).toBe(200);
    expect(answer.header("content-type")).toStartWith("application/json");
    expect(answer.header("x-request-id")).toBeString();
    const { created_at } = (await gatehouse.api("GET", `/gateways/${gateway}`)).body;
    const created = Math.floor(Date.parse(created_at) / 1000);
    expect(answer.json()).toEqual({
      object: "list",
      data: [{ id: "gpt-a", object: "model", created, owned_by: "openai" }],
    });
    expect(provider.requestCount).toBe(0);
  });

  test("lists models and default models of every target once, over all active rules", async () => {
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

  test("the only gateway serves it; with several the key or the Host decides, else it is ambiguous", async () => {
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

  test("lists to a key only what its policies let it use", async () => {
    const first = await serving(["first"]);
    await serving(["second"], { gateway: first.gateway });
    const { key } = await seedKey(gatehouse, first.gateway, { policies: [first.rule] });
    expect(await listed(withKey(key))).toEqual(["first"]);
  });

  test("asks for a key where the gateway does, and hides from others the rules that ask for one", async () => {
    const { gateway } = await serving(["open"]);
    await serving(["closed"], { gateway, rule: { require_api_key: true } });
    const { key } = await seedKey(gatehouse, gateway);
    expect(await listed()).toEqual(["open"]);
    expect(await listed(withKey(key))).toEqual(["closed", "open"]);
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { require_api_key: true });
    expect(await listed()).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key))).toEqual(["closed", "open"]);
  });

  test("asks for a key where REQUIRE_API_KEY does", async () => {
    const { gateway } = await serving(["kept"], {}, strict);
    const { key } = await seedKey(strict, gateway);
    expect(await listed([], strict)).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key), strict)).toEqual(["kept"]);
  });

  test("an unknown key is 401 here too", async () => {
    await serving(["a"]);
    expect(await listed(withKey(`gw_${"A".repeat(43)}`))).toEqual(["401 invalid_api_key"]);
  });

  test("without any gateway there is nothing to list", async () => {
    expect(await listed()).toEqual(["404 rule_not_found"]);
  });

  test("other methods and other spellings of the path are no list", async () => {
    await serving(["a"]);
    for (const [method, target] of [
      ["POST", "/v1/models"],
      ["DELETE", "/v1/models"],
      ["GET", "/v1/models/"],
      ["GET", "/v1/models/a"],
    ] as const) {
      const answer = await rawCall(gatehouse.proxyUrl, { method, target });
      expect({ method, target, code: answer.json().code }).toEqual({
        method,
        target,
        code: "rule_not_found",
      });
    }
  });
});

describe("GET /v1/models, where a rule claims it", () => {
  test.each(["/v1/models", "/v1/*", "/v1/{what}"])("the rule %s serves it", async (path) => {
    const targets = [targetAt(provider, { path: "", models: ["ours"] })];
    await seedRoute(gatehouse, { upstream: { targets }, rule: { path, methods: ["GET", "POST"] } });
    // The provider's own list.
    expect(await listed()).toEqual(["claude-fake", "gpt-fake", "gpt-fake-mini"]);
    expect(provider.requestCount).toBe(1);
  });

  test("a rule for another method, other headers or that is inactive claims nothing", async () => {
    const { gateway } = await serving(["ours"], { rule: { path: "/v1/*", methods: ["POST"] } });
    const rule = { path: "/v1/models", methods: ["GET"] };
    await serving(["ours too"], { gateway, rule: { ...rule, headers: { "x-special": "1" } } });
    await serving(["asleep"], { gateway, rule: { ...rule, active: false } });
    expect(await listed()).toEqual(["ours", "ours too"]);
    expect(provider.requestCount).toBe(0);
  });

  test("several gateways with such a rule are ambiguous; the rule of another gateway is not the caller's", async () => {
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

  test("its policies and its demand for a key hold", async () => {
    const claiming = await serving(["a"], {
      rule: { path: "/v1/models", methods: ["GET"], require_api_key: true },
    });
    const other = await serving(["b"], { gateway: claiming.gateway });
    const { key } = await seedKey(gatehouse, claiming.gateway, { policies: [other.rule] });
    expect(await listed()).toEqual(["401 api_key_required"]);
    expect(await listed(withKey(key))).toEqual(["403 rule_not_allowed"]);
  });
});
