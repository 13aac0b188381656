// WORKERS: several processes behind one pair of ports, under a supervisor that replaces the ones that crash.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  LAUNCHER,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  untilPrinted,
  waitFor,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { logRecords } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";

const START_MS = 30_000;
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

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

const listening = (gatehouse: GatehouseProcess) =>
  logRecords(gatehouse).filter((line) => line.msg === "proxy listening");

/** Until that many workers have come to listen, those that were replaced included. */
const untilServing = (gatehouse: GatehouseProcess, count: number) =>
  waitFor(() => (listening(gatehouse).length >= count ? true : null));

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** How many chats on a path were answered with 200, as their clients saw it. */
const answeredOn = new Map<string, number>();

/** The statuses of that many chats, each over a connection of its own, so that every worker gets some. */
async function chats(
  gatehouse: GatehouseProcess,
  { path }: SeededRoute,
  times: number,
): Promise<Set<number>> {
  const calls = Array.from({ length: times }, () => rawJson(gatehouse.proxyUrl, path, CHAT));
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  const answered = statuses.filter((status) => status === 200).length;
  answeredOn.set(path, (answeredOn.get(path) ?? 0) + answered);
  return new Set(statuses);
}

describe("three workers", () => {
  let gatehouse: GatehouseProcess;
  beforeAll(async () => {
    gatehouse = await startWorkers(3);
  }, START_MS);

  test("share one pair of ports, picked once", () => {
    const lines = listening(gatehouse);
    expect(lines.map((line) => line["worker"]).sort()).toEqual([1, 2, 3]);
    expect(new Set(lines.map((line) => line["url"]))).toEqual(new Set([gatehouse.proxyUrl]));
    expect(childrenOf(gatehouse.pid)).toHaveLength(3);
  });

  test("without Redis the log says that limits are counted apart", () => {
    expect(gatehouse.output()).toContain("without REDIS_URL: each process counts its rate limits for itself");
  });

  test(
    "what is written on one is in force on all, and all of them serve",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      expect(await chats(gatehouse, route, 60)).toEqual(new Set([200]));
      const serving = () =>
        new Set(
          logRecords(gatehouse)
            .filter((line) => line["path"] === route.path && line["status"] === 200)
            .map((line) => line["worker"]),
        );
      await waitFor(() => (serving().size === 3 ? true : null));
    },
    START_MS,
  );

  test(
    "metrics, the request log and traffic are those of all of them, whichever is asked",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      await chats(gatehouse, route, 30);
      const all = answeredOn.get(route.path)!;
      // Each over a connection of its own, which any of them may get.
      const apart = { headers: { Connection: "close", Authorization: `Bearer ${gatehouse.token}` } };
      const api = `${gatehouse.adminUrl}/api/v1`;
      for (let times = 0; times < 10; times++) {
        const listed = await fetch(`${api}/gateways/${route.gateway}/requests?status=200`, apart);
        expect(((await listed.json()) as { count: number }).count).toBe(all);
        const text = await (await fetch(`${gatehouse.adminUrl}/metrics`, apart)).text();
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
    "whoever follows the requests through one of them sees those of all",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      const leave = new AbortController();
      const stream = await fetch(`${gatehouse.adminUrl}/api/v1/gateways/${route.gateway}/requests/stream`, {
        headers: { Authorization: `Bearer ${gatehouse.token}` },
        signal: leave.signal,
      });
      let heard = "";
      const reading = (async () => {
        for await (const chunk of stream.body!) heard += new TextDecoder().decode(chunk);
      })().catch(() => undefined);
      // The others hear of the follower a moment later.
      await waitFor(async () => {
        await chats(gatehouse, route, 6);
        const ids = [...heard.matchAll(/"request_id":"([^"]+)"/g)].map(([, id]) => id);
        const workers = logRecords(gatehouse)
          .filter((line) => ids.includes(line["request_id"]))
          .map((line) => line["worker"]);
        return new Set(workers).size === 3 ? true : null;
      });
      leave.abort();
      await reading;
    },
    START_MS,
  );

  test(
    "a crashed one is replaced at once, and the others serve meanwhile",
    async () => {
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      const before = childrenOf(gatehouse.pid);
      process.kill(before[1]!, "SIGKILL");
      await untilPrinted(gatehouse, "a worker ended; another one takes its place");
      await untilServing(gatehouse, 4);
      const after = childrenOf(gatehouse.pid);
      expect(after).toHaveLength(3);
      expect(after).toContain(before[0]!);
      expect(after).toContain(before[2]!);
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      expect(await chats(gatehouse, route, 60)).toEqual(new Set([200]));
    },
    START_MS,
  );

  test(
    "SIGTERM ends them all, exit 0, after what runs has finished",
    async () => {
      const slow = await startFakeProvider();
      slow.behave({ chunks: 8, chunkDelayMs: 60 });
      const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(slow)] } });
      await waitFor(async () => ((await chats(gatehouse, route, 20)).has(404) ? null : true));
      const workers = childrenOf(gatehouse.pid);
      const before = slow.requestCount;
      const streams = Array.from({ length: 9 }, () =>
        rawJson(gatehouse.proxyUrl, route.path, { ...CHAT, stream: true }),
      );
      await slow.until(() => slow.requestCount === before + 9);
      gatehouse.signal("SIGTERM");
      for (const answer of await Promise.all(streams))
        expect(answer.body.toString()).toEndWith("data: [DONE]\n\n");
      expect(await gatehouse.exited).toBe(0);
      expect(workers.filter(isAlive)).toEqual([]);
      await slow.stop();
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
    while (!isOver) {
      for (const pid of childrenOf(gatehouse.pid)) process.kill(pid, "SIGKILL");
      await Bun.sleep(50);
    }
    expect(await gatehouse.exited).toBe(1);
    expect(gatehouse.output()).toContain("workers ended 10 times within 10 seconds: stopping");
  },
  START_MS,
);

test(
  "workers whose supervisor is gone end by themselves",
  async () => {
    const gatehouse = await startWorkers(2);
    const workers = childrenOf(gatehouse.pid);
    gatehouse.signal("SIGKILL");
    await waitFor(() => (workers.some(isAlive) ? null : true));
  },
  START_MS,
);

describe("a service that cannot be started is refused once, not ten times: exit 2", () => {
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
    "ports that another service of several workers has",
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
