// POST /gateways/{id}/explain over a started process: what each part tells, that nothing is counted, written or called
// by asking, and that no secret is shown. That it agrees with what happens is explain-agreement.test.ts.
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { expectError, expectFaultsAt } from "../support/admin-fixtures.ts";
import { accessLines } from "../support/balancing-fixtures.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiAnswer,
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

const START_MS = 60_000;
/** A busy machine takes its time. */
setDefaultTimeout(60_000);

/** Two plugins of one mind: only one of them says that it may be asked without anything happening. */
const speaking = (name: string, declares: string) => `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "${name}",
    description: "Speaks up in the log, counts and blocks.",
    stages: ["pre_request", "post_request"],
    ${declares}
    settings: z.strictObject({}),
    create(settings, host) {
      return {
        async pre_request(context) {
          host.log("warn", "spoke up");
          const kept = host.keep("calls", () => ({ count: 0 }));
          if (!host.isExplaining) kept.count++;
          context.setHeader("x-calls", String(kept.count));
          host.blocks.add({ type: "spoken", subject: "to" }, "spoken:to");
          const decision = await host.counters.admit([{ key: host.instanceId, limit: 2, windowMs: 90_000, type: "spoken" }], "local");
          if (!decision.admitted) context.respond({ status: 429, body: { error: "enough", code: "enough" } });
        },
        post_request() {},
      };
    },
  });`;

let gatehouse: GatehouseProcess;
let provider: FakeProvider;
let directory: string;

beforeAll(async () => {
  directory = pluginsDirectory({
    "quiet.ts": speaking("quiet", "explainable: true,"),
    "loud.ts": speaking("loud", ""),
  });
  const env = { PLUGINS_DIR: directory };
  [gatehouse, provider] = await Promise.all([startGatehouseProcess({ env }), startFakeProvider()]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => provider.reset());

async function explain(
  { gateway, path }: SeededRoute,
  asked: Fields = {},
  at: GatehouseProcess = gatehouse,
): Promise<ApiAnswer["body"]> {
  const body = { method: "POST", path, body: CHAT, ...asked };
  const answer = await at.api("POST", `/gateways/${gateway}/explain`, body);
  expect(answer.body).not.toHaveProperty("error");
  expect(answer.status).toBe(200);
  return answer.body;
}

const plugin = (name: string, fields: Fields = {}) => ({ name, stage: "pre_request", ...fields });

describe("asking does nothing", () => {
  test("no limit is counted; what is left is told as the answer would", async () => {
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
    expect(full.plugins[0]).toMatchObject({ verdict: "answered", detail: "with status 429" });
    expect(full.answer).toEqual({
      status: 429,
      code: "rate_limit_exceeded",
      error: "global rate limit exceeded",
    });
    expect(full.upstream_request).toBeNull();
    expect(full.targets).toEqual([]);
  });

  test("nobody is blocked, though the answer would be a block", async () => {
    const settings = { actions: { type: "block" } };
    const route = await seedPlugins(gatehouse, provider, [limiter({ per_ip: [1, "1h"] }, settings)]);
    await postChat(gatehouse, route);
    for (let times = 0; times < 3; times++)
      expect((await explain(route)).answer).toMatchObject({ status: 403, code: "rate_limit_blocked" });
    expect((await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`)).body.count).toBe(0);
    // Another address has not used the limit up.
    expect((await explain(route, { client_address: "198.51.100.9" })).answer).toBeNull();
    expect((await postChat(gatehouse, route)).status).toBe(403);
    expect((await explain(route)).answer).toMatchObject({ code: "rate_limit_blocked" });
  });

  test("no target has its turn taken", async () => {
    const targets = [targetAt(provider), targetAt(provider)];
    const route = await seedRoute(gatehouse, { upstream: { targets } });
    const turns: string[] = [];
    for (let times = 0; times < 4; times++) {
      for (let asked = 0; asked < 3; asked++) {
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

  test("a key is not used, and no access line is written", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const { id, key } = await seedKey(gatehouse, route.gateway);
    const { authentication } = await explain(route, { headers: { "X-GW-API-Key": key } });
    expect(authentication).toEqual({
      required: false,
      api_key: { id, name: "key" },
      verdict: "allowed",
      reason: "the API key is valid for this rule",
    });
    // Uses are written every two seconds: once another key's is there, this one's would be.
    const other = await seedKey(gatehouse, route.gateway);
    await (await postChat(gatehouse, route, { headers: { "X-GW-API-Key": other.key } })).text();
    const lastUse = async (keyId: string): Promise<string | null> =>
      (await gatehouse.api("GET", `/iam/api-keys/${keyId}`)).body.last_used_at;
    await waitFor(() => lastUse(other.id));
    expect(await lastUse(id)).toBeNull();
    expect(accessLines(gatehouse).filter((line) => line.rule === route.rule)).toHaveLength(1);
  });

  test("a plugin that says it is explainable runs, and what it does to its host comes to nothing", async () => {
    const route = await seedPlugins(gatehouse, provider, [plugin("quiet")]);
    for (let times = 0; times < 3; times++) {
      const { plugins, limits, upstream_request } = await explain(route);
      expect(plugins[0]).toMatchObject({ verdict: "changed", detail: "the header x-calls" });
      expect(limits).toMatchObject([{ type: "spoken", limit: 2, remaining: 1, window: "90s" }]);
      expect(upstream_request.headers["x-calls"]).toBe("0");
    }
    expect(
      logRecords(gatehouse).filter((line) => line.plugin === "quiet" && line.msg === "spoke up"),
    ).toEqual([]);
    expect((await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`)).body.count).toBe(0);
    // What the real one keeps can be seen.
    await (await postChat(gatehouse, route)).text();
    expect((await explain(route)).upstream_request.headers["x-calls"]).toBe("1");
  });

  test("a plugin that does not say so is not run, and the reason is told", async () => {
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
        detail: "it looks at the provider's answer",
      },
    ]);
    expect(upstream_request).not.toBeNull();
    expect(logRecords(gatehouse).filter((line) => line.plugin === "loud" && line.msg === "spoke up")).toEqual(
      [],
    );
  });
});

