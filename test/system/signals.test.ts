// Signals other than SIGTERM and SIGINT: none of them ends requests, and SIGHUP drains only if the terminal of the gateway is gone.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  type GatehouseProcess,
  type StartOptions,
} from "../support/gatehouse-process.ts";
import { logRecords } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const TEST_MS = 120_000;
const DONE = "data: [DONE]\n\n";
let provider: FakeProvider;
let started: GatehouseProcess[] = [];

beforeAll(async () => {
  provider = await startFakeProvider();
});
afterEach(async () => {
  await Promise.all(started.map((gatehouse) => gatehouse.stop()));
  started = [];
  provider.reset();
});
afterAll(() => provider.stop());

/** Resolves when all workers listen and know the route. */
async function start(workers: number, options: StartOptions = {}) {
  const gatehouse = await startGatehouseProcess({ ...options, env: { WORKERS: String(workers) } });
  started.push(gatehouse);
  const listening = () => logRecords(gatehouse).filter(({ msg }) => msg === "proxy listening").length;
  await waitUntil(() => listening() === workers);
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  await waitUntil(async () => (await statuses(gatehouse, route)).every((status) => status === 200));
  return { gatehouse, route };
}

/** Sends requests on connections of their own, so that every worker gets some. */
async function statuses({ proxyUrl }: GatehouseProcess, { path }: SeededRoute): Promise<number[]> {
  const calls = Array.from({ length: 10 }, () => rawJson(proxyUrl, path, CHAT));
  return (await Promise.all(calls)).map(({ status }) => status);
}

/** Resolves to the responses of requests that were sent before `during`, and ended after it. */
async function streamedBodies(
  { proxyUrl }: GatehouseProcess,
  { path }: SeededRoute,
  during: () => Promise<void> | void,
): Promise<string[]> {
  provider.behave({ chunks: 4, chunkDelayMs: 300 });
  const before = provider.requestCount;
  const streams = Array.from({ length: 6 }, () => rawJson(proxyUrl, path, { ...CHAT, stream: true }));
  await provider.until(() => provider.requestCount === before + streams.length);
  await during();
  const bodies = (await Promise.all(streams)).map(({ body }) => body.toString());
  provider.reset();
  return bodies;
}

const processesOf = ({ pid }: GatehouseProcess): number[] => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
];

/** The processes that have noticed SIGHUP: the numbers of workers, null for the process that was started. */
const reloaded = (gatehouse: GatehouseProcess) =>
  logRecords(gatehouse)
    .filter(({ msg }) => String(msg).startsWith("reload requested"))
    .map(({ worker }) => (typeof worker === "number" ? worker : null));

const isDraining = (gatehouse: GatehouseProcess) =>
  logRecords(gatehouse).some(({ msg }) => msg === "draining");

describe.skipIf(process.platform !== "linux")("signals", () => {
  describe.each([{ workers: 1 }, { workers: 2 }])("$workers workers", ({ workers }) => {
    const all = workers === 1 ? [null] : [null, 1, 2];

    test(
      "continue to serve after SIGUSR1, SIGUSR2 and SIGPIPE to any of the processes",
      async () => {
        const { gatehouse, route } = await start(workers);
        const before = processesOf(gatehouse);
        const bodies = await streamedBodies(gatehouse, route, () => {
          for (const pid of processesOf(gatehouse))
            for (const signal of ["SIGUSR1", "SIGUSR2", "SIGPIPE"] as const) process.kill(pid, signal);
        });
        for (const body of bodies) expect(body).toEndWith(DONE);
        expect(new Set(await statuses(gatehouse, route))).toEqual(new Set([200]));
        expect(processesOf(gatehouse)).toEqual(before);
        expect(isDraining(gatehouse)).toBe(false);
      },
      TEST_MS,
    );

    test(
      "continue to serve after SIGHUP, which reaches all of them",
      async () => {
        const { gatehouse, route } = await start(workers);
        const before = processesOf(gatehouse);
        const bodies = await streamedBodies(gatehouse, route, () => gatehouse.signal("SIGHUP"));
        for (const body of bodies) expect(body).toEndWith(DONE);
        await waitUntil(() => reloaded(gatehouse).length === all.length);
        expect(new Set(reloaded(gatehouse))).toEqual(new Set(all));
        expect(new Set(await statuses(gatehouse, route))).toEqual(new Set([200]));
        expect(processesOf(gatehouse)).toEqual(before);
        expect(isDraining(gatehouse)).toBe(false);
      },
      TEST_MS,
    );

    test(
      "in a terminal continue to serve after SIGHUP, and drain when the terminal is gone",
      async () => {
        const { gatehouse, route } = await start(workers, { terminal: true });
        gatehouse.signal("SIGHUP");
        await waitUntil(() => reloaded(gatehouse).length === all.length);
        expect(new Set(await statuses(gatehouse, route))).toEqual(new Set([200]));
        const bodies = await streamedBodies(gatehouse, route, () => gatehouse.closeTerminal());
        for (const body of bodies) expect(body).toEndWith(DONE);
        expect(await gatehouse.exited).toBe(0);
      },
      TEST_MS,
    );

    test(
      "under nohup outlive their terminal, reload on SIGHUP, and drain on SIGTERM",
      async () => {
        const { gatehouse, route } = await start(workers, { terminal: true, prefix: ["nohup"] });
        const before = processesOf(gatehouse);
        const outlived = await streamedBodies(gatehouse, route, () => gatehouse.closeTerminal());
        for (const body of outlived) expect(body).toEndWith(DONE);
        const count = reloaded(gatehouse).length;
        gatehouse.signal("SIGHUP");
        await waitUntil(() => reloaded(gatehouse).length >= count + all.length);
        expect(processesOf(gatehouse)).toEqual(before);
        const bodies = await streamedBodies(gatehouse, route, () => gatehouse.signal("SIGTERM"));
        for (const body of bodies) expect(body).toEndWith(DONE);
        expect(await gatehouse.exited).toBe(0);
      },
      TEST_MS,
    );
  });

  test(
    "stops when its terminal goes after a SIGHUP, as with a shell that ends its jobs",
    async () => {
      const { gatehouse } = await start(1, {
        terminal: true,
        prefix: ["sh", "-c", 'trap "" INT; "$@"; exit $?', "sh"],
      });
      const [, pid = 0] = processesOf(gatehouse);
      process.kill(pid, "SIGHUP");
      await waitUntil(() => reloaded(gatehouse).length === 1);
      gatehouse.closeTerminal();
      await waitUntil(() => {
        try {
          return process.kill(pid, 0) && readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
        } catch {
          return true;
        }
      });
    },
    TEST_MS,
  );
});
