// rate_limiter in one process: what is counted and for how long, the response headers, and rejections.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import {
  countStatuses,
  limiter,
  postChat,
  seedPlugins,
  STREAMED_CHAT,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import {
  limitHeaders,
  LIMIT_TYPES,
  startRateLimiterHarness,
  type Limits,
} from "../support/rate-limiter-fixtures.ts";

const AT_ONCE = runs({ short: 300, long: 1000 });
const { gatehouse, clock, provider, seedLimits, statusOf } = await startRateLimiterHarness();

describe("counting", () => {
  test("an admitted request is counted for all four types, a rejected request for none", async () => {
    const route = await seedLimits({
      global: [50, "1m"],
      per_ip: [40, "1m"],
      per_user: [2, "1m"],
      per_fingerprint: [30, "1m"],
    });
    const remaining = async (user: string) => {
      const { headers, status } = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["X-User-ID", user]]);
      const limits = limitHeaders(headers);
      return [status, ...LIMIT_TYPES.map((type) => Number(limits[`X-RateLimit-${type}-Remaining`]))];
    };
    expect(await remaining("ann")).toEqual([200, 29, 39, 1, 49]);
    expect(await remaining("ann")).toEqual([200, 28, 38, 0, 48]);
    for (let rejected = 0; rejected < 5; rejected++)
      expect(await remaining("ann")).toEqual([429, 28, 38, 0, 48]);
    expect(await remaining("bob")).toEqual([200, 29, 37, 1, 47]);
    expect(provider.requestCount).toBe(3);
  });

  test("the error names the first limit reached: per_fingerprint, per_ip, per_user, global", async () => {
    for (const [index, type] of LIMIT_TYPES.entries()) {
      // Limits before this one allow one more request; this one and those after it are reached.
      const limits = Object.fromEntries(
        LIMIT_TYPES.map((each, at) => [each, [at < index ? 2 : 1, "1m"] as const]),
      );
      const route = await seedLimits(limits);
      expect(await statusOf(route)).toBe(200);
      const rejected: ApiResponse["body"] = await (await postChat(gatehouse, route)).json();
      expect(rejected.error).toBe(`${type} rate limit exceeded`);
    }
  });

  test("global counts the requests of all clients of a gateway, and of no other gateway", async () => {
    const route = await seedLimits({ global: [3, "1m"] });
    const second = await seedRoute(gatehouse, {
      gateway: route.gateway,
      upstream: { targets: [targetAt(provider)] },
    });
    const other = await seedLimits({ global: [3, "1m"] });
    const client = (number: number) => ({
      "X-User-ID": `u${number}`,
      "X-Forwarded-For": `203.0.113.${number}`,
    });
    expect(await statusOf(route, client(1))).toBe(200);
    expect(await statusOf(second, client(2))).toBe(200);
    expect(await statusOf(other, client(1))).toBe(200);
    expect(await statusOf(route, client(3))).toBe(200);
    expect(await statusOf(second, client(4))).toBe(429);
    expect(await statusOf(other, client(4))).toBe(200);
  });

  test("global applies after per_ip and per_user", async () => {
    const route = await seedLimits({ global: [3, "1m"], per_ip: [2, "1m"], per_user: [2, "1m"] });
    const seen: string[] = [];
    for (const number of [1, 1, 1, 2, 3]) {
      const headers = { "X-User-ID": `u${number}`, "X-Forwarded-For": `203.0.113.${number}` };
      const response = await postChat(gatehouse, route, { headers });
      const body: ApiResponse["body"] = await response.json();
      seen.push(response.status === 200 ? "passed" : body.error);
    }
    const [ip, global] = ["per_ip rate limit exceeded", "global rate limit exceeded"];
    expect(seen).toEqual(["passed", "passed", ip, "passed", global]);
  });

  test("two rate_limiter entries count separately, and both must admit a request", async () => {
    const plugins = [limiter({ per_user: [3, "1m"] }), limiter({ per_user: [5, "1m"], global: [4, "1m"] })];
    const route = await seedPlugins(gatehouse, provider, plugins);
    const bob = { "X-User-ID": "bob" };
    const seen: number[] = [];
    for (const headers of [{}, {}, {}, {}, {}, bob, bob]) seen.push(await statusOf(route, headers));
    // With one shared count, the first three requests would reach both limits.
    expect(seen).toEqual([200, 200, 200, 429, 429, 200, 429]);
  });

  test("the window slides: each request leaves it individually", async () => {
    const route = await seedLimits({ global: [2, "3s"] });
    expect(await statusOf(route)).toBe(200);
    clock.advance(1500);
    expect(await statusOf(route)).toBe(200);
    expect(await statusOf(route)).toBe(429);
    clock.advance(1499);
    expect(await statusOf(route)).toBe(429);
    clock.advance(1);
    // The first request left the window after three seconds; rejected requests are not counted and did not delay that.
    expect(await statusOf(route)).toBe(200);
    // The second request is still in the window, so the one just admitted reaches the limit again.
    expect(await statusOf(route)).toBe(429);
  });

  test.each([
    ["7s", 7],
    ["5m", 300],
    ["3h", 10_800],
    ["2d", 172_800],
  ])("a window of %s has %d seconds", async (window, seconds) => {
    const route = await seedLimits({ global: [1, window] });
    const endsAt = Math.ceil(clock.unixNow() / 1000 + seconds);
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(limitHeaders(headers)["X-RateLimit-global-Reset"]).toBe(String(endsAt));
    const rejected: ApiResponse["body"] = await (await postChat(gatehouse, route)).json();
    expect(rejected.retry_after).toBe(String(seconds));
  });

  test("concurrent requests against a limit of 100: exactly 100 pass", async () => {
    const route = await seedLimits({ per_ip: [100, "1m"], global: [900, "1m"] });
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(route)));
    expect(countStatuses(statuses)).toEqual({ "200": 100, "429": AT_ONCE - 100 });
    expect(provider.requestCount).toBe(100);
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(limitHeaders(headers)["X-RateLimit-global-Remaining"]).toBe("800");
  }, 60_000);

  test("changing other parts of the configuration resets nothing; a changed limit applies immediately", async () => {
    const route = await seedLimits({ per_user: [3, "1m"] });
    const at = `/gateways/${route.gateway}`;
    const change = async (path: string, fields: Fields) => {
      expect((await gatehouse.api("PATCH", path, fields)).status).toBe(200);
    };
    expect(await statusOf(route)).toBe(200);
    await change(at, { name: "renamed", require_api_key: false });
    await change(`${at}/upstreams/${route.upstream}`, { algorithm: "random" });
    await change(`${at}/rules/${route.rule}`, { priority: 5 });
    await change(`${at}/services/${route.service}`, { description: "new" });
    await create(gatehouse, "/iam/api-keys", { name: "new", subject: route.gateway });
    expect(await statusOf(route)).toBe(200);
    const sanitation = {
      name: "code_sanitation",
      stage: "pre_request",
      settings: {
        languages: [{ language: "sql", enabled: true }],
        content_to_check: ["body"],
        action: "block",
      },
    };
    const limits = (limit: number, settings: Fields = {}) =>
      limiter({ per_user: [limit, "1m"] }, settings, { priority: 4 });
    await change(at, { required_plugins: [sanitation, limits(3, { actions: { retry_after: "9" } })] });
    expect(await statusOf(route)).toBe(200);
    expect(await statusOf(route)).toBe(429);
    await change(at, { required_plugins: [limits(5)] });
    expect([await statusOf(route), await statusOf(route), await statusOf(route)]).toEqual([200, 200, 429]);
    await change(at, { required_plugins: [limits(2)] });
    expect(await statusOf(route)).toBe(429);
    // While disabled, it counts nothing and keeps its counts.
    await change(at, { required_plugins: [{ ...limits(2), enabled: false }] });
    expect(await statusOf(route)).toBe(200);
    await change(at, { required_plugins: [limits(6)] });
    expect([await statusOf(route), await statusOf(route)]).toEqual([200, 429]);
  });
});

