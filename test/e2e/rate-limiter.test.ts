// Tests of rate_limiter in one process: the subject of a request, what is counted and for how long, the headers, and both
// actions (sections 2.7, 7 and 8 of the specification; section 7 of the contract).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { create, expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  countStatuses,
  limiter,
  postChat,
  seedPlugins,
  STREAMED_CHAT,
  type ChatCall,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";

const START_MS = 20_000;
const TYPES = ["per_fingerprint", "per_ip", "per_user", "global"] as const;
type Limits = Parameters<typeof limiter>[0];

let gatehouse: GatehouseProcess;
let provider: FakeProvider;

beforeAll(async () => {
  [gatehouse, provider] = await Promise.all([startGatehouseProcess(), startFakeProvider()]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});
beforeEach(() => provider.reset());

const seedLimits = (limits: Limits, settings: Fields = {}): Promise<SeededRoute> =>
  seedPlugins(gatehouse, provider, [limiter(limits, settings)]);

async function statusOf(
  route: SeededRoute,
  headers: Record<string, string> = {},
  body: unknown = CHAT,
): Promise<number> {
  const response = await postChat(gatehouse, route, { headers, body });
  await response.text();
  return response.status;
}

/** Returns true if two requests count for the same subject: the second exceeds a limit of one. */
async function countTogether(type: string, one: ChatCall, two: ChatCall, on = gatehouse): Promise<boolean> {
  const route = await seedPlugins(on, provider, [limiter({ [type]: [1, "1m"] })]);
  const first = await postChat(on, route, one);
  const second = await postChat(on, route, two);
  expect(first.status).toBe(200);
  return second.status === 429;
}

const from = (address: string): ChatCall => ({ headers: { "X-Forwarded-For": address } });

/** Returns the rate limit headers as spelled on the wire. */
function limitHeaders(headers: Iterable<HeaderPair>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith("X-RateLimit-")));
}

describe("per_ip", () => {
  test("is the peer address if nothing was forwarded", async () => {
    expect(await countTogether("per_ip", {}, {})).toBe(true);
    expect(await countTogether("per_ip", {}, from("127.0.0.1"))).toBe(true);
  });

  test.each([
    ["the address forwarded by a trusted peer", "203.0.113.1", "203.0.113.1", true],
    ["two forwarded addresses are counted separately", "203.0.113.1", "203.0.113.2", false],
    ["the rightmost untrusted address counts", "198.51.100.9, 203.0.113.1, 10.0.0.1", "203.0.113.1", true],
    [
      "addresses to the left of it are ignored because a client can forge them",
      "1.1.1.1, 203.0.113.1",
      "2.2.2.2, 203.0.113.1",
      true,
    ],
    ["the leftmost address does not count", "203.0.113.1, 203.0.113.2", "203.0.113.1", false],
    ["a chain of only trusted addresses ends at the first of them", "10.1.1.1, 10.0.0.1", "10.1.1.1", true],
    ["IPv6", "2001:db8::1", "[2001:db8::1]:4711", true],
    ["IPv4 through an IPv6 socket, and with a port", "::ffff:203.0.113.1", "203.0.113.1:80", true],
    ["an invalid entry ends the chain", "203.0.113.1, nonsense, 10.0.0.7", "10.0.0.7", true],
    ["a header of only invalid entries is ignored", "nonsense", "127.0.0.1", true],
  ])("%s: %s / %s", async (_what, one, two, together) => {
    expect(await countTogether("per_ip", from(one), from(two))).toBe(together);
  });

  test("X-Real-IP counts, and X-Forwarded-For has precedence", async () => {
    const real = (address: string): ChatCall => ({ headers: { "X-Real-IP": address } });
    expect(await countTogether("per_ip", real("203.0.113.1"), from("203.0.113.1"))).toBe(true);
    expect(await countTogether("per_ip", real("203.0.113.1"), real("203.0.113.2"))).toBe(false);
    const both: ChatCall = { headers: { "X-Real-IP": "203.0.113.1", "X-Forwarded-For": "203.0.113.2" } };
    expect(await countTogether("per_ip", both, from("203.0.113.2"))).toBe(true);
    expect(await countTogether("per_ip", both, real("203.0.113.1"))).toBe(false);
  });

  test("several X-Forwarded-For fields form one chain", async () => {
    const route = await seedLimits({ per_ip: [1, "1m"] });
    const lines: HeaderPair[] = [
      ["X-Forwarded-For", "198.51.100.9"],
      ["X-Forwarded-For", "203.0.113.1"],
    ];
    expect((await rawJson(gatehouse.proxyUrl, route.path, CHAT, lines)).status).toBe(200);
    expect(await statusOf(route, { "X-Forwarded-For": "203.0.113.1" })).toBe(429);
    expect(await statusOf(route, { "X-Forwarded-For": "198.51.100.9" })).toBe(200);
  });

  test(
    "forwarding headers are ignored with TRUSTED_PROXIES=none, and accepted only from listed proxies otherwise",
    async () => {
      const none = await startGatehouseProcess({ env: { TRUSTED_PROXIES: "none" } });
      const others = await startGatehouseProcess({ env: { TRUSTED_PROXIES: "203.0.113.0/24" } });
      const listed = await startGatehouseProcess({ env: { TRUSTED_PROXIES: "127.0.0.0/8,203.0.113.0/24" } });
      try {
        const real: ChatCall = { headers: { "X-Real-IP": "198.51.100.1" } };
        for (const distrusting of [none, others]) {
          expect(await countTogether("per_ip", from("198.51.100.1"), from("198.51.100.2"), distrusting)).toBe(
            true,
          );
          expect(await countTogether("per_ip", real, {}, distrusting)).toBe(true);
        }
        const [long, short] = [from("198.51.100.1, 203.0.113.8"), from("198.51.100.1")];
        expect(await countTogether("per_ip", long, short, listed)).toBe(true);
        // A private range that is not listed is not trusted.
        expect(await countTogether("per_ip", from("198.51.100.1, 10.0.0.1"), from("10.0.0.1"), listed)).toBe(
          true,
        );
      } finally {
        await Promise.all([none.stop(), others.stop(), listed.stop()]);
      }
    },
    START_MS,
  );
});

