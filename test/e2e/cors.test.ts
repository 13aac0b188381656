// `cors` of a gateway: which websites may call it from a browser.
import { beforeEach, describe, expect, test } from "bun:test";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const APP = "https://app.example.com";
const LIMITER = {
  name: "rate_limiter",
  stage: "pre_request",
  settings: { limits: { global: { limit: 1, window: "1h" } } },
};

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();
const seed = (gateway: Record<string, unknown>, rule: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { gateway, upstream: { targets: [targetAt(provider)], max_attempts: 1 }, rule });

const allowed = await seed({ cors: { origins: [APP], max_age: 60 } }, { require_api_key: true });
const { key } = await seedKey(gatehouse, allowed.gateway);
const closed = await seed({});
const open = await seed({ cors: { origins: ["*"], headers: ["content-type", "x-team"] } });
const limited = await seed({ cors: { origins: [APP] }, required_plugins: [LIMITER] });

beforeEach(() => provider.reset());

const preflight = (path: string, headers: Record<string, string> = {}) =>
  fetch(gatehouse.proxyUrl + path, {
    method: "OPTIONS",
    headers: { Origin: APP, "Access-Control-Request-Method": "POST", ...headers },
  });
const chat = (path: string, headers: Record<string, string> = {}) =>
  fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(CHAT),
  });
const originIn = ({ headers }: Response) => headers.get("access-control-allow-origin");

describe("a preflight request", () => {
  test("is answered without an API key, with the headers that the script wants to send", async () => {
    const requested = "authorization,content-type,x-stainless-os";
    const response = await preflight(allowed.path, { "Access-Control-Request-Headers": requested });
    expect(response.status).toBe(204);
    expect(originIn(response)).toBe(APP);
    expect(response.headers.get("access-control-allow-methods")).toBe("POST");
    expect(response.headers.get("access-control-allow-headers")).toBe(requested);
    expect(response.headers.get("access-control-max-age")).toBe("60");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("vary")).toContain("Origin");
    expect(provider.requests).toBeEmpty();
  });

  test("names only the headers of the setting, if there are any", async () => {
    const response = await preflight(open.path, { "Access-Control-Request-Headers": "x-secret" });
    expect(originIn(response)).toBe("*");
    expect(response.headers.get("access-control-allow-headers")).toBe("content-type, x-team");
  });

  test.each([
    ["of another website", () => preflight(allowed.path, { Origin: "https://evil.example.com" })],
    [
      "of a website that starts like an allowed one",
      () => preflight(allowed.path, { Origin: `${APP}.evil.com` }),
    ],
    [
      "for a method without a rule",
      () => preflight(allowed.path, { "Access-Control-Request-Method": "PUT" }),
    ],
    ["for a gateway without cors", () => preflight(closed.path)],
    ["for a path without a rule", () => preflight("/nothing-here")],
  ])("%s is not allowed", async (_, send) => {
    const response = await send();
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(originIn(response)).toBeNull();
  });

  test("counts for no limit", async () => {
    for (let count = 0; count < 3; count++) expect((await preflight(limited.path)).status).toBe(204);
    expect((await chat(limited.path, { Origin: APP })).status).toBe(200);
  });

  test("succeeds if one of the gateways that share the path allows the origin", async () => {
    const path = "/shared-by-two";
    await seed({}, { path });
    expect(originIn(await preflight(path))).toBeNull();
    await seed({ cors: { origins: [APP] } }, { path });
    expect(originIn(await preflight(path))).toBe(APP);
    expect(originIn(await preflight(path, { Origin: "https://evil.example.com" }))).toBeNull();
  });

  test("succeeds for the list of models, which every gateway serves without a rule", async () => {
    for (const path of ["/v1/models", "/v1/models/gpt-4o"]) {
      expect(originIn(await preflight(path, { "Access-Control-Request-Method": "GET" }))).toBe(APP);
      expect(originIn(await preflight(path))).toBeNull();
    }
  });
});

describe("a response", () => {
  test("can be read by an allowed website, with the gateway's headers", async () => {
    const response = await chat(allowed.path, { Origin: APP, "X-GW-API-Key": key });
    expect(response.status).toBe(200);
    expect(originIn(response)).toBe(APP);
    expect(response.headers.get("vary")).toBe("Origin");
    const exposed = response.headers.get("access-control-expose-headers")?.split(", ");
    for (const name of ["X-Request-Id", "X-GW-Provider", "X-Should-Retry"]) expect(exposed).toContain(name);
  });

  test("names the headers of plugins too", async () => {
    const { path } = await seed({
      cors: { origins: [APP] },
      required_plugins: [{ ...LIMITER, settings: { limits: { global: { limit: 9, window: "1h" } } } }],
    });
    const response = await chat(path, { Origin: APP });
    expect(response.headers.get("access-control-expose-headers")).toContain("X-RateLimit-global-Remaining");
  });

  test("names the provider's token limits, which the gateway has renamed", async () => {
    const settings = { limits: { global: { limit: 1_000_000, window: "1h" } } };
    const { path } = await seed({
      cors: { origins: [APP] },
      required_plugins: [{ name: "token_limiter", stage: "pre_request", settings }],
    });
    provider.behave({ headers: [["x-ratelimit-limit-tokens", "7"]] });
    const response = await chat(path, { Origin: APP });
    const exposed = response.headers.get("access-control-expose-headers")?.toLowerCase().split(", ");
    for (const name of ["x-ratelimit-limit-tokens", "x-gw-provider-ratelimit-limit-tokens"]) {
      expect(response.headers.has(name)).toBe(true);
      expect(exposed).toContain(name);
    }
  });

  test("can be read if it is an error: no key, an unknown key, a limit", async () => {
    const responses = [
      await chat(allowed.path, { Origin: APP }),
      await chat(allowed.path, { Origin: APP, "X-GW-API-Key": "gw_unknown" }),
    ];
    for (const response of responses) {
      expect(response.status).toBe(401);
      expect(originIn(response)).toBe(APP);
    }
  });

  test("names no website without an Origin, for another website, and for a gateway without cors", async () => {
    const withKey = { "X-GW-API-Key": key };
    expect(originIn(await chat(allowed.path, withKey))).toBeNull();
    expect(originIn(await chat(allowed.path, { ...withKey, Origin: "https://evil.example.com" }))).toBeNull();
    const other = await chat(closed.path, { Origin: APP });
    expect(originIn(other)).toBeNull();
    expect(other.headers.get("vary")).toBeNull();
  });

  test("of a provider that allows every website names only those that the gateway allows", async () => {
    const headers = [
      ["access-control-allow-origin", "*"],
      ["access-control-allow-credentials", "true"],
    ];
    const fake = { "x-fake": JSON.stringify({ headers }), "X-GW-API-Key": key };
    const response = await chat(allowed.path, { Origin: "https://evil.example.com", ...fake });
    expect(response.status).toBe(200);
    expect(originIn(response)).toBeNull();
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(originIn(await chat(allowed.path, { Origin: APP, ...fake }))).toBe(APP);
    const relayed = await chat(closed.path, { Origin: APP, "x-fake": fake["x-fake"] });
    expect(originIn(relayed)).toBe("*");
  });
});
