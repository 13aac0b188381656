// WebSockets that are cut when the process stops: what they used is recorded and charged, and their reservations are returned.
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { create } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { usageReport } from "../support/usage-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const TEST_MS = 60_000;
const provider = useRealtimeProvider();
const dataDir = temporaryDirectory();
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const start = (): Promise<GatehouseProcess> =>
  startGatehouseProcess({ dataDir, keepData: true, env: { DRAIN_SECONDS: "1" } });

test(
  "a response that is cut after DRAIN_SECONDS is recorded, logged, and charged once",
  async () => {
    const first = await start();
    const route = await seedRoute(first, {
      gateway: { prices: [{ model: "gpt-rt", input: "1", output: "10" }] },
      upstream: { targets: [{ provider: "openai", base_url: provider.url }], max_attempts: 1 },
      rule: { path: "/shutdown/realtime", methods: ["GET"] },
    });
    const budget = { name: "team", unit: "tokens", amount: 100_000, period: "month" };
    const { id } = await create(first, `/gateways/${route.gateway}/budgets`, budget);
    provider.onMessage = (socket) =>
      void socket.send('{"type":"response.created","response":{"id":"resp_1"}}');
    const client = await openRealtime(`${first.proxyUrl}${route.path}?model=gpt-rt`);
    client.socket.send('{"type":"response.create","response":{"max_output_tokens":5000}}');
    await client.next();
    const stateOf = async (at: GatehouseProcess) =>
      (await at.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`)).body;
    await waitUntil(async () => Number((await stateOf(first)).reserved) >= 5000);
    first.signal("SIGTERM");
    expect(await client.closed).toMatchObject({ code: 1001 });
    expect(await first.exited).toBe(0);
    expect(first.output()).toContain("/shutdown/realtime");
    const second = await start();
    expect((await usageReport(second, route)).total).toMatchObject({ requests: 1, partial_requests: 1 });
    const { reserved, spent } = await stateOf(second);
    expect(Number(reserved)).toBe(0);
    expect(Number(spent)).toBeLessThan(5000);
    await second.stop();
  },
  TEST_MS,
);
