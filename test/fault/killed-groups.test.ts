// Gateways without Redis whose whole process group is killed: an exhausted budget stays exhausted, also if nobody reaps the processes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type RunningGatehouse,
} from "../support/gatehouse-process.ts";
import { logRecords } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { postAtOnce } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const TEST_MS = 120_000;
const AFFORDABLE = 60;
/** Starts the gateway in a session and process group of its own. */
const OWN_GROUP = ["setsid"];
/** Also, its parent is a program that never waits for its children: they stay zombies. */
const UNREAPED = ["setsid", "sh", "-c", '"$@" & exec sleep 1000', "sh"];

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

/** Resolves when all workers listen. */
async function start(dataDir: string, workers: number, prefix: readonly string[]) {
  const gatehouse = await startGatehouseProcess({ dataDir, prefix, env: { WORKERS: String(workers) } });
  const listening = () => logRecords(gatehouse).filter(({ msg }) => msg === "proxy listening").length;
  await waitUntil(() => listening() === workers);
  return gatehouse;
}

async function seedBudget(gatehouse: RunningGatehouse) {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
    upstream: { targets: [targetAt(provider)], max_attempts: 1 },
  });
  const amount = (AFFORDABLE / 100).toFixed(2);
  await create(gatehouse, `/gateways/${route.gateway}/budgets`, { name: "team", unit: "usd", amount });
  await untilWorkersFollow(gatehouse);
  return route;
}

/** Each of many new connections may reach any worker. */
async function untilWorkersFollow(gatehouse: RunningGatehouse): Promise<void> {
  const { body } = await gatehouse.api("GET", "/revisions?limit=1");
  const [{ revision: wanted }] = body.revisions as [{ revision: number }];
  await waitUntil(async () => {
    const calls = Array.from({ length: 20 }, async () => {
      const response = await fetch(`${gatehouse.proxyUrl}/readyz`, { headers: { Connection: "close" } });
      return ((await response.json()) as { revision: number }).revision;
    });
    return (await Promise.all(calls)).every((revision) => revision >= wanted);
  });
}

describe.each([
  { workers: 2, parent: "", prefix: OWN_GROUP },
  { workers: 1, parent: " under a parent that does not reap", prefix: UNREAPED },
  { workers: 2, parent: " under a parent that does not reap", prefix: UNREAPED },
])("$workers workers$parent", ({ workers, prefix }) => {
  test(
    "do not admit requests of an exhausted budget after the kill of the process group",
    async () => {
      const dataDir = temporaryDirectory();
      const first = await start(dataDir, workers, prefix);
      const { path } = await seedBudget(first);
      await postAtOnce([first], path, CHAT, AFFORDABLE);
      const received = provider.requestCount;
      expect(received).toBe(AFFORDABLE);
      process.kill(-first.pid, "SIGKILL");
      const second = await start(dataDir, workers, OWN_GROUP);
      const statuses = await postAtOnce([second], path, CHAT, AFFORDABLE);
      expect({ statuses, received: provider.requestCount }).toEqual({
        statuses: { 402: AFFORDABLE },
        received,
      });
      process.kill(-second.pid, "SIGKILL");
      await second.stop();
    },
    TEST_MS,
  );
});