describe("per_user", () => {
  const user = (id: string): ChatCall => ({ headers: { "X-User-ID": id } });
  const bodyUser = (name: unknown): ChatCall => ({ body: { ...CHAT, user: name } });

  test("X-User-ID, else the API key, else the user of the body, else anonymous", async () => {
    const route = await seedLimits({ per_user: [1, "1m"] });
    const one = await seedKey(gatehouse, route.gateway);
    const two = await seedKey(gatehouse, route.gateway);
    const keyed = (key: string, more: Record<string, string> = {}) => ({ "X-GW-API-Key": key, ...more });
    const named = { ...CHAT, user: "bob" };
    // Each new subject has its own limit of one; the same subject again is rejected.
    const inTurn: [Record<string, string>, unknown, number][] = [
      [keyed(one.key, { "X-User-ID": "ann" }), named, 200],
      [keyed(two.key, { "X-User-ID": "ann" }), CHAT, 429],
      [{ "X-User-ID": "ann" }, CHAT, 429],
      [keyed(one.key), named, 200],
      [keyed(one.key), { ...CHAT, user: "carol" }, 429],
      [{ Authorization: `Bearer ${one.key}` }, CHAT, 429],
      [keyed(two.key), named, 200],
      [{}, named, 200],
      [{ "X-Forwarded-For": "203.0.113.77", "User-Agent": "other" }, named, 429],
      [{}, { ...CHAT, user: "carol" }, 200],
      [{}, CHAT, 200],
      [{ "X-Forwarded-For": "203.0.113.78", "User-Agent": "other" }, CHAT, 429],
      [{ "X-User-ID": "" }, { ...CHAT, user: "" }, 429],
      [{}, { ...CHAT, user: 17 }, 429],
    ];
    const seen: number[] = [];
    for (const [headers, body] of inTurn) seen.push(await statusOf(route, headers, body));
    expect(seen).toEqual(inTurn.map(([, , status]) => status));
  });

  test("namespaces are separate: a client cannot take the subject of another by choosing its name", async () => {
    expect(await countTogether("per_user", user("bob"), bodyUser("bob"))).toBe(false);
    expect(await countTogether("per_user", bodyUser("anonymous"), {})).toBe(false);
    expect(await countTogether("per_user", user("anonymous"), {})).toBe(false);
    expect(await countTogether("per_user", user("user:bob"), bodyUser("bob"))).toBe(false);
    expect(await countTogether("per_user", user("bob"), bodyUser("id:bob"))).toBe(false);
    const route = await seedLimits({ per_user: [1, "1m"] });
    const { id, key } = await seedKey(gatehouse, route.gateway);
    expect(await statusOf(route, { "X-GW-API-Key": key })).toBe(200);
    for (const forged of [id, `key:${id}`]) expect(await statusOf(route, { "X-User-ID": forged })).toBe(200);
  });

  test("names of any length are counted, and separately", async () => {
    const long = "x".repeat(5000);
    expect(await countTogether("per_user", bodyUser(long), bodyUser(long))).toBe(true);
    expect(await countTogether("per_user", bodyUser(`${long}1`), bodyUser(`${long}2`))).toBe(false);
  });
});

