// WORKERS: several processes share one pair of ports, under a supervisor that replaces those that crash.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  LAUNCHER,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  untilPrinted,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { isLong } from "../support/long-form.ts";
import { logRecords } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, rawJson, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;
const started: GatehouseProcess[] = [];
let provider: FakeProvider;

beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()));
  await provider.stop();
});

async function startWorkers(count: number, env: Record<string, string> = {}): Promise<GatehouseProcess> {
  const gatehouse = await startGatehouseProcess({ env: { WORKERS: String(count), ...env } });
  started.push(gatehouse);
  await untilServing(gatehouse, count);
  return gatehouse;
}

/** Returns the processes that a process has started; none if it has ended. */
function childrenOf(pid: number): number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return list.trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const listening = (gatehouse: GatehouseProcess) =>
  logRecords(gatehouse).filter((line) => line.msg === "proxy listening");

/** Waits until this many workers have started to listen, including replaced ones. */
const untilServing = (gatehouse: GatehouseProcess, count: number) =>
  waitUntil(() => listening(gatehouse).length >= count);

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Number of chat requests with status 200 by path, as counted by the clients. */
const succeededOn = new Map<string, number>();

/** Returns the statuses of `times` chat requests, each on its own connection, so that every worker gets some. */
async function chats(
  gatehouse: GatehouseProcess,
  { path }: SeededRoute,
  times: number,
): Promise<Set<number>> {
  const calls = Array.from({ length: times }, () => rawJson(gatehouse.proxyUrl, path, CHAT));
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  const succeeded = statuses.filter((status) => status === 200).length;
  succeededOn.set(path, (succeededOn.get(path) ?? 0) + succeeded);
  return new Set(statuses);
}

describe("three workers", () => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await startWorkers(3);
  }, START_MS);

  test("share one pair of ports, chosen once", () => {
    const lines = listening(gatehouse);
    expect(lines.map((line) => line["worker"]).sort()).toEqual([1, 2, 3]);
    expect(new Set(lines.map((line) => line["url"]))).toEqual(new Set([gatehouse.proxyUrl]));
    expect(childrenOf(gatehouse.pid)).toHaveLength(3);
  });

  test("without Redis the log warns that rate limits apply per process", () => {
    expect(gatehouse.output()).toContain("rate limits apply per worker process because REDIS_URL is not set");
  });

  test(
    "a change written through one worker is active in all, and all of them serve",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      expect(await chats(gatehouse, route, 60)).toEqual(new Set([200]));
      const serving = () =>
        new Set(
          logRecords(gatehouse)
            .filter((line) => line["path"] === route.path && line["status"] === 200)
            .map((line) => line["worker"]),
        );
      await waitUntil(() => serving().size === 3);
    },
    START_MS,
  );

  test(
    "every worker returns the metrics, request log, and traffic of all workers",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      await chats(gatehouse, route, 30);
      const all = succeededOn.get(route.path)!;
      // Each request on a new connection, which any worker may accept.
      const newConnection = { headers: { Connection: "close", Authorization: `Bearer ${gatehouse.token}` } };
      const api = `${gatehouse.adminUrl}/api/v1`;
      for (let times = 0; times < 10; times++) {
        const listed = await fetch(`${api}/gateways/${route.gateway}/requests?status=200`, newConnection);
        expect(((await listed.json()) as { count: number }).count).toBe(all);
        const text = await (await fetch(`${gatehouse.adminUrl}/metrics`, newConnection)).text();
        const counted = text
          .split("\n")
          .filter((line) => line.startsWith("gatehouse_requests_total{") && line.includes(route.path));
        const sum = counted.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
        expect([counted.length > 0, sum]).toEqual([true, all]);
      }
      const { body } = await gatehouse.api("GET", `/traffic?seconds=600&gateway_id=${route.gateway}`);
      const points = body.points as { requests: number }[];
      expect(points.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThanOrEqual(all);
    },
    START_MS,
  );

  test(
    "a client that follows the request log through one worker sees the requests of all",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      const disconnect = new AbortController();
      const stream = await fetch(`${gatehouse.adminUrl}/api/v1/gateways/${route.gateway}/requests/stream`, {
        headers: { Authorization: `Bearer ${gatehouse.token}` },
        signal: disconnect.signal,
      });
      let received = "";
      const reading = (async () => {
        for await (const chunk of stream.body!) received += new TextDecoder().decode(chunk);
      })().catch(() => undefined);
      // The other workers learn of the follower with a delay.
      await waitUntil(async () => {
        await chats(gatehouse, route, 6);
        const ids = [...received.matchAll(/"request_id":"([^"]+)"/g)].map(([, id]) => id);
        const workers = logRecords(gatehouse)
          .filter((line) => ids.includes(line["request_id"]))
          .map((line) => line["worker"]);
        return new Set(workers).size === 3;
      });
      disconnect.abort();
      await reading;
    },
    START_MS,
  );

  test(
    "a crashed worker is replaced, and the others serve meanwhile",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      const before = childrenOf(gatehouse.pid);
      process.kill(before[1]!, "SIGKILL");
      await untilPrinted(gatehouse, "worker exited; starting a replacement");
      await untilServing(gatehouse, 4);
      const after = childrenOf(gatehouse.pid);
      expect(after).toHaveLength(3);
      expect(after).toContain(before[0]!);
      expect(after).toContain(before[2]!);
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      expect(await chats(gatehouse, route, 60)).toEqual(new Set([200]));
    },
    START_MS,
  );

  test(
    "SIGTERM stops all workers after running requests have finished; exit 0",
    async () => {
      const slow = await startFakeProvider();
      slow.behave({ chunks: 8, chunkDelayMs: 60 });
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(slow)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      const workers = childrenOf(gatehouse.pid);
      const before = slow.requestCount;
      const streams = Array.from({ length: 9 }, () =>
        rawJson(gatehouse.proxyUrl, route.path, { ...CHAT, stream: true }),
      );
      await slow.until(() => slow.requestCount === before + 9);
      gatehouse.signal("SIGTERM");
      for (const response of await Promise.all(streams))
        expect(response.body.toString()).toEndWith("data: [DONE]\n\n");
      expect(await gatehouse.exited).toBe(0);
      expect(workers.filter(isAlive)).toEqual([]);
      await slow.stop();
    },
    START_MS,
  );
});

