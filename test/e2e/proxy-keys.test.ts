// API keys: which requests are accepted or rejected, how, and from which moment on.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  onlyRequest,
  rawCall,
  seedKey,
  seedRoute,
  targetAt,
  type RawResponse,
  type SeededRoute,
} from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const provider = await startFakeProvider();
const gatehouse = await startGatehouseInProcess();
const { clock } = gatehouse;
const strict = await startGatehouseInProcess({ env: { REQUIRE_API_KEY: "true" } });

afterAll(async () => {
  await Promise.all([gatehouse.stop(), strict.stop(), provider.stop()]);
});
beforeEach(() => provider.reset());

const UNKNOWN_KEY = `gw_${"A".repeat(43)}`;
const CREDENTIALS = { header_name: "Authorization", header_value: "Bearer sk-of-the-target" };

/** In the future for the Admin API, which uses the system's date, and for the gateway's clock. */
const inOneHour = () => new Date(Math.max(Date.now(), clock.unixNow()) + 3_600_000).toISOString();
const timeUntil = (date: string) => Date.parse(date) - clock.unixNow();

function route(
  fields: { gateway?: string | Record<string, unknown>; rule?: Record<string, unknown> } = {},
  on = gatehouse,
): Promise<SeededRoute> {
  const targets = [targetAt(provider, { path: "/echo", credentials: CREDENTIALS })];
  return seedRoute(on, { upstream: { targets }, ...fields });
}

async function outcome(path: string, headers: readonly HeaderPair[] = [], on = gatehouse): Promise<string> {
  return outcomeOf(await rawCall(on.proxyUrl, { target: path, headers }));
}

function outcomeOf(response: RawResponse): string {
  return response.status === 200 ? "served" : `${response.status} ${response.json().code}`;
}

const withKey = (key: string): HeaderPair[] => [["X-GW-API-Key", key]];