describe("per_fingerprint", () => {
  const BASE = {
    "X-User-ID": "ann",
    Authorization: "Bearer sk-own",
    "X-Forwarded-For": "203.0.113.5",
    "User-Agent": "tool/1",
  };

  test.each([
    ["user", { "X-User-ID": "bob" }],
    ["the client's own credential", { Authorization: "Bearer sk-other" }],
    ["IP", { "X-Forwarded-For": "203.0.113.6" }],
    ["User-Agent", { "User-Agent": "tool/2" }],
  ])("another %s gives another fingerprint", async (_what, change) => {
    expect(await countTogether("per_fingerprint", { headers: BASE }, { headers: BASE })).toBe(true);
    expect(
      await countTogether("per_fingerprint", { headers: BASE }, { headers: { ...BASE, ...change } }),
    ).toBe(false);
  });

  test("the gateway key is the credential if there is one", async () => {
    const route = await seedLimits({ per_fingerprint: [1, "1m"] });
    const [one, two] = [await seedKey(gatehouse, route.gateway), await seedKey(gatehouse, route.gateway)];
    expect(await statusOf(route, { ...BASE, "X-GW-API-Key": one.key })).toBe(200);
    expect(await statusOf(route, { ...BASE, "X-GW-API-Key": one.key, Authorization: "Bearer sk-new" })).toBe(
      429,
    );
    expect(await statusOf(route, { ...BASE, "X-GW-API-Key": two.key })).toBe(200);
  });
});

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
      return [status, ...TYPES.map((type) => Number(limits[`X-RateLimit-${type}-Remaining`]))];
    };
    expect(await remaining("ann")).toEqual([200, 29, 39, 1, 49]);
    expect(await remaining("ann")).toEqual([200, 28, 38, 0, 48]);
    for (let rejected = 0; rejected < 5; rejected++)
      expect(await remaining("ann")).toEqual([429, 28, 38, 0, 48]);
    expect(await remaining("bob")).toEqual([200, 29, 37, 1, 47]);
    expect(provider.requestCount).toBe(3);
  });

  test("the error names the first limit reached: per_fingerprint, per_ip, per_user, global", async () => {
    for (const [index, type] of TYPES.entries()) {
      // Limits before this one allow one more request; this one and those after it are reached.
      const limits = Object.fromEntries(TYPES.map((each, at) => [each, [at < index ? 2 : 1, "1m"] as const]));
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
    const startedAt = performance.now();
    expect(await statusOf(route)).toBe(200);
    await Bun.sleep(1500);
    expect(await statusOf(route)).toBe(200);
    const secondAt = performance.now();
    expect(await statusOf(route)).toBe(429);
    await waitFor(async () => ((await statusOf(route)) === 200 ? true : null), 6000);
    // The first request left the window after three seconds; rejected requests are not counted and did not delay that.
    expect(performance.now() - startedAt).toBeGreaterThan(2990);
    expect(performance.now() - secondAt).toBeLessThan(2900);
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
    const before = Date.now() / 1000;
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    const reset = Number(limitHeaders(headers)["X-RateLimit-global-Reset"]);
    expect(reset).toBeInteger();
    expect(reset - before).toBeGreaterThanOrEqual(seconds - 0.01);
    expect(reset - Date.now() / 1000).toBeLessThanOrEqual(seconds + 1);
    const rejected: ApiResponse["body"] = await (await postChat(gatehouse, route)).json();
    expect(Number(rejected.retry_after)).toBeWithin(seconds - 3, seconds + 1);
  });

  test("1,000 concurrent requests against a limit of 100: exactly 100 pass", async () => {
    const route = await seedLimits({ per_ip: [100, "1m"], global: [900, "1m"] });
    const statuses = await Promise.all(Array.from({ length: 1000 }, () => statusOf(route)));
    expect(countStatuses(statuses)).toEqual({ "200": 100, "429": 900 });
    expect(provider.requestCount).toBe(100);
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(limitHeaders(headers)["X-RateLimit-global-Remaining"]).toBe("800");
  }, 15_000);

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
  const NAMES = TYPES.flatMap((type) =>
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
    const now = Date.now() / 1000;
    const response = await rawJson(gatehouse.proxyUrl, route.path, body);
    expect(response.status).toBe(status);
    const limits = limitHeaders(response.headers.filter(([name]) => /_|global/.test(name)));
    expect(Object.keys(limits).sort()).toEqual([...NAMES].sort());
    for (const type of TYPES) {
      expect(limits[`X-RateLimit-${type}-Limit`]).toBe("9");
      expect(limits[`X-RateLimit-${type}-Remaining`]).toBe("8");
      expect(limits[`X-RateLimit-${type}-Reset`]).toMatch(/^\d{10}$/);
      expect(Number(limits[`X-RateLimit-${type}-Reset`]) - now).toBeWithin(58, 64);
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
    expect([rejected.status, rejected.header("X-RateLimit-global-Remaining")]).toEqual([429, "7"]);
  });

  test("Reset is the time when the oldest counted request leaves the window", async () => {
    const route = await seedLimits({ global: [5, "1m"] });
    const resetOf = async () =>
      Number((await rawJson(gatehouse.proxyUrl, route.path, CHAT)).header("X-RateLimit-global-Reset"));
    const first = await resetOf();
    await Bun.sleep(1100);
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
    await Bun.sleep(1100);
    const response = await postChat(gatehouse, route);
    const body: ApiResponse["body"] = await response.json();
    expect(body).toMatchObject({ error: "per_ip rate limit exceeded", code: "rate_limit_exceeded" });
    expect(body.retry_after).toBeOneOf(["39", "38", "37"]);
    expect(response.headers.get("retry-after")).toBe(body.retry_after);
  });

  test("a client that waits that long is admitted", async () => {
    const route = await seedLimits({ global: [1, "1s"] });
    await statusOf(route);
    const rejected = await postChat(gatehouse, route);
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get("retry-after")).toBe("1");
    await Bun.sleep(1000);
    expect(await statusOf(route)).toBe(200);
  });
});