describe("headers", () => {
  const NAMES = LIMIT_TYPES.flatMap((type) =>
    ["Limit", "Remaining", "Reset"].map((what) => `X-RateLimit-${type}-${what}`),
  );
  const ALL: Limits = {
    global: [9, "1m"],
    per_ip: [9, "1m"],
    per_user: [9, "1m"],
    per_fingerprint: [9, "1m"],
  };

  test.each([
    ["a response", {}, CHAT, 200],
    ["a stream", {}, STREAMED_CHAT, 200],
    ["a provider's error", { status: 400 }, CHAT, 400],
    ["a provider's own 429", { rateLimited: { retryAfter: 3 } }, CHAT, 429],
    ["an error of the gateway", { closeBeforeAnswer: true }, CHAT, 502],
  ])("are on %s, with exact spelling", async (_what, fake, body, status) => {
    const route = await seedLimits(ALL);
    provider.behave(fake);
    const endsAt = Math.ceil(clock.unixNow() / 1000 + 60);
    const response = await rawJson(gatehouse.proxyUrl, route.path, body);
    expect(response.status).toBe(status);
    const limits = limitHeaders(response.headers.filter(([name]) => /_|global/.test(name)));
    expect(Object.keys(limits).sort()).toEqual([...NAMES].sort());
    for (const type of LIMIT_TYPES) {
      expect(limits[`X-RateLimit-${type}-Limit`]).toBe("9");
      expect(limits[`X-RateLimit-${type}-Remaining`]).toBe("8");
      expect(limits[`X-RateLimit-${type}-Reset`]).toBe(String(endsAt));
    }
  });

  test("are on rejections of both kinds, for each configured type and no other", async () => {
    for (const [type, status] of [
      ["reject", 429],
      ["block", 403],
    ] as const) {
      const route = await seedLimits({ per_user: [1, "1m"], global: [5, "1m"] }, { actions: { type } });
      await statusOf(route);
      for (let again = 0; again < 2; again++) {
        const response = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
        expect(response.status).toBe(status);
        expect(limitHeaders(response.headers)).toEqual({
          "X-RateLimit-per_user-Limit": "1",
          "X-RateLimit-per_user-Remaining": "0",
          "X-RateLimit-per_user-Reset": expect.stringMatching(/^\d{10}$/),
          "X-RateLimit-global-Limit": "5",
          "X-RateLimit-global-Remaining": "4",
          "X-RateLimit-global-Reset": expect.stringMatching(/^\d{10}$/),
        });
      }
    }
  });

  test("are on an error after the plugins ran, and on the rejection of a later plugin", async () => {
    const route = await seedPlugins(gatehouse, provider, [limiter({ global: [9, "1m"] })], {
      target: { models: ["known"] },
      upstream: { model_routing: "require" },
    });
    const unknown = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(unknown.status).toBe(404);
    expect(unknown.header("X-RateLimit-global-Remaining")).toBe("8");
    const twice = await seedPlugins(gatehouse, provider, [
      limiter({ global: [9, "1m"] }),
      limiter({ per_ip: [1, "1m"] }),
    ]);
    await statusOf(twice);
    const rejected = await rawJson(gatehouse.proxyUrl, twice.path, CHAT);
    expect([rejected.status, rejected.header("X-RateLimit-global-Remaining")]).toEqual([429, "8"]);
  });

  test.each(["first", "last"])(
    "are those of the limit with the fewest left if the %s of two entries has it",
    async (place) => {
      const tokens = (limit: number, window: string) => ({
        name: "token_limiter",
        stage: "pre_request",
        settings: { limits: { global: { limit, window } } },
      });
      const tight = [limiter({ global: [1, "1s"] }), tokens(500, "1s")];
      const wide = [limiter({ global: [9, "1m"] }), tokens(5000, "1m")];
      const plugins = place === "first" ? [...tight, ...wide] : [...wide, ...tight];
      const route = await seedPlugins(gatehouse, provider, plugins);
      for (const status of [200, 429]) {
        const response = await rawJson(gatehouse.proxyUrl, route.path, { ...CHAT, max_tokens: 20 });
        expect(response.status).toBe(status);
        const limits = limitHeaders(response.headers);
        expect(limits).toMatchObject({
          "X-RateLimit-global-Limit": "1",
          "X-RateLimit-global-Remaining": "0",
          "X-RateLimit-global_tokens-Limit": "500",
        });
        expect(limits["X-RateLimit-global_tokens-Remaining"]).toBe(
          response.header("x-ratelimit-remaining-tokens") ?? "",
        );
      }
    },
  );

  test("Reset is the time when the oldest counted request leaves the window", async () => {
    const route = await seedLimits({ global: [5, "1m"] });
    const resetOf = async () =>
      Number((await rawJson(gatehouse.proxyUrl, route.path, CHAT)).header("X-RateLimit-global-Reset"));
    const first = await resetOf();
    clock.advance(1100);
    expect(await resetOf()).toBe(first);
  });
});

