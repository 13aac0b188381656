// Limits of plugins and budgets of a request are one reservation: all or nothing, released by later rejections, one round trip.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";
import {
  limiter,
  pluginsDirectory,
  scripted,
  SCRIPTED_PLUGINS,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const CLAIMING = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "claiming",
    description: "Runs the code in its settings as claims hook.",
    stages: ["pre_request"],
    settings: z.strictObject({ code: z.string() }),
    create({ code }, host) {
      const hook = new Function("context", "host", code);
      return { claims: (context) => hook(context, host) };
    },
  });`;
const env = { PLUGINS_DIR: pluginsDirectory({ ...SCRIPTED_PLUGINS, "claiming.js": CLAIMING }) };
const [gatehouse, provider] = await Promise.all([useGatehouseProcess({ env }), useFakeProvider()]);

const claiming = (code: string, fields: Fields = {}): Fields => ({
  name: "claiming",
  stage: "pre_request",
  settings: { code },
  ...fields,
});

const tokenLimiter = (limits: Readonly<Record<string, number>>): Fields => ({
  name: "token_limiter",
  stage: "pre_request",
  settings: {
    limits: Object.fromEntries(
      Object.entries(limits).map(([type, limit]) => [type, { limit, window: "1h" }]),
    ),
  },
});

const seed = (plugins: readonly Fields[], on: RunningGatehouse = gatehouse) =>
  seedRoute(on, {
    gateway: {
      required_plugins: plugins,
      prices: [
        { model: "gpt-fake", per_request: "0.01" },
        { model: "other", per_request: "0.10" },
      ],
    },
    upstream: { targets: [targetAt(provider)] },
  });

const budgetOf = (route: SeededRoute, fields: Fields, on: RunningGatehouse = gatehouse) =>
  create(on, `/gateways/${route.gateway}/budgets`, { name: "team", unit: "usd", amount: "1", ...fields });

async function send(
  route: SeededRoute,
  headers: Record<string, string> = {},
  on: RunningGatehouse = gatehouse,
  model = CHAT.model,
) {
  const response = await fetch(on.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT, model }),
  });
  const body = await response.text();
  const remaining = response.headers.get("x-ratelimit-global-remaining");
  return { status: response.status, remaining, body, headers: response.headers };
}

const spent = async (route: SeededRoute, id: string) =>
  waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`);
    return Number(body.reserved) === 0 ? (body.spent as string) : null;
  });

const REJECT = 'if (context.headers.has("x-reject")) context.respond({ status: 418 });';

describe("one reservation per request", () => {
  test("a later rejection, failure or response of a plugin releases limits and budgets", async () => {
    const fail = 'if (context.headers.has("x-fail")) throw new Error("failed");';
    const route = await seed([limiter({ global: [2, "1h"] }), scripted("pre_request", REJECT + fail)]);
    const { id } = await budgetOf(route, { amount: "0.02" });
    for (let count = 0; count < 5; count++) {
      expect(await send(route, { "X-Reject": "1" })).toMatchObject({ status: 418, remaining: "1" });
      expect(await send(route, { "X-Fail": "1" })).toMatchObject({ status: 500, remaining: "1" });
    }
    expect(await spent(route, id)).toBe("0.00");
    expect(await send(route)).toMatchObject({ status: 200, remaining: "1" });
    expect(await send(route)).toMatchObject({ status: 200, remaining: "0" });
    expect(await send(route)).toMatchObject({ status: 429 });
    expect(await spent(route, id)).toBe("0.02");
  });

  test("a budget that refuses leaves the request limits as they were, and a limit leaves budgets", async () => {
    const route = await seed([limiter({ global: [3, "1h"] })]);
    const { id } = await budgetOf(route, { amount: "0.01" });
    expect(await send(route)).toMatchObject({ status: 200, remaining: "2" });
    for (let count = 0; count < 5; count++)
      expect(await send(route)).toMatchObject({ status: 402, remaining: "2" });
    expect(await spent(route, id)).toBe("0.01");
  });

  test("the first refused claim in the order of the chain decides the error, and all limits show their headers", async () => {
    const route = await seed([
      limiter({ global: [9, "1h"] }),
      scripted("pre_request", 'context.setResponseHeader("X-Between", "1");'),
      limiter({ per_ip: [1, "1h"] }),
    ]);
    await budgetOf(route, { amount: "0.01" });
    await send(route);
    const { status, headers, body } = await send(route);
    expect([status, JSON.parse(body)]).toMatchObject([429, { error: "per_ip rate limit exceeded" }]);
    expect(headers.get("x-ratelimit-global-remaining")).toBe("8");
    expect(headers.get("x-ratelimit-per_ip-remaining")).toBe("0");
    expect(headers.get("x-gw-budget-remaining")).toBe("team=0.00");
    // Not reached: the request was refused at the position of the first limiter.
    expect(headers.has("x-between")).toBe(false);
  });

  test("a model that a later plugin chooses is charged to its budget", async () => {
    const change = 'context.replaceBody(JSON.stringify({ ...context.json, model: "other" }));';
    const route = await seed([limiter({ global: [9, "1h"] }), scripted("pre_request", change)]);
    const { id } = await budgetOf(route, { amount: "0.25" });
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push((await send(route)).status);
    expect(statuses).toEqual([200, 200, 402, 402]);
    expect(await spent(route, id)).toBe("0.20");
    expect((await send(route)).remaining).toBe("6");
  });

  test("2,000 requests, 200 at a time: a limit of 100 and a budget of 100 requests are exact together", async () => {
    const route = await seed([limiter({ global: [150, "1h"] })]);
    const { id } = await budgetOf(route, { amount: "1" });
    const statuses = new Map<number, number>();
    const worker = async () => {
      for (let done = 0; done < 10; done++) {
        const { status } = await send(route);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 200 }, worker));
    expect(statuses.get(200)).toBe(100);
    expect(provider.requests).toHaveLength(100);
    expect(await spent(route, id)).toBe("1.00");
  }, 60_000);
});

