// /metrics at the door: on the admin listener, without a token, in a form that Prometheus reads.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";

let gatehouse: GatehouseProcess;
beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
});
afterAll(() => gatehouse.stop());

test("/metrics tells readiness, revision, store and counters, and needs no token", async () => {
  await gatehouse.api("POST", "/gateways", { name: "one" });
  const response = await fetch(`${gatehouse.adminUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  const lines = (await response.text()).trimEnd().split("\n");
  for (const line of lines) expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+ -?[0-9.e+]+)$/);
  const values = Object.fromEntries(
    lines.filter((line) => !line.startsWith("#")).map((line) => line.split(" ")),
  );
  expect(values).toMatchObject({
    gatehouse_ready: "1",
    gatehouse_config_revision: "1",
    gatehouse_store_up: "1",
    gatehouse_counters_up: "1",
    gatehouse_counters_lost_total: "0",
  });
});

test("the proxy listener has none", async () => {
  expect((await fetch(`${gatehouse.proxyUrl}/metrics`)).status).toBe(404);
});
