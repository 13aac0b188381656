// GET /traffic: the last seconds, of all gateways and of one.
import { expect, test } from "bun:test";
import { expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { limiter, postChat, seedPlugins, STREAMED_CHAT } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

async function points(query = ""): Promise<ApiResponse["body"][]> {
  const { status, body } = await gatehouse.api("GET", `/traffic${query}`);
  expect(status).toBe(200);
  return body.points;
}

const total = (list: ApiResponse["body"][], field: string): number =>
  list.reduce((sum: number, point) => sum + Number(point[field] ?? point.refused[field] ?? 0), 0);

test("requests, errors, times and rejections, in total and per gateway", async () => {
  const limited = await seedPlugins(gatehouse, provider, [limiter({ global: [2, "1h"] })]);
  const open = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  for (let call = 0; call < 3; call++) await (await postChat(gatehouse, limited)).text();
  await (await postChat(gatehouse, open)).text();
  await (await fetch(`${gatehouse.proxyUrl}/nowhere`)).text();
  await waitUntil(async () => total(await points(), "requests") === 5);

  const all = await points();
  expect(total(all, "errors")).toBe(2);
  expect(total(all, "rate_limit_exceeded")).toBe(1);
  expect(total(all, "rule_not_found")).toBe(1);
  const own = await points(`?gateway_id=${limited.gateway}`);
  expect([total(own, "requests"), total(own, "errors"), total(own, "rate_limit_exceeded")]).toEqual([
    3, 1, 1,
  ]);
  const others = await points(`?gateway_id=${open.gateway}&seconds=600`);
  expect([total(others, "requests"), total(others, "errors")]).toEqual([1, 0]);
  const [busy] = others.filter((point) => point.requests > 0);
  expect(busy.p50_ms).toBeGreaterThan(0);
  expect(busy.p99_ms).toBeGreaterThanOrEqual(busy.p50_ms);
  expect(busy.first_byte_p50_ms).toBeGreaterThan(0);
  expect(busy.first_token_p50_ms).toBeNull();
});

test("the total has the percentiles of the whole period, and errors by code", async () => {
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  for (let call = 0; call < 3; call++) await (await postChat(gatehouse, route)).text();
  provider.behave({ status: 418 });
  await (await postChat(gatehouse, route)).text();
  provider.reset();
  const { points: list, total: sums } = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/traffic?gateway_id=${route.gateway}`);
    return body.total.requests === 4 ? body : null;
  });
  expect(sums).toMatchObject({ errors: 1, failed: { status_418: 1 }, refused: {} });
  const highest = Math.max(...list.map((point: ApiResponse["body"]) => point.p99_ms ?? 0));
  expect(sums.p99_ms).toBeWithin(sums.p50_ms, highest + 0.01);
});

test("the time to the first token of streams", async () => {
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  await (await postChat(gatehouse, route, { body: STREAMED_CHAT })).text();
  const point = await waitFor(async () => {
    const own = await points(`?gateway_id=${route.gateway}`);
    return own.find(({ requests }) => requests === 1) ?? null;
  });
  expect(point.first_token_p50_ms).toBeGreaterThan(0);
});

test("a point for every requested second, up to now", async () => {
  for (const [query, count] of [
    ["", 300],
    ["?seconds=1", 1],
    ["?seconds=600", 600],
  ] as const) {
    const before = Date.now();
    const list = await points(query);
    expect(list).toHaveLength(count);
    const times = list.map((point) => Date.parse(point.time));
    expect(times.every((time, index) => time === (times[0] ?? 0) + index * 1000)).toBe(true);
    expect(times.at(-1)).toBeWithin(before - 1000, Date.now() + 1);
  }
});

test("rejects invalid parameters, unknown gateways and requests without a token", async () => {
  for (const seconds of ["0", "601", "-1", "x"])
    expectProblemsAt(await gatehouse.api("GET", `/traffic?seconds=${seconds}`), "?seconds");
  expectError(await gatehouse.api("GET", "/traffic?gateway_id=nothing"), 404, "not_found");
  expect((await fetch(`${gatehouse.adminUrl}/api/v1/traffic`)).status).toBe(401);
});