describe("reject", () => {
  test("429 with the message of the specification and the configured retry_after", async () => {
    const route = await seedLimits(
      { per_user: [1, "1m"] },
      { actions: { type: "reject", retry_after: "77" } },
    );
    await statusOf(route);
    const response = await postChat(gatehouse, route);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("77");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toEqual({
      error: "per_user rate limit exceeded",
      code: "rate_limit_exceeded",
      retry_after: "77",
      request_id: response.headers.get("x-request-id"),
    });
  });

  test("without retry_after: the seconds until every reached limit allows a request, rounded up; reject is the default", async () => {
    const route = await seedLimits({ per_user: [1, "20s"], per_ip: [1, "40s"], global: [9, "90s"] });
    await statusOf(route);
    clock.advance(1100);
    const response = await postChat(gatehouse, route);
    const body: ApiResponse["body"] = await response.json();
    expect(body).toMatchObject({ error: "per_ip rate limit exceeded", code: "rate_limit_exceeded" });
    expect(body.retry_after).toBe("39");
    expect(response.headers.get("retry-after")).toBe(body.retry_after);
  });

  test("a client that waits that long is admitted", async () => {
    const route = await seedLimits({ global: [1, "1s"] });
    await statusOf(route);
    const rejected = await postChat(gatehouse, route);
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get("retry-after")).toBe("1");
    clock.advance(1000);
    expect(await statusOf(route)).toBe(200);
  });
});