describe("claims of custom plugins", () => {
  const claim = (fields: string) =>
    `{ kind: "requests", key: host.instanceId + ":all", limit: 1, windowMs: 3600000, ${fields} }`;

  test("without a decided function, a refusal is 429 with the wait", async () => {
    const route = await seed([claiming(`return { claims: [${claim('type: "calls"')}] }`)]);
    expect((await send(route)).status).toBe(200);
    const { status, headers, body } = await send(route);
    expect(status).toBe(429);
    expect(JSON.parse(body)).toMatchObject({ error: "calls limit exceeded", code: "rate_limit_exceeded" });
    expect(headers.get("retry-after")).toMatch(/^3600$|^3599$/);
  });

  test("a plugin that does not respond to its refusal is left out, and the others are reserved", async () => {
    const route = await seed([
      claiming(`return { claims: [${claim("")}], decided() {} }`),
      limiter({ global: [3, "1h"] }),
    ]);
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push((await send(route)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test.each([
    ["that throws", 'throw new Error("no claims")'],
    ["that rejects", 'return Promise.reject(new Error("no claims"))'],
    ["with a foreign key", 'return { claims: [{ kind: "requests", key: "x", limit: 1, windowMs: 1 }] }'],
    ["with equal keys", `return { claims: [${claim("")}, ${claim("")}] }`],
    ["whose decision throws", `return { claims: [${claim("")}], decided() { throw new Error("no") } }`],
  ])("a claims hook %s fails its request, or is left out with on_error continue", async (_, code) => {
    const failing = await seed([claiming(code), limiter({ global: [2, "1h"] })]);
    for (let count = 0; count < 3; count++) expect((await send(failing)).status).toBe(500);
    const continuing = await seed([claiming(code, { on_error: "continue" }), limiter({ global: [2, "1h"] })]);
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push((await send(continuing)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test("tokens are reserved while the request runs, and settled with the usage of the provider", async () => {
    const tokens =
      '{ kind: "tokens", key: host.instanceId + ":t", limit: 1000, windowMs: 3600000, amount: 900 }';
    const route = await seed([
      claiming(
        `return { claims: [${tokens}], decided(context, { states, refusedBy }) {
          context.setResponseHeader("X-Left", String(states[0].remaining));
          if (refusedBy !== -1) context.respond({ status: 429 });
        } }`,
      ),
    ]);
    expect((await send(route)).headers.get("x-left")).toBe("100");
    await waitUntil(async () => {
      const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
        method: "POST",
        path: route.path,
        body: CHAT,
      });
      return body.answer === null;
    });
    const left = Number((await send(route)).headers.get("x-left"));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(100);
  });
});

describe("limits that requests repeat", () => {
  /** Says in a header that the plugin was asked. */
  const REPEATING = `
    const estimate = context.estimateTokens();
    const amount = estimate.inputTokens + estimate.outputTokens(context.eligibleModels[0]);
    const key = host.instanceId + ":" + (context.apiKey?.id ?? "");
    return {
      claims: [{ kind: "tokens", key, limit: 3000, windowMs: 3600000, amount }],
      repeats: { names: ["repeated"], dependsOnUser: false },
      decided(context, { refusedBy, states: [{ remaining, resetAt }] }) {
        context.setResponseHeader("X-Asked", "1");
        context.reportTokenLimit({ name: "repeated", limit: 3000, remaining, resetAt });
        if (refusedBy !== -1) context.respond({ status: 429 });
      },
    };`;
  const ask = async (route: SeededRoute, key: string, fields: Fields = {}) => {
    const response = await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
      body: JSON.stringify({ ...CHAT, max_tokens: 50, ...fields }),
    });
    await response.text();
    const { headers, status } = response;
    return { status, isAsked: headers.has("x-asked"), limit: headers.get("x-ratelimit-repeated-limit") };
  };

  test("the plugin is asked once per API key and model, and when a claim does not fit", async () => {
    const route = await seed([claiming(REPEATING)]);
    const { id } = await budgetOf(route, {});
    const [first, second] = [
      await seedKey(gatehouse, route.gateway),
      await seedKey(gatehouse, route.gateway),
    ];
    const reserved = { status: 200, limit: "3000" };
    expect(await ask(route, first.key)).toEqual({ ...reserved, isAsked: true });
    expect(await ask(route, first.key)).toEqual({ ...reserved, isAsked: false });
    expect(await ask(route, first.key, { max_tokens: 60 })).toEqual({ ...reserved, isAsked: false });
    expect(await ask(route, second.key)).toEqual({ ...reserved, isAsked: true });
    expect(await ask(route, first.key)).toEqual({ ...reserved, isAsked: false });
    expect(await ask(route, first.key, { model: "other" })).toEqual({ ...reserved, isAsked: true });
    expect(await ask(route, first.key, { model: "other" })).toEqual({ ...reserved, isAsked: false });
    expect(await ask(route, first.key)).toEqual({ ...reserved, isAsked: false });
    const refused = await ask(route, first.key, { model: "other", max_tokens: 3001 });
    expect(refused).toEqual({ status: 429, isAsked: true, limit: "3000" });
    expect(await spent(route, id)).toBe("0.26");
  });

  test.each([
    ["alone", []],
    ["beside another limiter", [limiter({ global: [2, "1h"] })]],
  ])(
    "%s, repeated limits without names fail their request, or are ignored with on_error continue",
    async (_, others) => {
      const code = REPEATING.replace('["repeated"]', "[]");
      expect(code).not.toBe(REPEATING);
      const [failing, continuing] = [
        await seed([claiming(code), ...others]),
        await seed([claiming(code, { on_error: "continue" }), ...others]),
      ];
      // What a failed request has reserved is released.
      for (let count = 0; count < 3; count++) expect((await send(failing)).status).toBe(500);
      for (let count = 0; count < 2; count++) {
        const { status, headers } = await send(continuing);
        expect([status, headers.get("x-asked")]).toEqual([200, "1"]);
      }
    },
  );

  test("a changed budget is the one that counts, and an exceeded one refuses", async () => {
    const route = await seed([claiming(REPEATING)]);
    const { id } = await budgetOf(route, { amount: "0.03" });
    const { key } = await seedKey(gatehouse, route.gateway);
    for (let count = 0; count < 3; count++) expect((await ask(route, key)).status).toBe(200);
    expect(await spent(route, id)).toBe("0.03");
    expect((await ask(route, key)).status).toBe(402);
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/budgets/${id}`, { amount: "0.05" });
    expect(await ask(route, key)).toMatchObject({ status: 200, isAsked: true });
    expect(await ask(route, key)).toMatchObject({ status: 200, isAsked: false });
    expect((await ask(route, key)).status).toBe(402);
    expect(await spent(route, id)).toBe("0.05");
  });
});

describe.skipIf(!hasRedis)("on Redis", () => {
  test("rate limits, token limits and budgets, also of a virtual model, take one script call before the request is forwarded and one afterwards", async () => {
    const redis = await startRedis(["--appendonly", "no"]);
    const shared = await useGatehouseProcess({ env: { REDIS_URL: redis.url, REDIS_SILENT_MS: "1000" } });
    const route = await seed(
      [
        limiter({ global: [1000, "1h"], per_ip: [1000, "1h"] }),
        tokenLimiter({ global: 1_000_000, per_user: 1_000_000, per_ip: 1_000_000 }),
        limiter({ per_user: [1000, "1h"] }),
      ],
      shared,
    );
    await budgetOf(route, { amount: "9", warn_at: [] }, shared);
    await budgetOf(route, { name: "each", amount: "9", scope: "user", each: true, warn_at: [] }, shared);
    const calls = async () => {
      const stats = String(await redis.command("INFO", "commandstats"));
      return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
    };
    /** Resolves to the number of calls when no more follow. */
    const settledCalls = async () => {
      let before = -1;
      let unchanged = 0;
      await waitUntil(async () => {
        const now = await calls();
        unchanged = now === before ? unchanged + 1 : 0;
        before = now;
        return unchanged === 10;
      });
      return before;
    };
    const targets = [{ upstream: route.upstream, model: "gpt-fake" }];
    await create(shared, `/gateways/${route.gateway}/models`, { name: "virtual", targets });
    // Before Redis is connected, and while a busy machine makes it look silent, requests are decided without it or rejected: then measure again.
    for (const model of ["gpt-fake", "virtual"])
      await waitUntil(async () => {
        const before = await settledCalls();
        const statuses: number[] = [];
        for (let count = 0; count < 10; count++) statuses.push((await send(route, {}, shared, model)).status);
        return statuses.every((status) => status === 200) && (await settledCalls()) - before === 20;
      }, 60_000);
    await redis.stop();
  }, 120_000);
});
