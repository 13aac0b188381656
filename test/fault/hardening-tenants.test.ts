// Bounds per gateway: model names that a client of one gateway invents do not change what other gateways report.
import { expect, test } from "bun:test";
import { postChat } from "../support/plugin-fixtures.ts";
import { readMetrics, type MetricsPage } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { totalAfter, usageReport } from "../support/usage-fixtures.ts";

const INVENTED_MODELS = 10_200;
const CALLERS = 32;
const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);

async function send(route: SeededRoute, model: string): Promise<void> {
  const response = await postChat(gatehouse, route, { body: { ...CHAT, model } });
  await response.text();
  expect(response.status).toBe(200);
}

async function metrics(): Promise<MetricsPage> {
  return readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
}

test("invented models beyond the bounds of one gateway leave usage and metrics of another gateway unchanged", async () => {
  // A target has series for 50 models of which the configuration does not name any: eight fill a histogram.
  const targets = Array.from({ length: 8 }, () => targetAt(provider));
  const hostile = await seedRoute(gatehouse, { gateway: { name: "hostile" }, upstream: { targets } });
  const neighbor = await seedRoute(gatehouse, {
    gateway: { name: "neighbor" },
    upstream: { targets: [targetAt(provider)] },
  });
  provider.behave({ usage: { input: 3, output: 2 } });
  let next = 0;
  const call = async () => {
    while (next < INVENTED_MODELS) await send(hostile, `invented-${next++}`);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  for (const model of ["own-model", "second-model", "own-model"]) await send(neighbor, model);

  await totalAfter(gatehouse, neighbor, 3);
  const { usage } = await usageReport(gatehouse, neighbor, "?group_by=model");
  expect(usage).toMatchObject([
    { model: "own-model", requests: 2, input_tokens: 6 },
    { model: "second-model", requests: 1, input_tokens: 3 },
  ]);
  const page = await metrics();
  const own = { gateway: "neighbor", model: "own-model" };
  expect(page.sum("gatehouse_requests_total", { ...own, status: "200" })).toBe(2);
  expect(page.sum("gatehouse_request_duration_seconds_count", own)).toBe(2);
  expect(page.sum("gatehouse_first_byte_seconds_count", own)).toBe(2);
  expect(page.sum("gatehouse_tokens_total", { ...own, direction: "output" })).toBe(4);

  // No request of the hostile gateway is lost, and its own series and rows are bounded.
  expect((await totalAfter(gatehouse, hostile, INVENTED_MODELS)).requests).toBe(INVENTED_MODELS);
  const counted = page.series.filter(
    ({ name, labels }) =>
      name === "gatehouse_request_duration_seconds_count" && labels["gateway"] === "hostile",
  );
  expect(counted.length).toBeWithin(50, 302);
  expect(counted.reduce((sum, { value }) => sum + value, 0)).toBe(INVENTED_MODELS);
}, 60_000);
