// Where clients may send an API key of the gateway. Each place works with only base URL and key of a client changed.
import { beforeEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { CHAT, onlyRequest, rawJson, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();
const { gateway, path } = await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider)] },
  rule: { require_api_key: true },
});
const { key } = await seedKey(gatehouse, gateway);
const { key: otherKey } = await seedKey(gatehouse, gateway, { name: "another" });

beforeEach(() => provider.reset());

describe("an API key is accepted in", () => {
  const places: [string, HeaderPair][] = [
    ["X-GW-API-Key", ["X-GW-API-Key", key]],
    ["Authorization", ["Authorization", `Bearer ${key}`]],
    ["x-api-key", ["x-api-key", key]],
    ["api-key", ["api-key", key]],
    ["x-goog-api-key", ["x-goog-api-key", key]],
  ];
  test.each(places)("%s", async (_, header) => {
    expect((await rawJson(gatehouse.proxyUrl, path, CHAT, [header])).status).toBe(200);
    expect(JSON.stringify(onlyRequest(provider).headers)).not.toContain(key);
  });

  test("?key=, which is removed from what providers, plugins and the request log see", async () => {
    const response = await rawJson(gatehouse.proxyUrl, `${path}?alt=sse&key=${key}`, CHAT);
    expect(response.status).toBe(200);
    expect(onlyRequest(provider).target).toEndWith("?alt=sse");
    const text = JSON.stringify((await gatehouse.api("GET", `/gateways/${gateway}/requests?limit=5`)).body);
    expect(text).toContain(path);
    expect(text).not.toContain(key);
  });
});

test("two different API keys in one request are 401", async () => {
  const headers: HeaderPair[] = [
    ["X-GW-API-Key", key],
    ["Authorization", `Bearer ${otherKey}`],
  ];
  const response = await rawJson(gatehouse.proxyUrl, path, CHAT, headers);
  expect(response.status).toBe(401);
  expect(response.json()).toMatchObject({ code: "invalid_api_key" });
  expect(provider.requests).toBeEmpty();
});