describe("block", () => {
  const BLOCK = { actions: { type: "block" } };
  const blocksOf = async (gateway: string): Promise<ApiResponse["body"]> =>
    (await gatehouse.api("GET", `/gateways/${gateway}/blocks`)).body;
  const untilBlocks = (gateway: string, count: number) =>
    waitFor(async () => {
      const body = await blocksOf(gateway);
      return body.count === count ? (body.blocks as Record<string, string>[]) : null;
    }, 5000);

  test("403 with the same error and no retry_after, even after the window is over", async () => {
    const route = await seedLimits({ per_user: [1, "1s"] }, BLOCK);
    const ann = { "X-User-ID": "ann" };
    expect(await statusOf(route, ann)).toBe(200);
    for (const wait of [0, 0, 1100]) {
      await Bun.sleep(wait);
      const response = await postChat(gatehouse, route, { headers: ann });
      expect(response.status).toBe(403);
      expect(response.headers.has("retry-after")).toBe(false);
      expect(await response.json()).toEqual({
        error: "per_user rate limit exceeded",
        code: "rate_limit_blocked",
        request_id: response.headers.get("x-request-id"),
      });
    }
    expect(await statusOf(route, { "X-User-ID": "bob" })).toBe(200);
  });

  test("blocks are listed; removing one clears its count and keeps the others", async () => {
    const route = await seedLimits({ per_user: [1, "1h"], global: [90, "1h"] }, BLOCK);
    const other = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
    for (const user of ["ann", "bob"]) {
      for (const status of [200, 403]) expect(await statusOf(route, { "X-User-ID": user })).toBe(status);
    }
    const blocks = await untilBlocks(route.gateway, 2);
    for (const block of blocks) {
      expect(Object.keys(block).sort()).toEqual(["created_at", "id", "subject", "type"]);
      expect(block["type"]).toBe("per_user");
      expect(Date.parse(block["created_at"]!)).toBeWithin(Date.now() - 60_000, Date.now() + 1000);
    }
    const ann = blocks.find(({ subject }) => subject!.includes("ann"))!;
    expect(blocks.some(({ subject }) => subject!.includes("bob"))).toBe(true);

    const foreign = await gatehouse.api("DELETE", `/gateways/${other.gateway}/blocks/${ann["id"]}`);
    expectError(foreign, 404, "not_found");
    expect(await statusOf(route, { "X-User-ID": "ann" })).toBe(403);
    const lifted = await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks/${ann["id"]}`);
    expect([lifted.status, lifted.body]).toEqual([204, null]);
    // The window of an hour is not over: an admitted request shows that the count was cleared.
    expect(await statusOf(route, { "X-User-ID": "ann" })).toBe(200);
    expect(await statusOf(route, { "X-User-ID": "bob" })).toBe(403);
    expectError(
      await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks/${ann["id"]}`),
      404,
      "not_found",
    );
    expect((await untilBlocks(route.gateway, 1))[0]!["subject"]).toContain("bob");
  });

  test("all blocks of a gateway can be removed together, without those of another", async () => {
    const route = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
    const other = await seedLimits({ per_ip: [1, "1h"] }, BLOCK);
    for (const user of ["ann", "bob", "carol"]) {
      for (const status of [200, 403]) expect(await statusOf(route, { "X-User-ID": user })).toBe(status);
    }
    for (const status of [200, 403]) expect(await statusOf(other)).toBe(status);
    await untilBlocks(route.gateway, 3);
    expect((await untilBlocks(other.gateway, 1))[0]).toMatchObject({ type: "per_ip", subject: "127.0.0.1" });
    const page = (await gatehouse.api("GET", `/gateways/${route.gateway}/blocks?limit=2&offset=1`)).body;
    expect([page.count, page.limit, page.offset, page.blocks.length]).toEqual([3, 2, 1, 2]);
    expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks`)).status).toBe(204);
    expect(await blocksOf(route.gateway)).toMatchObject({ blocks: [], count: 0 });
    for (const user of ["ann", "bob", "carol"])
      expect(await statusOf(route, { "X-User-ID": user })).toBe(200);
    expect(await statusOf(other)).toBe(403);
    const missing = crypto.randomUUID();
    expectError(await gatehouse.api("GET", `/gateways/${missing}/blocks`), 404, "not_found");
    expectError(await gatehouse.api("DELETE", `/gateways/${missing}/blocks`), 404, "not_found");
  });

  test("a blocked request is not counted, and a block is created once", async () => {
    const route = await seedLimits({ per_user: [2, "1h"], global: [50, "1h"] }, BLOCK);
    await Promise.all(Array.from({ length: 40 }, () => statusOf(route)));
    await untilBlocks(route.gateway, 1);
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(limitHeaders(headers)["X-RateLimit-global-Remaining"]).toBe("48");
    expect((await blocksOf(route.gateway)).count).toBe(1);
  });

  test(
    "survives a restart, and is deleted with its gateway",
    async () => {
      const own = await startGatehouseProcess({ keepData: true });
      const route = await seedPlugins(own, provider, [limiter({ per_ip: [1, "1s"] }, BLOCK)]);
      await postChat(own, route);
      expect((await postChat(own, route)).status).toBe(403);
      await waitFor(async () =>
        (await own.api("GET", `/gateways/${route.gateway}/blocks`)).body.count === 1 ? true : null,
      );
      await own.stop();
      const again = await startGatehouseProcess({ dataDir: own.dataDir });
      try {
        expect((await postChat(again, route)).status).toBe(403);
        const { body } = await again.api("GET", `/gateways/${route.gateway}/blocks`);
        expect(body.blocks).toMatchObject([{ type: "per_ip", subject: "127.0.0.1" }]);
        expect(
          (await again.api("DELETE", `/gateways/${route.gateway}/blocks/${body.blocks[0].id}`)).status,
        ).toBe(204);
        expect((await postChat(again, route)).status).toBe(200);
        expect((await postChat(again, route)).status).toBe(403);
        await waitFor(async () =>
          (await again.api("GET", `/gateways/${route.gateway}/blocks`)).body.count === 1 ? true : null,
        );
        expect((await again.api("DELETE", `/gateways/${route.gateway}?cascade=true`)).status).toBe(204);
        expectError(await again.api("GET", `/gateways/${route.gateway}/blocks`), 404, "not_found");
      } finally {
        await again.stop();
      }
    },
    START_MS,
  );
});

describe("settings", () => {
  const createWith = (settings: unknown) =>
    gatehouse.api("POST", "/gateways", {
      name: "rejected",
      required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings }],
    });
  const at = (field: string) => `required_plugins[0].settings.${field}`;
  const global = { limit: 1, window: "1s" };

  test.each(["30", "s", "5 m", "-1s", "0s", "1.5h", "1w", "1S", "367d", ""])(
    "rejects a window of %p",
    async (window) => {
      expectProblemsAt(
        await createWith({ limits: { global: { limit: 1, window } } }),
        at("limits.global.window"),
      );
    },
  );

  test.each([0, -1, 1.5, "5", null])("rejects a limit of %p", async (limit) => {
    expectProblemsAt(
      await createWith({ limits: { per_ip: { limit, window: "1s" } } }),
      at("limits.per_ip.limit"),
    );
  });

  test("rejects unknown fields, missing limits and unknown values by field name", async () => {
    expectProblemsAt(await createWith({ limits: {} }), at("limits"));
    expectProblemsAt(await createWith({}), at("limits"));
    expectProblemsAt(await createWith({ limits: { global, per_country: global } }), at("limits.per_country"));
    expectProblemsAt(
      await createWith({ limits: { global: { ...global, burst: 2 } } }),
      at("limits.global.burst"),
    );
    expectProblemsAt(await createWith({ limits: { global }, actions: { type: "ban" } }), at("actions.type"));
    expectProblemsAt(
      await createWith({ limits: { global }, actions: { retry_after: "soon" } }),
      at("actions.retry_after"),
    );
    expectProblemsAt(
      await createWith({ limits: { global }, on_store_failure: "panic" }),
      at("on_store_failure"),
    );
  });
});

describe("a change of the plugin list", () => {
  const perUser = limiter({ per_user: [50, "1h"] });
  const perIp = limiter({ per_ip: [1, "1h"] });

  test("keeps the counts of every entry, whatever its position", async () => {
    const route = await seedPlugins(gatehouse, provider, [perUser, perIp]);
    expect([await statusOf(route), await statusOf(route)]).toEqual([200, 429]);
    for (const required_plugins of [[perIp, perUser], [perIp], [limiter({ global: [9, "1m"] }), perIp]]) {
      expect((await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins })).status).toBe(
        200,
      );
      expect(await statusOf(route)).toBe(429);
    }
  });

  test("keeps internal ids that the API does not show", async () => {
    const { gateway } = await seedPlugins(gatehouse, provider, [perIp]);
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}`);
    expect(Object.keys(body.required_plugins[0]).sort()).toEqual([
      "enabled",
      "name",
      "on_error",
      "priority",
      "settings",
      "stage",
    ]);
  });
});

