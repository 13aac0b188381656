// The usage report of a gateway in the Admin API: grouping, ranges, and validation of the query.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { TEST_PRICES, totalAfter, totalOf, usageReport } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const USED: Behavior = { usage: { input: 11, output: 7 } };

const [gatehouse, one] = await Promise.all([useGatehouse(), useFakeProvider({ name: "one" })]);
expect((await gatehouse.api("PUT", "/prices", { prices: TEST_PRICES })).status).toBe(200);

const routeTo = (target: Record<string, unknown> = {}, rule: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(one, target)] }, rule });

describe("GET /gateways/{id}/usage", () => {
  test("groups by day, model, and key, and keeps the names of deleted keys", async () => {
    const route = await routeTo();
    const key = await seedKey(gatehouse, route.gateway, { name: "mobile app" });
    one.behave(USED);
    const headers = { "X-GW-API-Key": key.key };
    for (const [model, sent] of [
      ["gpt-fake", headers],
      ["gpt-fake", {}],
      ["unpriced", headers],
    ] as const)
      await (await postChat(gatehouse, route, { body: { ...CHAT, model }, headers: sent })).text();
    await totalAfter(gatehouse, route, 3);
    const today = new Date().toISOString().slice(0, 10);
    const byDay = await usageReport(gatehouse, route);
    expect(byDay.to).toBe(today);
    expect(byDay.from).toBe(new Date(Date.parse(today) - 29 * 86_400_000).toISOString().slice(0, 10));
    expect(byDay.usage).toEqual([
      { day: today, ...totalOf(3, 33, 21), unpriced_requests: 1, cost: 0.000162 },
    ]);
    expect(byDay.total).toEqual({ ...totalOf(3, 33, 21), unpriced_requests: 1, cost: 0.000162 });
    const all = await usageReport(gatehouse, route, `?from=${today}&to=${today}&group_by=model,api_key,day`);
    const named = { api_key_id: key.id, api_key: "mobile app", day: today };
    expect(all.usage).toEqual([
      { ...named, api_key_id: null, api_key: null, model: "gpt-fake", ...totalOf(1, 11, 7) },
      { ...named, model: "gpt-fake", ...totalOf(1, 11, 7) },
      { ...named, model: "unpriced", ...totalOf(1, 11, 7), unpriced_requests: 1, cost: null },
    ]);
    await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { name: "renamed" });
    await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`);
    const byKey = await usageReport(gatehouse, route, "?group_by=api_key");
    expect(byKey.usage.map((row: { api_key: string | null }) => row.api_key)).toEqual([null, "renamed"]);
    const none = await usageReport(gatehouse, route, "?from=2020-01-01&to=2020-12-31");
    expect(none).toEqual({ usage: [], from: "2020-01-01", to: "2020-12-31", total: totalOf(0, 0, 0) });
  });

  test("groups by rule, provider, and the labels that the key had at the time of the request", async () => {
    const route = await routeTo({}, { name: "chat" });
    const other = await seedRoute(gatehouse, {
      gateway: route.gateway,
      upstream: { targets: [targetAt(one, { provider: "vllm" })] },
    });
    const key = await seedKey(gatehouse, route.gateway, { labels: { team: "search", app: "web" } });
    one.behave(USED);
    const headers = { "X-GW-API-Key": key.key };
    await (await postChat(gatehouse, route, { headers })).text();
    await (await postChat(gatehouse, other, { headers })).text();
    await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { labels: { team: "ads" } });
    await (await postChat(gatehouse, route, { headers })).text();
    await (await postChat(gatehouse, route)).text();
    await totalAfter(gatehouse, route, 4);
    const rows = async (groups: string) => (await usageReport(gatehouse, route, `?group_by=${groups}`)).usage;
    expect(await rows("rule")).toMatchObject([
      { rule_id: route.rule, rule: "chat", requests: 3 },
      { rule_id: other.rule, rule: other.path, requests: 1 },
    ]);
    expect(await rows("provider")).toMatchObject([
      { provider: "openai", requests: 3 },
      { provider: "vllm", requests: 1 },
    ]);
    expect(await rows("label:team")).toMatchObject([
      { labels: { team: null }, requests: 1 },
      { labels: { team: "ads" }, ...totalOf(1, 11, 7) },
      { labels: { team: "search" }, ...totalOf(2, 22, 14) },
    ]);
    expect(await rows("label:app,provider,model")).toMatchObject([
      { labels: { app: null }, provider: "openai", model: "gpt-fake", requests: 1 },
      { labels: { app: "web" }, provider: "openai", model: "gpt-fake", requests: 2 },
      { labels: { app: "web" }, provider: "vllm", model: "gpt-fake", requests: 1 },
    ]);
    const { status, body } = await gatehouse.api("GET", "/usage");
    expect(status).toBe(200);
    expect(body.usage).toContainEqual({
      gateway_id: route.gateway,
      gateway: expect.any(String),
      ...totalOf(4, 44, 28),
    });
    expect(body.usage.length).toBeGreaterThan(1);
    const sum = body.usage.reduce((total: number, row: { requests: number }) => total + row.requests, 0);
    expect(body.total.requests).toBe(sum);
    const byTeam = await gatehouse.api("GET", "/usage?group_by=label:team,gateway");
    expect(byTeam.body.usage).toContainEqual(
      expect.objectContaining({ labels: { team: "ads" }, gateway_id: route.gateway, requests: 1 }),
    );
  });

  test("outlives its gateway", async () => {
    const route = await routeTo();
    one.behave(USED);
    await (await postChat(gatehouse, route)).text();
    await totalAfter(gatehouse, route, 1);
    expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}?cascade=true`)).status).toBe(204);
    const report = await gatehouse.api("GET", `/gateways/${route.gateway}/usage?group_by=api_key,rule`);
    expect(report).toMatchObject({ status: 200, body: { total: { requests: 1 } } });
    expect((await gatehouse.api("GET", "/gateways/01890a5d-ac96-774b-bcce-b302099a8057/usage")).status).toBe(
      404,
    );
  });

  test.each([
    ["?from=yesterday", "?from"],
    ["?from=2026-02-30", "?from"],
    ["?to=2026-1-1", "?to"],
    ["?from=2026-11-02&to=2026-11-01", "?from"],
    ["?from=2020-01-01&to=2026-11-01", "?from"],
    ["?group_by=", "?group_by"],
    ["?group_by=day,day", "?group_by"],
    ["?group_by=day,key", "?group_by"],
    ["?group_by=day,", "?group_by"],
    ["?group_by=gateway", "?group_by"],
    ["?group_by=label:", "?group_by"],
    ["?group_by=label:Team", "?group_by"],
    ["?group_by=label:a'b", "?group_by"],
    ["?group_by=label:a,label:a", "?group_by"],
    [`?group_by=${Array.from({ length: 9 }, (_, index) => `label:l${index}`).join(",")}`, "?group_by"],
    ["?grup_by=day", "?grup_by"],
    ["?from=2026-11-01&from=2026-11-02", "?from"],
  ])("rejects %s", async (query, path) => {
    const route = await routeTo();
    const { status, body } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage${query}`);
    expect([status, body.code, body.details?.[0]?.path]).toEqual([400, "validation_failed", path]);
  });

  test("is in the OpenAPI document, like prices", async () => {
    const document = (await (
      await fetch(`${gatehouse.adminUrl}/api/openapi.json`)
    ).json()) as ApiResponse["body"];
    const usage = document.paths["/api/v1/gateways/{gateway_id}/usage"].get;
    expect(usage.parameters.map((parameter: { name: string }) => parameter.name)).toEqual([
      "gateway_id",
      "from",
      "to",
      "group_by",
    ]);
    const all = document.paths["/api/v1/usage"].get;
    expect(all.parameters.map((parameter: { name: string }) => parameter.name)).toEqual([
      "from",
      "to",
      "group_by",
    ]);
    expect(Object.keys(document.paths["/api/v1/prices"])).toEqual(["get", "put", "delete"]);
    expect(document.components.schemas.PricesInput.properties).toHaveProperty("prices");
    expect(document.components.schemas.UsageReport.required).toEqual(["usage", "from", "to", "total"]);
  });
});