describe("counters of /metrics", () => {
  /** Reads from any worker that responds; the kernel may assign a connection to one that is stopped. */
  const metricsPage = (gatehouse: GatehouseProcess) =>
    waitFor(() =>
      fetch(`${gatehouse.adminUrl}/metrics`, {
        headers: { Connection: "close" },
        signal: AbortSignal.timeout(2000),
      })
        .then((response) => response.text())
        .then(readMetrics)
        .catch(() => null),
    );

  // It waits for a worker that is silent.
  test.if(isLong)(
    "never fall when a worker dies or is silent",
    async () => {
      const gatehouse = await startWorkers(2, { WATCHDOG_SECONDS: "0" });
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitUntil(async () => !(await chats(gatehouse, route, 20)).has(404));
      await chats(gatehouse, route, 30);
      const count = succeededOn.get(route.path)!;
      const requests = async () =>
        (await metricsPage(gatehouse)).sum("gatehouse_requests_total", { rule: route.path, status: "200" });
      await waitUntil(async () => (await requests()) === count);
      const [first, second] = childrenOf(gatehouse.pid);
      process.kill(first!, "SIGSTOP");
      expect([await requests(), await requests()]).toEqual([count, count]);
      process.kill(first!, "SIGKILL");
      await untilPrinted(gatehouse, "worker exited; starting a replacement");
      while (listening(gatehouse).length < 3) expect(await requests()).toBe(count);
      expect(await requests()).toBe(count);
      // The replacement has never seen the first worker, and is asked alone.
      process.kill(second!, "SIGKILL");
      expect(await requests()).toBe(count);
      await untilServing(gatehouse, 4);
      expect(await requests()).toBe(count);
      await chats(gatehouse, route, 10);
      const after = succeededOn.get(route.path)!;
      await waitUntil(async () => (await requests()) === after);
    },
    START_MS,
  );
});

test(
  "ten crashes within ten seconds stop the service with a clear message",
  async () => {
    const gatehouse = await startWorkers(2);
    let isOver = false;
    void gatehouse.exited.then(() => (isOver = true));
    await waitUntil(() => {
      for (const pid of childrenOf(gatehouse.pid)) process.kill(pid, "SIGKILL");
      return isOver;
    });
    expect(await gatehouse.exited).toBe(1);
    expect(gatehouse.output()).toContain("workers exited too often; stopping");
  },
  START_MS,
);

test(
  "workers stop if their supervisor is killed",
  async () => {
    const gatehouse = await startWorkers(2);
    const workers = childrenOf(gatehouse.pid);
    gatehouse.signal("SIGKILL");
    await waitUntil(() => !workers.some(isAlive));
  },
  START_MS,
);

describe("a startup error is reported once, not by every restart: exit 2", () => {
  const serve = (env: Record<string, string>) => {
    const directory = temporaryDirectory();
    const run = Bun.spawnSync([LAUNCHER, "serve"], {
      cwd: directory,
      env: {
        PATH: process.env["PATH"],
        WORKERS: "2",
        REDIS_URL: "redis://127.0.0.1:1",
        ADMIN_PORT: "0",
        PROXY_PORT: "0",
        DATA_DIR: directory,
        SERVER_SECRET_KEY: TEST_SECRET,
        ...env,
      },
      timeout: START_MS,
    });
    const lines = run.stderr.toString().trimEnd().split("\n");
    return { code: run.exitCode, lines };
  };

  test(
    "ports that are used by the workers of another service",
    async () => {
      const gatehouse = await startWorkers(2);
      const { port } = new URL(gatehouse.proxyUrl);
      const { code, lines } = serve({ PROXY_PORT: port });
      expect({ code, count: lines.length }).toEqual({ code: 2, count: 1 });
      expect(lines[0]).toContain(`PROXY_PORT ${port} is in use`);
    },
    START_MS,
  );

  test(
    "a database that cannot be opened",
    () => {
      const { code, lines } = serve({ DATABASE_URL: "sqlite:///proc/none/gatehouse.db" });
      expect({ code, count: lines.length }).toEqual({ code: 2, count: 1 });
      expect(lines[0]).toContain("cannot hold the database");
    },
    START_MS,
  );
});
