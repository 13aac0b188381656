// The watchdog: a process whose event loop hangs in an endless loop is replaced without help from outside.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { logRecords, pluginsDirectory, SCRIPTED_PLUGINS, scripted } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;
/** Blocks the event loop for as many milliseconds as the request asks for. */
const LOOP_ON_DEMAND = `
  const until = performance.now() + Number(context.headers.get("x-loop-ms") ?? 0);
  while (performance.now() < until) {}`;
const FOREVER = "1e12";

let provider: FakeProvider;
const directory = pluginsDirectory(SCRIPTED_PLUGINS);
const started: GatehouseProcess[] = [];

beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()));
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function start(env: Record<string, string>): Promise<GatehouseProcess> {
  const gatehouse = await startGatehouseProcess({
    env: { PLUGINS_DIR: directory, WATCHDOG_SECONDS: "2", ...env },
  });
  started.push(gatehouse);
  return gatehouse;
}

const seedLoop = (gatehouse: GatehouseProcess) =>
  seedRoute(gatehouse, {
    gateway: { required_plugins: [scripted("pre_request", LOOP_ON_DEMAND)] },
    upstream: { targets: [targetAt(provider)] },
  });

/** Resolves to the status of a request on its own connection; 0 if the connection is closed without a response. */
async function chat(gatehouse: GatehouseProcess, route: SeededRoute, loopMs = "0"): Promise<number> {
  try {
    return (await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["x-loop-ms", loopMs]])).status;
  } catch {
    return 0;
  }
}

const hang = (gatehouse: GatehouseProcess, route: SeededRoute) => chat(gatehouse, route, FOREVER);

const listening = (gatehouse: GatehouseProcess) =>
  logRecords(gatehouse).filter((line) => line.msg === "proxy listening");

async function watchdogRestarts({ adminUrl }: GatehouseProcess): Promise<number> {
  const response = await fetch(`${adminUrl}/metrics`, { headers: { Connection: "close" } });
  return Number(/^gatehouse_watchdog_restarts_total (\d+)$/m.exec(await response.text())?.[1] ?? NaN);
}

const signalMask = (pid: number) =>
  /^SigBlk:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];

describe("one process", () => {
  test(
    "that hangs in a plugin restarts itself under the same process id and port, and serves again",
    async () => {
      const gatehouse = await start({ WORKERS: "1" });
      const route = await seedLoop(gatehouse);
      expect(await chat(gatehouse, route)).toBe(200);
      expect(await watchdogRestarts(gatehouse)).toBe(0);
      const maskBefore = signalMask(gatehouse.pid);

      for (const restarts of [1, 2]) {
        expect(await hang(gatehouse, route)).toBe(0);
        const report = await waitFor(
          () =>
            logRecords(gatehouse).find(
              (line) => line.msg === "process hung; restarted by the watchdog" && line.restarts === restarts,
            ) ?? null,
        );
        expect(report).toMatchObject({ level: "error", limit_seconds: 2 });
        expect(report.hint).toContain("plugin");
        await waitUntil(async () => (await chat(gatehouse, route)) === 200);
        expect(await watchdogRestarts(gatehouse)).toBe(restarts);
      }
      expect(new Set(listening(gatehouse).map((line) => line.url))).toEqual(new Set([gatehouse.proxyUrl]));
      expect(signalMask(gatehouse.pid)).toBe(maskBefore);
      gatehouse.signal("SIGTERM");
      expect(await gatehouse.exited).toBe(0);
    },
    START_MS,
  );

  test(
    "that hangs while it stops is killed and not restarted",
    async () => {
      const gatehouse = await start({ WORKERS: "1", DRAIN_DELAY_MS: "600000" });
      const route = await seedLoop(gatehouse);
      gatehouse.signal("SIGTERM");
      await waitUntil(() => logRecords(gatehouse).some((line) => line.msg === "draining"));
      expect(await hang(gatehouse, route)).toBe(0);
      expect(await gatehouse.exited).toBe(137);
      expect(gatehouse.output()).toContain("hung while stopping");
    },
    START_MS,
  );

  test(
    "that is busy for less than WATCHDOG_SECONDS is not restarted",
    async () => {
      const gatehouse = await start({ WORKERS: "1", WATCHDOG_SECONDS: "5" });
      const route = await seedLoop(gatehouse);
      expect(await chat(gatehouse, route, "1500")).toBe(200);
      expect(await watchdogRestarts(gatehouse)).toBe(0);
    },
    START_MS,
  );

  test(
    "is never restarted with WATCHDOG_SECONDS=0",
    async () => {
      const gatehouse = await start({ WORKERS: "1", WATCHDOG_SECONDS: "0" });
      const route = await seedLoop(gatehouse);
      // Longer than the limit of the tests above.
      expect(await chat(gatehouse, route, "4000")).toBe(200);
      expect(await watchdogRestarts(gatehouse)).toBe(0);
    },
    START_MS,
  );
});

test(
  "of two workers, the one that hangs is replaced, and the other serves meanwhile",
  async () => {
    const gatehouse = await start({ WORKERS: "2" });
    await waitUntil(() => listening(gatehouse).length === 2);
    const route = await seedLoop(gatehouse);
    await waitUntil(async () => {
      const statuses = await Promise.all(Array.from({ length: 10 }, () => chat(gatehouse, route)));
      return statuses.every((status) => status === 200);
    });
    const isReported = () =>
      logRecords(gatehouse).some((line) => line.msg === "worker hung; starting a replacement");
    let servedMeanwhile = 0;
    const hung = hang(gatehouse, route);
    const others = Array.from({ length: 20 }, async () => {
      const status = await chat(gatehouse, route);
      if (status === 200 && !isReported()) servedMeanwhile++;
    });
    expect(await hung).toBe(0);
    await Promise.all(others);
    expect(servedMeanwhile).toBeGreaterThan(0);
    await waitUntil(() => isReported() && listening(gatehouse).length === 3);
    const statuses = await Promise.all(Array.from({ length: 20 }, () => chat(gatehouse, route)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await watchdogRestarts(gatehouse)).toBe(1);
    gatehouse.signal("SIGTERM");
    expect(await gatehouse.exited).toBe(0);
  },
  START_MS,
);
