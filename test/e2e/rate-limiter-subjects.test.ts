// The subject that rate_limiter counts a request for: the client address, the user, the fingerprint.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { limiter, postChat, seedPlugins, type ChatCall } from "../support/plugin-fixtures.ts";
import { create } from "../support/admin-fixtures.ts";
import { CHAT, rawJson, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { startRateLimiterHarness } from "../support/rate-limiter-fixtures.ts";

const { gatehouse, provider, seedLimits, statusOf } = await startRateLimiterHarness();

/** Returns true if two requests count for the same subject: the second exceeds a limit of one. */
async function countTogether(type: string, one: ChatCall, two: ChatCall, on = gatehouse): Promise<boolean> {
  const route = await seedPlugins(on, provider, [limiter({ [type]: [1, "1m"] })]);
  const first = await postChat(on, route, one);
  const second = await postChat(on, route, two);
  expect(first.status).toBe(200);
  return second.status === 429;
}

const from = (address: string): ChatCall => ({ headers: { "X-Forwarded-For": address } });

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
    ["another spelling of the same IPv6 address", "2001:DB8:0:0::1", "2001:db8::1", true],
    ["two addresses of one IPv6 /64", "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["addresses of two IPv6 /64", "2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["an IPv4-mapped address in hexadecimal", "::ffff:cb00:7101", "203.0.113.1", true],
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

  test("forwarding headers are ignored with TRUSTED_PROXIES=none, and accepted only from listed proxies otherwise", async () => {
    const start = (TRUSTED_PROXIES: string) => startGatehouseInProcess({ env: { TRUSTED_PROXIES } });
    const none = await start("none");
    const others = await start("203.0.113.0/24");
    const listed = await start("127.0.0.0/8,203.0.113.0/24");
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
  });
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

describe("per_key, per_label and per_model", () => {
  const keyed = (key: string, more: Record<string, string> = {}) => ({ "X-GW-API-Key": key, ...more });

  test("per_key counts by API key whatever X-User-ID says, and requests without a key together", async () => {
    const route = await seedLimits({ per_key: [1, "1m"] });
    const [one, two] = [await seedKey(gatehouse, route.gateway), await seedKey(gatehouse, route.gateway)];
    expect(await statusOf(route, keyed(one.key, { "X-User-ID": "ann" }))).toBe(200);
    expect(await statusOf(route, keyed(one.key, { "X-User-ID": "bob" }))).toBe(429);
    expect(await statusOf(route, keyed(two.key))).toBe(200);
    expect(await statusOf(route, { "X-User-ID": "ann" })).toBe(200);
    expect(await statusOf(route, { "X-User-ID": "bob" })).toBe(429);
  });

  test("per_label counts all keys with the same value together; keys without the label are not limited", async () => {
    const route = await seedLimits({ "per_label:team": [1, "1m"], global: [100, "1m"] });
    const keyOf = async (labels: Record<string, string>) =>
      (await seedKey(gatehouse, route.gateway, { labels })).key;
    const search = await keyOf({ team: "search", stage: "live" });
    const response = await postChat(gatehouse, route, { headers: keyed(search) });
    expect(response.headers.get("X-RateLimit-per_label.team-Limit")).toBe("1");
    expect(response.headers.get("X-RateLimit-per_label.team-Remaining")).toBe("0");
    const rejected = await postChat(gatehouse, route, { headers: keyed(await keyOf({ team: "search" })) });
    expect(rejected.status).toBe(429);
    expect(await rejected.json()).toMatchObject({
      error: "per_label:team rate limit exceeded",
      code: "rate_limit_exceeded",
      retry_after: "60",
    });
    expect(await statusOf(route, keyed(await keyOf({ team: "ads" })))).toBe(200);
    const unlabeled = keyed(await keyOf({ stage: "live" }));
    for (const headers of [unlabeled, unlabeled, {}, {}]) {
      const passed = await postChat(gatehouse, route, { headers });
      expect(passed.status).toBe(200);
      expect(passed.headers.has("X-RateLimit-per_label.team-Limit")).toBe(false);
      expect(passed.headers.has("X-RateLimit-global-Remaining")).toBe(true);
    }
  });

  test("per_model counts by requested model, and requests without one together", async () => {
    const route = await seedLimits({ per_model: [1, "1m"] });
    const unnamed = { messages: CHAT.messages };
    const inTurn: [unknown, number][] = [
      [CHAT, 200],
      [CHAT, 429],
      [{ ...CHAT, model: "other" }, 200],
      [unnamed, 200],
      [unnamed, 429],
      [{ ...CHAT, model: "unknown" }, 200],
    ];
    for (const [body, status] of inTurn) expect(await statusOf(route, {}, body)).toBe(status);
  });

  describe("per_model counts names that no target gets for the model that is sent instead", () => {
    const seedModels = (targets: readonly object[], upstream: object = {}) =>
      seedRoute(gatehouse, {
        gateway: { required_plugins: [limiter({ per_model: [1, "1m"] })] },
        upstream: { targets: targets.map((target) => targetAt(provider, { ...target })), ...upstream },
      });
    const statusesOf = async (route: SeededRoute, models: readonly (string | undefined)[]) => {
      const statuses: number[] = [];
      for (const model of models) statuses.push(await statusOf(route, {}, { ...CHAT, model }));
      return statuses;
    };

    test.each(["prefer", "any"])("with one default model and model_routing %p", async (model_routing) => {
      const route = await seedModels([{ default_model: "small", models: ["small", "large"] }], {
        model_routing,
      });
      const sent = ["invented 1", "invented 2", undefined, "small", "large", "large"];
      expect(await statusesOf(route, sent)).toEqual([200, 429, 429, 429, 200, 429]);
    });

    test("with several of them, together", async () => {
      const targets = [
        { default_model: "small", models: ["small"] },
        { default_model: "large", models: ["large"] },
      ];
      const route = await seedModels(targets, { model_routing: "prefer" });
      const sent = ["invented 1", "invented 2", undefined, "small", "large", "large"];
      expect(await statusesOf(route, sent)).toEqual([200, 429, 429, 200, 200, 429]);
    });

    test("and all names of a virtual model together", async () => {
      const route = await seedModels([{}]);
      const at = `/gateways/${route.gateway}/models`;
      const targets = [{ upstream: route.upstream, model: "real" }];
      await create(gatehouse, at, { name: "fast", aliases: ["quick"], targets });
      await create(gatehouse, at, { name: "any-*", targets: [{ upstream: route.upstream }] });
      const sent = ["fast", "quick", "any-1", "any-2", "real"];
      expect(await statusesOf(route, sent)).toEqual([200, 429, 200, 429, 200]);
    });

    test("whatever the content type is, and not of a compressed body", async () => {
      const route = await seedModels([{}]);
      const post = async (headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) => {
        const response = await fetch(gatehouse.proxyUrl + route.path, { method: "POST", headers, body });
        await response.bytes();
        return response.status;
      };
      const text = JSON.stringify(CHAT);
      expect(await post({ "Content-Type": "text/plain" }, text)).toBe(200);
      const large = JSON.stringify({ ...CHAT, filler: "x".repeat(2_000_000) });
      for (const type of ["application/json", "text/plain", "application/octet-stream"])
        for (const body of [text, large]) expect(await post({ "Content-Type": type }, body)).toBe(429);
      const gzip = { "Content-Type": "application/json", "Content-Encoding": "gzip" };
      expect(await post(gzip, Bun.gzipSync(text))).toBe(415);
    });

    test("a target that serves all models gets a bounded number of names with counts of their own", async () => {
      const route = await seedModels([{}, { default_model: "listed", models: ["listed"], weight: 0 }]);
      const statuses = new Map<number, number>();
      for (let sent = 0; sent < 1002; sent++) {
        const status = await statusOf(route, {}, { ...CHAT, model: `invented ${sent}` });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      // One more shares the count of models that are not known.
      expect(Object.fromEntries(statuses)).toEqual({ 200: 1001, 429: 1 });
      expect(await statusesOf(route, ["listed", "listed"])).toEqual([200, 429]);
    }, 60_000);

    test("names that are too long to be kept share one count", async () => {
      const route = await seedModels([{}]);
      const names = ["a".repeat(255), "b".repeat(255), "a".repeat(256), "b".repeat(256)];
      expect(await statusesOf(route, names)).toEqual([200, 200, 200, 429]);
    });
  });

  test("explain and blocks name them", async () => {
    const limits = { "per_label:team": [1, "1m"], per_model: [5, "1m"] } as const;
    const route = await seedLimits(limits, { actions: { type: "block" } });
    const { key } = await seedKey(gatehouse, route.gateway, { labels: { team: "search" } });
    const request = { method: "POST", path: route.path, headers: keyed(key), body: CHAT };
    const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, request);
    expect(
      body.limits.map(({ type, remaining }: { type: string; remaining: number }) => [type, remaining]),
    ).toEqual([
      ["per_label:team", 0],
      ["per_model", 4],
    ]);
    expect([await statusOf(route, keyed(key)), await statusOf(route, keyed(key))]).toEqual([200, 403]);
    const blocks = await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`);
    expect(blocks.body.blocks).toMatchObject([{ type: "per_label:team", subject: "search" }]);
  });
});
