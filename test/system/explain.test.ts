// POST /gateways/{id}/explain over a started process: what each part reports, that an explanation counts, writes and
// sends nothing, and that it shows no secret. explain-agreement.test.ts checks that it agrees with real requests.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import { accessLines } from "../support/balancing-fixtures.ts";
import {
  startGatehouseProcess,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  limiter,
  logRecords,
  pluginsDirectory,
  postChat,
  seedPlugins,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

/** Generous, for a busy machine. */
setDefaultTimeout(60_000);

/** The source of a plugin with side effects. `declares` may mark it as explainable. */
const pluginSource = (name: string, declares: string) => `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "${name}",
    description: "Logs, counts and blocks.",
    stages: ["pre_request", "post_request"],
    ${declares}
    settings: z.strictObject({}),
    create(settings, host) {
      return {
        async pre_request(context) {
          host.log("warn", "side effect");
          const kept = host.keep("calls", () => ({ count: 0 }));
          if (!host.isExplaining) kept.count++;
          context.setHeader("x-calls", String(kept.count));
          host.blocks.add({ type: "calls", subject: "one" }, "calls:one");
          const decision = await host.counters.admit([{ key: host.instanceId, limit: 2, windowMs: 90_000, type: "calls" }], "local");
          if (!decision.admitted) context.respond({ status: 429, body: { error: "enough", code: "enough" } });
        },
        post_request() {},
      };
    },
  });`;

const directory = pluginsDirectory({
  "quiet.ts": pluginSource("quiet", "explainable: true,"),
  "loud.ts": pluginSource("loud", ""),
});
const env = { PLUGINS_DIR: directory };
const [gatehouse, provider] = await Promise.all([useGatehouseProcess({ env }), useFakeProvider()]);
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function explain(
  { gateway, path }: SeededRoute,
  request: Fields = {},
  at: GatehouseProcess = gatehouse,
): Promise<ApiResponse["body"]> {
  const body = { method: "POST", path, body: CHAT, ...request };
  const response = await at.api("POST", `/gateways/${gateway}/explain`, body);
  expect(response.body).not.toHaveProperty("error");
  expect(response.status).toBe(200);
  return response.body;
}

const plugin = (name: string, fields: Fields = {}) => ({ name, stage: "pre_request", ...fields });

describe("an explanation has no side effects", () => {
  test("counts no limit, and reports what remains as the response headers would", async () => {
    const route = await seedPlugins(gatehouse, provider, [
      limiter({ global: [2, "1m"], per_ip: [9, "36h"] }),
    ]);
    for (let times = 0; times < 5; times++) {
      const { limits, plugins, answer } = await explain(route);
      expect(limits).toEqual([
        { type: "per_ip", limit: 9, remaining: 8, reset: expect.any(String), window: "36h" },
        { type: "global", limit: 2, remaining: 1, reset: expect.any(String), window: "1m" },
      ]);
      expect(plugins).toEqual([
        { name: "rate_limiter", stage: "pre_request", verdict: "passed", detail: null },
      ]);
      expect(answer).toBeNull();
    }
    expect(provider.requestCount).toBe(0);
    for (const remaining of ["1", "0"])
      expect((await postChat(gatehouse, route)).headers.get("x-ratelimit-global-remaining")).toBe(remaining);
    const full = await explain(route);
    expect(full.plugins[0]).toMatchObject({
      verdict: "answered",
      detail: "with status 429: global limit reached",
    });
    expect(full.answer).toEqual({
      status: 429,
      code: "rate_limit_exceeded",
      error: "global rate limit exceeded",
    });
    expect(full.upstream_request).toBeNull();
    expect(full.targets).toEqual([]);
  });

  test("blocks no client, even if a request would be blocked", async () => {
    const settings = { actions: { type: "block" } };
    const route = await seedPlugins(gatehouse, provider, [limiter({ per_ip: [1, "1h"] }, settings)]);
    await postChat(gatehouse, route);
    for (let times = 0; times < 3; times++)
      expect((await explain(route)).answer).toMatchObject({ status: 403, code: "rate_limit_blocked" });
    expect((await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`)).body.count).toBe(0);
    // Another address has not used up its limit.
    expect((await explain(route, { client_address: "198.51.100.9" })).answer).toBeNull();
    expect((await postChat(gatehouse, route)).status).toBe(403);
    expect((await explain(route)).answer).toMatchObject({ code: "rate_limit_blocked" });
  });

  test("takes no turn from the targets", async () => {
    const targets = [targetAt(provider), targetAt(provider)];
    const route = await seedRoute(gatehouse, { upstream: { targets } });
    const turns: string[] = [];
    for (let times = 0; times < 4; times++) {
      for (let repeat = 0; repeat < 3; repeat++) {
        const next = (await explain(route)).targets.filter((each: { next: boolean }) => each.next);
        expect(next).toHaveLength(1);
        turns.push(next[0].id);
      }
      await (await postChat(gatehouse, route)).text();
    }
    const [a = "", , , b = ""] = turns;
    expect(a).not.toBe(b);
    expect(turns).toEqual([a, a, a, b, b, b, a, a, a, b, b, b]);
  });

  test("records no use of the key and writes no access log", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const { id, key } = await seedKey(gatehouse, route.gateway);
    const { authentication } = await explain(route, { headers: { "X-GW-API-Key": key } });
    expect(authentication).toEqual({
      required: false,
      api_key: { id, name: "key" },
      verdict: "allowed",
      reason: "the API key is valid for this rule",
    });
    // Uses are written every two seconds: once that of another key is stored, this one would be as well.
    const other = await seedKey(gatehouse, route.gateway);
    await (await postChat(gatehouse, route, { headers: { "X-GW-API-Key": other.key } })).text();
    const lastUse = async (keyId: string): Promise<string | null> =>
      (await gatehouse.api("GET", `/iam/api-keys/${keyId}`)).body.last_used_at;
    await waitFor(() => lastUse(other.id));
    expect(await lastUse(id)).toBeNull();
    expect(accessLines(gatehouse).filter((line) => line.rule === route.rule)).toHaveLength(1);
  });

  test("runs an explainable plugin, whose calls to its host have no effect", async () => {
    const route = await seedPlugins(gatehouse, provider, [plugin("quiet")]);
    for (let times = 0; times < 3; times++) {
      const { plugins, limits, upstream_request } = await explain(route);
      expect(plugins[0]).toMatchObject({ verdict: "changed", detail: "the header x-calls" });
      expect(limits).toMatchObject([{ type: "calls", limit: 2, remaining: 1, window: "90s" }]);
      expect(upstream_request.headers["x-calls"]).toBe("0");
    }
    expect(
      logRecords(gatehouse).filter((line) => line.plugin === "quiet" && line.msg === "side effect"),
    ).toEqual([]);
    expect((await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`)).body.count).toBe(0);
    // The plugin reads what real requests have kept.
    await (await postChat(gatehouse, route)).text();
    expect((await explain(route)).upstream_request.headers["x-calls"]).toBe("1");
  });

  test("does not run a plugin that is not explainable, and says so", async () => {
    const route = await seedPlugins(gatehouse, provider, [
      plugin("loud"),
      plugin("quiet", { stage: "post_request" }),
    ]);
    const { plugins, upstream_request } = await explain(route);
    expect(plugins).toEqual([
      {
        name: "loud",
        stage: "pre_request",
        verdict: "not_run",
        detail: expect.stringContaining("explainable"),
      },
      {
        name: "quiet",
        stage: "post_request",
        verdict: "not_run",
        detail: "runs on the provider's response",
      },
    ]);
    expect(upstream_request).not.toBeNull();
    expect(
      logRecords(gatehouse).filter((line) => line.plugin === "loud" && line.msg === "side effect"),
    ).toEqual([]);
  });
});

