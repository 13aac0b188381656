// GET /traffic?range=…: rollups in the store. They survive restarts, include all processes, and are deleted with their gateway.
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { mintToken } from "../../src/cli/mint-token.ts";
import { expectProblemsAt } from "../support/admin-fixtures.ts";
import {
  callApi,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type ApiResponse,
} from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

type Api = Pick<typeof gatehouse, "api">;

/** Resolves when this many requests are in the rollups of the range. The current second is added when it is over. */
function traffic(of: Api, query: string, requests: number): Promise<ApiResponse["body"]> {
  return waitFor(async () => {
    const { body } = await of.api("GET", `/traffic${query}`);
    return body.total.requests === requests ? body : null;
  });
}

test("points of a minute, of 15 minutes and of an hour, aligned, with percentiles and errors by code", async () => {
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  for (let call = 0; call < 3; call++) await (await postChat(gatehouse, route)).text();
  provider.behave({ status: 418 });
  await (await postChat(gatehouse, route)).text();
  provider.reset();
  for (const [range, step, count] of [
    ["1h", 60, 60],
    ["24h", 900, 96],
    ["7d", 3600, 168],
  ] as const) {
    const body = await traffic(gatehouse, `?range=${range}&gateway_id=${route.gateway}`, 4);
    expect(body.step_seconds).toBe(step);
    expect(body.points).toHaveLength(count);
    const times = body.points.map(({ time }: { time: string }) => Date.parse(time) / 1000);
    expect(times.every((time: number) => time % step === 0)).toBe(true);
    expect(times.at(-1) - times[0]).toBe((count - 1) * step);
    expect(body.total).toMatchObject({ errors: 1, failed: { status_418: 1 } });
    expect(body.total.p99_ms).toBeGreaterThanOrEqual(body.total.p50_ms);
    expect(body.total.first_byte_p50_ms).toBeGreaterThan(0);
  }
  expect((await traffic(gatehouse, "?range=1h", 4)).total.requests).toBe(4);
  await gatehouse.api("DELETE", `/gateways/${route.gateway}?cascade=true`);
  expectProblemsAt(await gatehouse.api("GET", "/traffic?range=2h"), "?range");
});

test("a range without a gateway has the gateways that a limited token may see", async () => {
  const seed = () => seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  const [first, second, hidden] = await Promise.all([seed(), seed(), seed()]);
  for (const route of [first, second, second, hidden]) await (await postChat(gatehouse, route)).text();
  const limitedTo = async (gateways: readonly string[]): Promise<Api> => {
    const token = await mintToken(TEST_SECRET, 600, "limited", { role: "viewer", gateways });
    return { api: (method, path) => callApi(gatehouse.adminUrl, token, method, path) };
  };
  const both = [first.gateway, second.gateway];
  const { points } = await traffic(await limitedTo(both), "?range=1h", 3);
  expect(points.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)).toBe(3);
  const one = await limitedTo(both.slice(1));
  expect((await traffic(one, "?range=24h", 2)).total.requests).toBe(2);
  expect((await one.api("GET", `/traffic?range=1h&gateway_id=${hidden.gateway}`)).status).toBe(403);
  const many = await limitedTo([...both, ...Array.from({ length: 49 }, (_, index) => `gateway ${index}`)]);
  const { status, body } = await many.api("GET", "/traffic?range=7d");
  expect([status, body.error]).toEqual([
    403,
    "Your access is limited to 51 gateways, and ranges are summed over at most 50. Name one of them in gateway_id.",
  ]);
});

test("rollups survive a restart, and what was counted before it ended", async () => {
  const dataDir = temporaryDirectory();
  try {
    const first = await startGatehouseProcess({ dataDir, keepData: true });
    const route = await seedRoute(first, { upstream: { targets: [targetAt(provider)] } });
    for (let call = 0; call < 2; call++) await (await postChat(first, route)).text();
    first.signal("SIGTERM");
    await first.exited;
    const second = await startGatehouseProcess({ dataDir, keepData: true });
    const query = `?range=24h&gateway_id=${route.gateway}`;
    expect((await second.api("GET", `/traffic${query}`)).body.total.requests).toBe(2);
    await (await postChat(second, route)).text();
    await traffic(second, query, 3);
    await second.stop();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
