// Runs the contract of request limits in memory, in Redis, and in several processes that share one Redis.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { ledgerCounters, redisCounters } from "../support/ledger-counters.ts";
import { runs } from "../support/long-form.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";
import { describeCounters } from "./counters.contract.ts";

/** These tests check the decisions of Redis, so a slow machine must not cause decisions without it. */
const LONG_SILENCE_MS = 5000;

describe("the counters in memory", () => {
  describeCounters({
    name: "memory",
    source: "memory",
    traces: runs({ short: 1000, long: 20_000 }),
    concurrent: 10_000,
    scale: 1,
    // The monotonic clock may start anywhere; windows must not depend on it.
    create: (time) => {
      const clock = { ...systemClock, now: () => time() - 1_749_999_000_000, unixNow: time };
      return Promise.resolve(ledgerCounters(new MemoryLedger({ clock })));
    },
  });

  test("a wall clock that jumps five minutes in either direction changes no decision", () => {
    let [nowMs, wallMs] = [0, 1_750_000_000_000];
    const clock = { ...systemClock, now: () => nowMs, unixNow: () => wallMs };
    const ledger = new MemoryLedger({ clock });
    const claims = [{ kind: "requests", key: "jump", limit: 2, windowMs: 60_000 } as const];
    const admitAfter = (ms: number, jumpMs: number) => {
      nowMs += ms;
      wallMs += ms + jumpMs;
      const { reserved: admitted, states } = ledger.reserve("gw", claims, "closed");
      return { admitted, waitMs: states[0]?.waitMs, resetIn: (states[0]?.resetAt ?? 0) - wallMs / 1000 };
    };
    expect(admitAfter(0, 0)).toEqual({ admitted: true, waitMs: 0, resetIn: 60 });
    expect(admitAfter(1000, 300_000)).toEqual({ admitted: true, waitMs: 0, resetIn: 59 });
    expect(admitAfter(1000, 0)).toEqual({ admitted: false, waitMs: 58_000, resetIn: 58 });
    expect(admitAfter(1000, -600_000)).toEqual({ admitted: false, waitMs: 57_000, resetIn: 57 });
    expect(admitAfter(57_000, 0)).toEqual({ admitted: true, waitMs: 0, resetIn: 1 });
  });
});

describe.skipIf(!hasRedis)("the counters in Redis", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis(["--appendonly", "no"]);
  });
  afterAll(() => redis.stop());

  describeCounters({
    name: "Redis",
    source: "redis",
    traces: runs({ short: 100, long: 2000 }),
    concurrent: runs({ short: 2000, long: 10_000 }),
    scale: 10_000,
    create: async (time) => {
      const counters = redisCounters(redis.url, { time, silenceTimeoutMs: LONG_SILENCE_MS });
      await waitUntil(() => counters.state.state === "ok");
      return counters;
    },
  });

  /** Starts processes at the same time. Returns the number of admitted requests of each. */
  async function race(
    key: string,
    count: number,
    settings: readonly { skewMs?: number; silenceTimeoutMs?: number }[],
  ) {
    const nodes = settings.map((setting) => {
      const node = `${import.meta.dir}/counters-node.ts`;
      const args = [redis.url, key, String(count), JSON.stringify(setting)];
      return Bun.spawn([process.execPath, node, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    });
    const outputs = nodes.map((node) => node.stdout.pipeThrough(new TextDecoderStream()).getReader());
    for (const output of outputs) expect((await output.read()).value).toBe("ready\n");
    for (const node of nodes) {
      await node.stdin.write("go\n");
      await node.stdin.flush();
    }
    const results = await Promise.all(outputs.map(async (output) => (await output.read()).value ?? "{}"));
    await Promise.all(nodes.map((node) => node.exited));
    return results.map((line) => JSON.parse(line) as { admitted: number; resetAt: number });
  }

  test("exactly 100 of many concurrent requests to three processes are admitted", async () => {
    const each = runs({ short: 1000, long: 3334 });
    const results = await race("three processes", each, [{}, {}, {}]);
    expect(results.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(100);
  }, 60_000);

  test("processes whose clocks are wrong by five minutes share the limit and report the same reset time", async () => {
    const skews = [300_000, 0, -300_000];
    const settings = skews.map((skewMs) => ({ skewMs, silenceTimeoutMs: LONG_SILENCE_MS }));
    const results = await race("wrong clocks", 80, settings);
    expect(results.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(100);
    expect(new Set(results.map(({ resetAt }) => resetAt)).size).toBe(1);
  }, 60_000);

  test("an idle key expires in Redis, and a rejected request creates none", async () => {
    const counters = redisCounters(redis.url, { silenceTimeoutMs: LONG_SILENCE_MS });
    await waitUntil(() => counters.state.state === "ok");
    await redis.command("FLUSHALL");
    const short = { key: "expiring", limit: 1, windowMs: 200 };
    expect((await counters.admit([short], "closed")).admitted).toBe(true);
    const other = { key: "never created", limit: 5, windowMs: 60_000 };
    expect((await counters.admit([other, short], "closed")).admitted).toBe(false);
    // And the epoch of the gateway.
    expect(await redis.command("DBSIZE")).toBe(2);
    await waitUntil(async () => (await redis.command("DBSIZE")) === 1);
    await counters.close();
  });

  test("a Redis clock that is set back does not block clients", async () => {
    let nowMs = 1_750_000_000_000;
    const counters = redisCounters(redis.url, { time: () => nowMs, silenceTimeoutMs: LONG_SILENCE_MS });
    await waitUntil(() => counters.state.state === "ok");
    const limits = [{ key: "set back", limit: 1, windowMs: 60_000 }];
    expect((await counters.admit(limits, "closed")).admitted).toBe(true);
    nowMs -= 500;
    expect(await counters.admit(limits, "closed")).toMatchObject({ admitted: false });
    nowMs -= 3_600_000;
    expect(await counters.admit(limits, "closed")).toMatchObject({ admitted: true });
    expect(await counters.admit(limits, "closed")).toMatchObject({
      admitted: false,
      states: [{ waitMs: 60_000 }],
    });
    await counters.close();
  });
});