describe("an explanation reports", () => {
  test("plugins after the one that responds as not run", async () => {
    const sanitation = plugin("code_sanitation", {
      settings: {
        languages: [{ language: "sql", enabled: true }],
        content_to_check: ["body"],
        action: "block",
      },
    });
    const route = await seedPlugins(gatehouse, provider, [sanitation, limiter({ global: [5, "1m"] })]);
    const { plugins, limits, answer } = await explain(route, { body: { q: "1' UNION SELECT a FROM b--" } });
    expect(plugins.map(({ verdict }: { verdict: string }) => verdict)).toEqual(["answered", "not_run"]);
    expect(limits).toEqual([]);
    expect(answer).toMatchObject({ status: 400, code: "code_injection_detected" });
  });

  test("authentication with a missing, an unknown and a wrong key", async () => {
    const upstream = { targets: [targetAt(provider)] };
    const route = await seedRoute(gatehouse, { gateway: { require_api_key: true }, upstream });
    const other = await seedRoute(gatehouse, { gateway: route.gateway, upstream });
    const { key } = await seedKey(gatehouse, route.gateway, { policies: [other.rule] });
    const verdictOf = async (headers: Fields) => {
      const { authentication, answer, rule, plugins } = await explain(route, { headers });
      return { ...authentication, code: answer.code, reaches: rule?.id === route.rule, plugins };
    };
    const denied = { required: true, verdict: "denied", plugins: [] };
    expect(await verdictOf({})).toMatchObject({ ...denied, code: "api_key_required", reaches: true });
    expect(await verdictOf({ "X-GW-API-Key": `gw_${"a".repeat(43)}` })).toMatchObject({
      ...denied,
      code: "invalid_api_key",
      reaches: false,
    });
    expect(await verdictOf({ Authorization: `Bearer ${key}` })).toMatchObject({
      ...denied,
      code: "rule_not_allowed",
      api_key: { name: "key" },
    });
  });

  test("targets: drained, later tier, another model, unhealthy, resting, and chosen at random", async () => {
    const targets = [
      targetAt(provider, { weight: 0 }),
      targetAt(provider, { priority: 2 }),
      targetAt(provider, { models: ["m9"], default_model: "m9" }),
      targetAt(provider, { weight: 3 }),
    ];
    const health_checks = { passive: true, threshold: 1, interval: 600 };
    const upstream = { targets, health_checks, max_attempts: 1, model_routing: "prefer" };
    const route = await seedRoute(gatehouse, { upstream });
    const reportedTargets = async () => {
      const { targets: all } = await explain(route);
      return all.map(({ state, eligible, next, reason, model }: Fields) => ({
        state,
        eligible,
        next,
        reason: String(reason).replace(/\d+ s$/, "n s"),
        model,
      }));
    };
    const idle = { state: "healthy", eligible: false, next: false, model: CHAT.model };
    const drained = { ...idle, reason: "its weight is 0" };
    const serves = { ...idle, eligible: true, next: true, reason: "receives this request" };
    const otherModel = { ...idle, model: "m9", reason: "other targets serve the requested model" };
    const later = { ...idle, reason: "targets of priority 1 are used before priority 2" };
    expect(await reportedTargets()).toEqual([drained, later, otherModel, serves]);

    await postChat(gatehouse, route, { headers: { "x-fake": JSON.stringify({ status: 500 }) } });
    const out = { ...idle, state: "out", reason: "unhealthy for another n s" };
    expect(await reportedTargets()).toEqual([drained, serves, otherModel, out]);

    const limited = JSON.stringify({ rateLimited: { retryAfter: 30 } });
    await postChat(gatehouse, route, { headers: { "x-fake": limited } });
    const reason = "its provider sent 429 with Retry-After; not used for another n s";
    const resting = { ...idle, state: "resting", reason };
    const instead = { ...serves, model: "m9" };
    expect(await reportedTargets()).toEqual([drained, resting, instead, out]);

    await gatehouse.api("PATCH", `/gateways/${route.gateway}/upstreams/${route.upstream}`, {
      algorithm: "random",
      targets: [targetAt(provider), targetAt(provider, { weight: 9 })],
    });
    const { targets: random, upstream_request } = await explain(route);
    expect(random.map(({ eligible, next }: Fields) => ({ eligible, next }))).toEqual([
      { eligible: true, next: false },
      { eligible: true, next: false },
    ]);
    expect(upstream_request.target_id).toBe(random[1].id);
  });

  test("a model that no target serves, and a body that no target accepts", async () => {
    const targets = [targetAt(provider, { models: ["m1"] })];
    const strict = await seedRoute(gatehouse, { upstream: { targets, model_routing: "require" } });
    const unserved = await explain(strict);
    expect(unserved.answer).toMatchObject({ status: 404, code: "model_not_found" });
    expect(unserved.targets[0]).toMatchObject({
      eligible: false,
      reason: expect.stringContaining("model_routing"),
    });
    const byDefault = await explain(await seedRoute(gatehouse, { upstream: { targets } }));
    expect(byDefault.answer).toMatchObject({ status: 404, code: "model_not_found" });
    expect(byDefault.targets[0].reason).toBe(
      `does not serve the model ${CHAT.model}, and model_routing is null`,
    );
    const foreign = [targetAt(provider, { format: "anthropic" })];
    const translated = await seedRoute(gatehouse, { upstream: { targets: foreign } });
    const { answer, targets: explained } = await explain(translated, { body: { ...CHAT, n: 2 } });
    expect(answer).toMatchObject({ status: 400, code: "untranslatable" });
    expect(explained[0]).toMatchObject({ eligible: false, reason: expect.stringContaining("Omit n") });
  });

  test("credentials masked: those of the target and the client, and keys in other headers", async () => {
    const secret = "Bearer sk-a-secret-of-the-target";
    const named = targetAt(provider, { credentials: { header_name: "X-Special", header_value: secret } });
    const without = targetAt(provider, { priority: 2 });
    const route = await seedRoute(gatehouse, { upstream: { targets: [named, without] } });
    const headers = { "x-api-key": "sk-the-clients-own-key", "x-odd": "token sk-abcdefghijkl" };
    const text = JSON.stringify(await explain(route, { headers }));
    expect(text).toContain('"x-special":"Bea***rget"');
    expect(text).toContain('"x-odd":"token sk-***"');
    expect(text).not.toContain("a-secret-of");
    expect(text).not.toContain("clients-own");
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/upstreams/${route.upstream}`, {
      targets: [without],
    });
    expect((await explain(route, { headers })).upstream_request.headers["x-api-key"]).toBe("sk-***-key");
  });

  test("the gateway: this one without a Host header, else that of the key or Host", async () => {
    const upstream = { targets: [targetAt(provider)] };
    const rule = { path: "/shared/place" };
    const one = await seedRoute(gatehouse, { gateway: { name: "one", subdomain: "one-e" }, upstream, rule });
    const two = await seedRoute(gatehouse, { gateway: { name: "two", subdomain: "two-e" }, upstream, rule });
    expect((await explain(one)).gateway).toEqual({ id: one.gateway, name: "one" });
    const other = await explain(one, { headers: { Host: "two-e.example.com" } });
    expect(other.gateway).toEqual({ id: two.gateway, name: "two" });
    expect(other.rule.id).toBe(two.rule);
    const { key } = await seedKey(gatehouse, two.gateway);
    expect((await explain(one, { headers: { "x-gw-api-key": key } })).rule.id).toBe(two.rule);
    const ambiguous = await explain(one, { headers: { Host: "elsewhere.example.com" } });
    expect(ambiguous.answer.code).toBe("ambiguous_gateway");
    expect(ambiguous.rules).toMatchObject([
      { matched: false, reason: "matches, but a rule of another gateway matches as well" },
    ]);
    const models = await explain(one, { method: "GET", path: "/v1/models", body: null });
    expect(models.answer).toEqual({ status: 200, code: null, error: null });
    expect(models.rule).toBeNull();
    const reserved = await explain(one, { method: "GET", path: "/healthz", body: null });
    expect(reserved.answer.status).toBe(200);
    expect((await explain(one, { path: "/api/v1/gateways" })).answer.code).toBe("rule_not_found");
  });

  test("a text body unchanged, and other values as JSON", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const text = '{ "n": 12345678901234567890,\n "é": 1 }';
    const headers = { "Content-Type": "application/json" };
    expect((await explain(route, { body: text, headers })).upstream_request.body).toBe(text);
    // Without a type it is JSON all the same, and is sent as JSON.
    const untyped = await explain(route, { body: text });
    expect(untyped.upstream_request).toMatchObject({
      body: text,
      headers: { "content-type": "application/json" },
    });
    expect((await explain(route, { body: [1] })).upstream_request).toMatchObject({
      body: "[1]",
      headers: { "content-type": "application/json" },
    });
    expect((await explain(route, { body: null })).upstream_request.body).toBeNull();
  });
});

describe("validation", () => {
  test("names each invalid field", async () => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const send = (body: unknown) => gatehouse.api("POST", `/gateways/${gateway}/explain`, body);
    expectProblemsAt(await send({}), "path");
    expectProblemsAt(await send({ path: "no slash" }), "path");
    expectProblemsAt(await send({ path: "/", method: "BREW" }), "method");
    expectProblemsAt(await send({ path: "/", headers: { "a b": "c" } }), "headers.a b");
    expectProblemsAt(await send({ path: "/", headers: { a: "b\r\nc: d" } }), "headers.a");
    expectProblemsAt(await send({ path: "/", client_address: "here" }), "client_address");
    expectProblemsAt(await send({ path: "/", hedaers: {} }), "hedaers");
    expectError(await gatehouse.api("POST", "/gateways/none/explain", { path: "/" }), 404, "not_found");
  });
});

test.skipIf(!hasRedis)(
  "with shared counters, an explanation reads the limits from Redis and does not change them",
  async () => {
    const redis = await startRedis(["--appendonly", "no"]);
    // One worker: a second one would learn of the route a moment after the first has responded.
    const env = { REDIS_URL: redis.url, REDIS_SILENT_MS: "3000", WORKERS: "1" };
    const shared = await startGatehouseProcess({ env });
    try {
      const route = await seedPlugins(shared, provider, [limiter({ global: [2, "1m"] })]);
      const remaining = async () => (await explain(route, {}, shared)).limits[0].remaining;
      expect([await remaining(), await remaining()]).toEqual([1, 1]);
      expect((await postChat(shared, route)).status).toBe(200);
      expect(await remaining()).toBe(0);
      expect((await postChat(shared, route)).status).toBe(200);
      expect((await explain(route, {}, shared)).answer.code).toBe("rate_limit_exceeded");
    } finally {
      await shared.stop();
      await redis.stop();
    }
  },
  60_000,
);