describe("what is told", () => {
  test("plugins behind the one that answers are not run", async () => {
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

  test("authentication: a missing, an unknown and a wrong key", async () => {
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

  test("targets: drained, a later tier, another model, out, resting, and where chance decides", async () => {
    const targets = [
      targetAt(provider, { weight: 0 }),
      targetAt(provider, { priority: 2 }),
      targetAt(provider, { models: ["m9"], default_model: "m9" }),
      targetAt(provider, { weight: 3 }),
    ];
    const health_checks = { passive: true, threshold: 1, interval: 600 };
    const upstream = { targets, health_checks, max_attempts: 1 };
    const route = await seedRoute(gatehouse, { upstream });
    const told = async () => {
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
    const serves = { ...idle, eligible: true, next: true, reason: "it would be asked now" };
    const unlike = { ...idle, model: "m9", reason: "others serve the model that was asked for" };
    const later = { ...idle, reason: "targets of priority 1 come before those of 2" };
    expect(await told()).toEqual([drained, later, unlike, serves]);

    await postChat(gatehouse, route, { headers: { "x-fake": JSON.stringify({ status: 500 }) } });
    const out = { ...idle, state: "out", reason: "it is out for another n s" };
    expect(await told()).toEqual([drained, serves, unlike, out]);

    const limited = JSON.stringify({ rateLimited: { retryAfter: 30 } });
    await postChat(gatehouse, route, { headers: { "x-fake": limited } });
    const resting = { ...idle, state: "resting", reason: "it asked for a rest, of another n s" };
    const instead = { ...serves, model: "m9" };
    expect(await told()).toEqual([drained, resting, instead, out]);

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

  test("a model that nobody serves, and a body that no target can be sent", async () => {
    const targets = [targetAt(provider, { models: ["m1"] })];
    const strict = await seedRoute(gatehouse, { upstream: { targets, model_routing: "require" } });
    const unserved = await explain(strict);
    expect(unserved.answer).toMatchObject({ status: 404, code: "model_not_found" });
    expect(unserved.targets[0]).toMatchObject({
      eligible: false,
      reason: expect.stringContaining("model_routing"),
    });
    const foreign = [targetAt(provider, { format: "anthropic" })];
    const translated = await seedRoute(gatehouse, { upstream: { targets: foreign } });
    const { answer, targets: told } = await explain(translated, { body: { ...CHAT, n: 2 } });
    expect(answer).toMatchObject({ status: 400, code: "untranslatable" });
    expect(told[0]).toMatchObject({ eligible: false, reason: expect.stringContaining("leave n out") });
  });

  test("credentials are masked: the target's, the client's own, and the keys in its headers", async () => {
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

  test("which gateway: this one without a Host, else as key and Host say", async () => {
    const upstream = { targets: [targetAt(provider)] };
    const rule = { path: "/shared/place" };
    const one = await seedRoute(gatehouse, { gateway: { name: "one", subdomain: "one-e" }, upstream, rule });
    const two = await seedRoute(gatehouse, { gateway: { name: "two", subdomain: "two-e" }, upstream, rule });
    expect((await explain(one)).gateway).toEqual({ id: one.gateway, name: "one" });
    const led = await explain(one, { headers: { Host: "two-e.example.com" } });
    expect(led.gateway).toEqual({ id: two.gateway, name: "two" });
    expect(led.rule.id).toBe(two.rule);
    const { key } = await seedKey(gatehouse, two.gateway);
    expect((await explain(one, { headers: { "x-gw-api-key": key } })).rule.id).toBe(two.rule);
    const unclear = await explain(one, { headers: { Host: "elsewhere.example.com" } });
    expect(unclear.answer.code).toBe("ambiguous_gateway");
    expect(unclear.rules).toMatchObject([
      { matched: false, reason: "it fits, and so does a rule of another gateway" },
    ]);
    const models = await explain(one, { method: "GET", path: "/v1/models", body: null });
    expect(models.answer).toEqual({ status: 200, code: null, error: null });
    expect(models.rule).toBeNull();
    const reserved = await explain(one, { method: "GET", path: "/healthz", body: null });
    expect(reserved.answer.status).toBe(200);
    expect((await explain(one, { path: "/api/v1/gateways" })).answer.code).toBe("rule_not_found");
  });

  test("a body as text goes on as it is; other values as JSON", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const text = '{ "n": 12345678901234567890,\n "é": 1 }';
    const headers = { "Content-Type": "application/json" };
    expect((await explain(route, { body: text, headers })).upstream_request.body).toBe(text);
    expect((await explain(route, { body: text })).upstream_request.headers["content-type"]).toBeUndefined();
    expect((await explain(route, { body: [1] })).upstream_request).toMatchObject({
      body: "[1]",
      headers: { "content-type": "application/json" },
    });
    expect((await explain(route, { body: null })).upstream_request.body).toBeNull();
  });
});

describe("refusals", () => {
  test("what is not such a request is named", async () => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const send = (body: unknown) => gatehouse.api("POST", `/gateways/${gateway}/explain`, body);
    expectFaultsAt(await send({}), "path");
    expectFaultsAt(await send({ path: "no slash" }), "path");
    expectFaultsAt(await send({ path: "/", method: "BREW" }), "method");
    expectFaultsAt(await send({ path: "/", headers: { "a b": "c" } }), "headers.a b");
    expectFaultsAt(await send({ path: "/", headers: { a: "b\r\nc: d" } }), "headers.a");
    expectFaultsAt(await send({ path: "/", client_address: "here" }), "client_address");
    expectFaultsAt(await send({ path: "/", hedaers: {} }), "hedaers");
    expectError(await gatehouse.api("POST", "/gateways/none/explain", { path: "/" }), 404, "not_found");
  });
});

test.skipIf(!hasRedis)(
  "with shared counters the limits are read from Redis, and stay as they are",
  async () => {
    const redis = await startRedis(["--appendonly", "no"]);
    // One worker: a second one would hear of the route a moment after the first has told that it is there.
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