test(
  "removing a block clears the count in every process, even without a shared Redis",
  async () => {
    const other = await startGatehouseProcess({ dataDir: gatehouse.dataDir, keepData: true });
    const revision = async (at: GatehouseProcess) =>
      ((await (await fetch(`${at.adminUrl}/readyz`)).json()) as { revision: number }).revision;
    const caughtUp = () =>
      waitFor(async () => ((await revision(other)) >= (await revision(gatehouse)) ? true : null));
    try {
      const route = await seedLimits({ per_ip: [1, "1h"] }, { actions: { type: "block" } });
      const send = async (at: GatehouseProcess) => (await postChat(at, route, {})).status;
      const blocks = `/gateways/${route.gateway}/blocks`;
      await caughtUp();
      expect([await send(other), await send(gatehouse), await send(gatehouse)]).toEqual([200, 200, 403]);
      await waitFor(async () => ((await gatehouse.api("GET", blocks)).body.count === 1 ? true : null));
      await caughtUp();
      expect(await send(other)).toBe(403);
      expect((await gatehouse.api("DELETE", blocks)).status).toBe(204);
      await caughtUp();
      expect([await send(other), await send(gatehouse)]).toEqual([200, 200]);
    } finally {
      await other.stop();
    }
  },
  START_MS,
);