describe("an API key", () => {
  test("that is valid is accepted", async () => {
    const { gateway, path } = await route();
    const { key } = await seedKey(gatehouse, gateway);
    expect(await outcome(path, withKey(key))).toBe("served");
  });

  test.each([
    UNKNOWN_KEY,
    "gw_short",
    "nonsense",
    "",
    `${UNKNOWN_KEY}x`,
    "gw_%00",
    "constructor",
    `${UNKNOWN_KEY}, ${UNKNOWN_KEY}`,
  ])("that is unknown is 401, even if no key is required: %p", async (key) => {
    const { path } = await route();
    const response = await rawCall(gatehouse.proxyUrl, { target: path, headers: withKey(key) });
    expect(outcomeOf(response)).toBe("401 invalid_api_key");
    expect(provider.requestCount).toBe(0);
  });

  test("that differs in one character, or in case, is unknown", async () => {
    const { gateway, path } = await route();
    const { key } = await seedKey(gatehouse, gateway);
    const other = key.endsWith("A") ? "B" : "A";
    expect(await outcome(path, withKey(key.slice(0, -1) + other))).toBe("401 invalid_api_key");
    expect(await outcome(path, withKey(key.toUpperCase()))).toBe("401 invalid_api_key");
    expect(await outcome(path, withKey(key.slice(3)))).toBe("401 invalid_api_key");
  });

  test("is checked before the rule: an unknown key is 401 on a path without a rule", async () => {
    expect(await outcome("/nowhere-at-all", withKey(UNKNOWN_KEY))).toBe("401 invalid_api_key");
  });

  test("is accepted until the second it expires, and is 401 from then on", async () => {
    const { gateway, path } = await route();
    const expiresAt = inOneHour();
    const { key } = await seedKey(gatehouse, gateway, { expires_at: expiresAt });
    clock.advance(timeUntil(expiresAt) - 1);
    expect(await outcome(path, withKey(key))).toBe("served");
    clock.advance(1);
    expect(await outcome(path, withKey(key))).toBe("401 invalid_api_key");
  });

  test("whose expiry is moved stays valid; without an expiry it never expires", async () => {
    const { gateway, path } = await route();
    const soon = inOneHour();
    const { id, key } = await seedKey(gatehouse, gateway, { expires_at: soon });
    await gatehouse.api("PATCH", `/iam/api-keys/${id}`, { expires_at: null });
    clock.advance(timeUntil(soon));
    expect(await outcome(path, withKey(key))).toBe("served");
  });

  test("that is revoked is 401 at once, from the first request after the Admin API has responded", async () => {
    const { gateway, path } = await route();
    for (let round = 0; round < 10; round++) {
      const { id, key } = await seedKey(gatehouse, gateway);
      expect(await outcome(path, withKey(key))).toBe("served");
      expect((await gatehouse.api("DELETE", `/iam/api-keys/${id}`)).status).toBe(204);
      expect(await outcome(path, withKey(key))).toBe("401 invalid_api_key");
    }
  });

  test("that is rotated is invalid at once, and the new one is valid at once", async () => {
    const { gateway, path } = await route();
    const { id, key } = await seedKey(gatehouse, gateway);
    const rotated = await gatehouse.api("POST", `/iam/api-keys/${id}/rotate`);
    expect(rotated.status).toBe(200);
    expect(await outcome(path, withKey(key))).toBe("401 invalid_api_key");
    expect(await outcome(path, withKey(rotated.body.key))).toBe("served");
  });

  test("of a deleted gateway is 401", async () => {
    const { gateway, path } = await route();
    const { key } = await seedKey(gatehouse, gateway);
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`)).status).toBe(204);
    expect(await outcome(path, withKey(key))).toBe("401 invalid_api_key");
  });
});

describe("policies", () => {
  test("403 if the rule is not among the policies of a valid key", async () => {
    const allowed = await route();
    const other = await route({ gateway: allowed.gateway });
    const { key } = await seedKey(gatehouse, allowed.gateway, { policies: [allowed.rule] });
    expect(await outcome(allowed.path, withKey(key))).toBe("served");
    expect(await outcome(other.path, withKey(key))).toBe("403 rule_not_allowed");
    expect(provider.requestCount).toBe(1);
  });

  test("no policies allow every rule of the gateway, also later ones", async () => {
    const first = await route();
    const { key } = await seedKey(gatehouse, first.gateway);
    const later = await route({ gateway: first.gateway });
    expect(await outcome(first.path, withKey(key))).toBe("served");
    expect(await outcome(later.path, withKey(key))).toBe("served");
  });

  test("changed policies are in effect when the Admin API responds", async () => {
    const first = await route();
    const second = await route({ gateway: first.gateway });
    const { id, key } = await seedKey(gatehouse, first.gateway, { policies: [first.rule] });
    await gatehouse.api("PATCH", `/iam/api-keys/${id}`, { policies: [second.rule] });
    expect(await outcome(first.path, withKey(key))).toBe("403 rule_not_allowed");
    expect(await outcome(second.path, withKey(key))).toBe("served");
  });

  test("do not select another rule: the best match decides, then the policies", async () => {
    const exact = await route({ rule: { path: "/policy/exact" } });
    const prefix = await route({ gateway: exact.gateway, rule: { path: "/policy/*" } });
    const { key } = await seedKey(gatehouse, exact.gateway, { policies: [prefix.rule] });
    expect(await outcome("/policy/exact", withKey(key))).toBe("403 rule_not_allowed");
    expect(await outcome("/policy/other", withKey(key))).toBe("served");
  });
});

describe("a missing key", () => {
  test.each([
    // gateway, rule, result of a request without a key
    [false, null, "served"],
    [true, null, "401 api_key_required"],
    [false, true, "401 api_key_required"],
    [true, false, "served"],
    [true, true, "401 api_key_required"],
    [false, false, "served"],
  ] as const)("gateway %p, rule %p: %s", async (gatewayRequires, ruleRequires, expected) => {
    const { gateway, path } = await route({
      gateway: { require_api_key: gatewayRequires },
      rule: { require_api_key: ruleRequires },
    });
    expect(await outcome(path)).toBe(expected);
    const { key } = await seedKey(gatehouse, gateway);
    expect(await outcome(path, withKey(key))).toBe("served");
  });

  test("REQUIRE_API_KEY requires one for every rule, even if the rule says false", async () => {
    for (const ruleRequires of [null, false, true]) {
      const { gateway, path } = await route({ rule: { require_api_key: ruleRequires } }, strict);
      expect(await outcome(path, [], strict)).toBe("401 api_key_required");
      const { key } = await seedKey(strict, gateway);
      expect(await outcome(path, withKey(key), strict)).toBe("served");
    }
  });

  test("is not replaced by a provider's key or an admin token", async () => {
    const { path } = await route({ rule: { require_api_key: true } });
    expect(await outcome(path, [["Authorization", "Bearer sk-real"]])).toBe("401 api_key_required");
    expect(await outcome(path, [["Authorization", `Bearer ${gatehouse.token}`]])).toBe(
      "401 api_key_required",
    );
    expect(await outcome(path, [["x-api-key", "sk-ant-real"]])).toBe("401 api_key_required");
    expect(provider.requestCount).toBe(0);
  });

  test("a changed require_api_key of the gateway is in effect when the Admin API responds", async () => {
    const { gateway, path } = await route();
    expect(await outcome(path)).toBe("served");
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { require_api_key: true });
    expect(await outcome(path)).toBe("401 api_key_required");
  });
});

describe("a gw_ value in the header of a provider SDK", () => {
  const places: [string, (key: string) => HeaderPair][] = [
    ["Authorization: Bearer", (key) => ["Authorization", `Bearer ${key}`]],
    ["authorization: bearer", (key) => ["authorization", `bearer ${key}`]],
    ["x-api-key", (key) => ["x-api-key", key]],
    ["api-key", (key) => ["api-key", key]],
  ];

  test.each(places)("counts as the key: %s", async (_, place) => {
    const { gateway, path } = await route({ rule: { path: "/sdk-place", require_api_key: true } });
    // Another gateway has the same rule: only the key selects the gateway.
    const decoy = await route({ rule: { path: "/sdk-place" } });
    const { key } = await seedKey(gatehouse, gateway);
    expect(await outcome(path, [place(key)])).toBe("served");
    expect(await outcome(path, [place(UNKNOWN_KEY)])).toBe("401 invalid_api_key");
    expect(onlyRequest(provider).headers.flat().join("\n")).not.toContain(key);
    for (const each of [gateway, decoy.gateway])
      expect((await gatehouse.api("DELETE", `/gateways/${each}?cascade=true`)).status).toBe(204);
  });

  test("counts even if another header has a provider's credential", async () => {
    const { gateway, path } = await route({ rule: { require_api_key: true } });
    const { key } = await seedKey(gatehouse, gateway);
    for (const [name, place] of places) {
      const others = places
        .map(([, other]) => other("sk-a-provider-credential"))
        .filter(([header]) => header.toLowerCase() !== place(key)[0].toLowerCase());
      const unique = new Map(others.map(([header, value]) => [header.toLowerCase(), value]));
      expect({ name, outcome: await outcome(path, [...unique, place(key)]) }).toEqual({
        name,
        outcome: "served",
      });
    }
  });

  test("X-GW-API-Key takes precedence over them", async () => {
    const { gateway, path } = await route();
    const { key } = await seedKey(gatehouse, gateway);
    const own: HeaderPair = ["X-GW-API-Key", key];
    expect(await outcome(path, [own, ["Authorization", "Bearer sk-real"]])).toBe("served");
  });

  test("other credentials in these headers are no gateway keys", async () => {
    const { path } = await route();
    expect(await outcome(path, [["Authorization", "Bearer sk-real"]])).toBe("served");
    expect(await outcome(path, [["x-api-key", "sk-ant"]])).toBe("served");
    expect(await outcome(path, [["Authorization", "Basic Z3dfOng="]])).toBe("served");
  });
});

test("last_used_at is updated within two seconds", async () => {
  const { gateway, path } = await route();
  const { id, key } = await seedKey(gatehouse, gateway);
  const read = async () =>
    (await gatehouse.api("GET", `/iam/api-keys/${id}`)).body.last_used_at as string | null;
  expect(await read()).toBeNull();
  const usedAt = new Date(clock.unixNow()).toISOString();
  expect(await outcome(path, withKey(key))).toBe("served");
  clock.advance(2000);
  expect(await waitFor(read)).toBe(usedAt);
});
