// Counters while Redis is killed, paused, restarted, read-only, full, loading, or rejects the credentials: every request is
// decided by its policy, nothing throws, and limits are exact again when Redis is available.
import { afterEach, describe, expect, test } from "bun:test";
import type { LedgerState } from "../../src/ledger/ledger.ts";
import type { Decision, UnavailablePolicy } from "../../src/sdk/index.ts";
import { redisCounters, type LedgerCounters } from "../support/ledger-counters.ts";
import { startLoad } from "../support/load.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(...args: string[]): Promise<RedisServer> {
  const redis = await startRedis(args);
  cleanups.push(() => redis.stop());
  return redis;
}

async function connect(url: string, silenceTimeoutMs?: number) {
  const states: LedgerState[] = [];
  const counters = redisCounters(url, {
    onStateChange: (state) => states.push(state),
    ...(silenceTimeoutMs !== undefined && { silenceTimeoutMs }),
  });
  cleanups.push(() => counters.close());
  await counters.settled;
  return { counters, states };
}

async function connectAvailable(url: string, silenceTimeoutMs?: number) {
  const connected = await connect(url, silenceTimeoutMs);
  await untilState(connected.counters, "ok");
  return connected;
}

async function untilState(counters: LedgerCounters, state: LedgerState["state"]): Promise<void> {
  await waitUntil(() => counters.state.state === state);
}

let keys = 0;
const minute = (limit: number, key = `fault key ${++keys}`) => ({ key, limit, windowMs: 60_000 });

/** On a busy machine, Redis may stop responding for a moment. A burst in which it does is repeated. */
async function expectExact(counters: LedgerCounters): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    await untilState(counters, "ok");
    const limits = [minute(100)];
    const burst = Array.from({ length: 2000 }, async () => counters.admit(limits, "closed"));
    const decisions = await Promise.all(burst);
    if (decisions.some(({ source }) => source !== "redis")) continue;
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(100);
    return;
  }
  throw new Error("Redis stopped responding in every burst");
}

async function expectPolicies(counters: LedgerCounters): Promise<void> {
  const limit = minute(2);
  const admit = async (policy: UnavailablePolicy) => {
    const { states: predicted, ...peeked } = await counters.peek([limit], policy);
    const { states, ...decision } = await counters.admit([limit], policy);
    expect(peeked).toEqual(decision);
    expect(predicted.map((state) => state.remaining)).toEqual(states.map((state) => state.remaining));
    return { states, ...decision };
  };
  for (const admitted of [true, true, false, false])
    expect(await admit("local")).toMatchObject({ admitted, refusedBy: admitted ? -1 : 0, source: "local" });
  for (let tries = 0; tries < 5; tries++) {
    expect(await admit("open")).toMatchObject({ admitted: true, states: [{ remaining: 2 }], source: "open" });
    expect(await admit("closed")).toMatchObject({ admitted: false, refusedBy: -1, source: "closed" });
  }
}

/** How many commands Redis has rejected with this error since it was started. */
async function rejectionsBy(redis: RedisServer, error: string): Promise<number> {
  const stats = String(await redis.command("INFO", "errorstats"));
  return Number(new RegExp(`^errorstat_${error}:count=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
}

/** Until Redis has rejected several attempts to use it again. */
const untilRejectedOften = (redis: RedisServer, error: string) =>
  waitUntil(async () => (await rejectionsBy(redis, error)) > 3);

describe.skipIf(!hasRedis)("unavailable Redis", () => {
  test("killed: every policy is applied; restarted with its data, counting continues", async () => {
    const redis = await server();
    const { counters, states } = await connectAvailable(redis.url);
    expect(counters.state).toEqual({ state: "ok" });
    const limit = minute(3);
    await counters.admit([limit], "open");
    await redis.kill();
    await untilState(counters, "away");
    await expectPolicies(counters);
    await redis.start();
    await untilState(counters, "ok");
    const { source, states: found } = await counters.admit([limit], "closed");
    expect(source).toBe("redis");
    // The process adds again what it has admitted in the last tenth of a second before: Redis may have lost it.
    expect(found[0]?.remaining).toBeWithin(0, 2);
    await expectExact(counters);
    expect(states.some(({ state }) => state === "ok")).toBe(true);
    expect(states.some(({ detail }) => detail?.includes(`Redis at 127.0.0.1:${redis.port}`))).toBe(true);
  }, 60_000);

  test("killed and restarted empty: limits are exact again without scripts and data", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url);
    await redis.kill();
    await untilState(counters, "away");
    await redis.start({ empty: true });
    await expectExact(counters);
  }, 60_000);

  for (const policy of ["local", "open", "closed"] as const)
    test(`paused and killed under load, on_store_failure ${policy}: every request is decided`, async () => {
      const redis = await server();
      const { counters, states } = await connectAvailable(redis.url);
      const decisions: Decision[] = [];
      const limit = minute(1_000_000);
      const endLoad = startLoad(16, async () => decisions.push(await counters.admit([limit], policy)));
      const untilCounted = (count: number) =>
        waitUntil(() => decisions.filter(({ source }) => source === "redis").length > count);
      await untilCounted(100);
      redis.pause();
      await untilState(counters, "away");
      expect(states.at(-1)?.detail).toMatch(/does not respond/);
      expect(states.filter(({ detail }) => detail?.includes("behind"))).toEqual([]);
      await expectPolicies(counters);
      redis.resume();
      await untilState(counters, "ok");
      await untilCounted(200);
      await redis.kill();
      await untilState(counters, "away");
      await redis.start();
      await expectExact(counters);
      await endLoad();
      expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(["redis", policy]));
      expect(decisions.every(({ admitted, source }) => admitted === (source !== "closed"))).toBe(true);
    }, 60_000);

  test("local counters continue with what this process has counted", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url, 5000);
    const limit = minute(3);
    for (let done = 0; done < 2; done++) await counters.admit([limit], "local");
    await redis.kill();
    await untilState(counters, "away");
    expect(await counters.admit([limit], "local")).toMatchObject({
      admitted: true,
      states: [{ remaining: 0 }],
    });
    expect(await counters.admit([limit], "local")).toMatchObject({ admitted: false, refusedBy: 0 });
  }, 60_000);

  test("a limit that other processes have exhausted stays so until its reset time", async () => {
    const redis = await server();
    const [{ counters: one }, { counters: other }] = [
      await connectAvailable(redis.url, 5000),
      await connectAvailable(redis.url, 5000),
    ];
    const limit = minute(1);
    await other.admit([limit], "local");
    const rejected = await one.admit([limit], "local");
    expect(rejected.admitted).toBe(false);
    await redis.kill();
    await untilState(one, "away");
    const alone = await one.admit([minute(5), limit], "local");
    expect(alone).toMatchObject({ admitted: false, refusedBy: 1, source: "local" });
    expect(alone.states[1]?.resetAt).toBe(rejected.states[0]!.resetAt);
    expect(await one.admit([{ ...limit, limit: 2 }], "local")).toMatchObject({ admitted: true });
  }, 60_000);

  test("a clear during an outage is done when Redis is available again", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url, 5000);
    const limit = minute(2);
    for (let request = 0; request < 2; request++) await counters.admit([limit], "local");
    await redis.kill();
    await untilState(counters, "away");
    await counters.clear(limit.key);
    expect(await counters.admit([limit], "local")).toMatchObject({ admitted: true, source: "local" });
    await redis.start();
    await untilState(counters, "ok");
    // The request that was admitted without Redis counts.
    expect(await counters.admit([limit], "local")).toMatchObject({ admitted: true, source: "redis" });
    expect(await counters.admit([limit], "local")).toMatchObject({ admitted: false, source: "redis" });
  }, 60_000);
});

describe.skipIf(!hasRedis)("Redis that cannot count", () => {
  test("not running: decided without it from the first request", async () => {
    const redis = await server();
    await redis.kill();
    const { counters } = await connect(redis.url);
    expect(counters.state.detail).toMatch(/^Redis at 127\.0\.0\.1:\d+ cannot be reached$/);
    await expectPolicies(counters);
    await redis.start();
    await expectExact(counters);
  }, 60_000);

  test("rejected credentials are reported without showing them", async () => {
    const redis = await server("--requirepass", "the right one");
    for (const credentials of [":sesame@", ""]) {
      const { counters } = await connect(`redis://${credentials}127.0.0.1:${redis.port}`);
      expect(counters.state.detail).toMatch(/rejects the credentials in REDIS_URL: (WRONGPASS|NOAUTH)/);
      expect(counters.state.detail).not.toContain("sesame");
      await expectPolicies(counters);
    }
  }, 60_000);

  test("a read-only replica is unavailable until it is a primary again", async () => {
    const redis = await server();
    const { counters, states } = await connectAvailable(redis.url);
    await redis.command("REPLICAOF", "127.0.0.1", "1");
    expect(await counters.admit([minute(1)], "closed")).toMatchObject({ source: "closed" });
    await untilRejectedOften(redis, "READONLY");
    expect(counters.state).toMatchObject({ state: "away", detail: expect.stringContaining("READONLY") });
    await expectPolicies(counters);
    expect(states.filter(({ state }) => state === "ok")).toHaveLength(1);
    await redis.command("REPLICAOF", "NO", "ONE");
    await expectExact(counters);
  }, 60_000);

  test("out of memory: unavailable with the reason, and nothing is partially counted", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url);
    await redis.command("FLUSHALL");
    await redis.command("CONFIG", "SET", "maxmemory", "1");
    expect(await counters.admit([minute(1), minute(1)], "closed")).toMatchObject({ source: "closed" });
    await untilRejectedOften(redis, "OOM");
    expect(counters.state.detail).toContain("OOM");
    expect(await redis.command("DBSIZE")).toBe(0);
    await redis.command("CONFIG", "SET", "maxmemory", "0");
    await expectExact(counters);
  }, 60_000);

  test("loading its data: unavailable until it is done", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url);
    const fill = "for i = 1, 3000 do redis.call('SET', 'filler' .. i, i) end";
    await redis.command("EVAL", fill, "0");
    await redis.command("SAVE");
    await redis.kill();
    const loadSlowly = ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"];
    await redis.start({ args: ["--appendonly", "no", ...loadSlowly], awaitReady: false });
    await waitUntil(() => counters.state.detail?.includes("LOADING") === true);
    await expectPolicies(counters);
    await expectExact(counters);
  }, 60_000);

  test("flushed scripts: the next request is counted anyway", async () => {
    const redis = await server();
    const { counters } = await connectAvailable(redis.url, 5000);
    await redis.command("SCRIPT", "FLUSH");
    expect(await counters.admit([minute(2)], "closed")).toMatchObject({
      source: "redis",
      states: [{ remaining: 1 }],
    });
  }, 60_000);
});

describe.skipIf(!hasRedis)("a busy process", () => {
  const block = (ms: number) => {
    for (const until = performance.now() + ms; performance.now() < until;);
  };

  test("a blocked event loop does not count as silence of Redis", async () => {
    const redis = await server();
    const { counters, states } = await connectAvailable(redis.url, 100);
    for (let round = 0; round < 5; round++) {
      const pending = counters.admit([minute(1)], "closed");
      block(250);
      expect((await pending).source).toBe("redis");
      const late = Promise.resolve(counters.admit([minute(1)], "closed"));
      setTimeout(() => block(250), 1);
      setTimeout(() => block(250), 2);
      expect((await late).source).toBe("redis");
    }
    expect(states.at(-1)).toEqual({ state: "ok" });
  }, 60_000);

  test("a burst with a blocked event loop is decided exactly by Redis", async () => {
    const redis = await server("--appendonly", "no");
    const { counters } = await connectAvailable(redis.url);
    const limits = [minute(100)];
    const burst = Array.from({ length: 10_000 }, async () => counters.admit(limits, "local"));
    const blocks = setInterval(() => block(40), 5);
    const decisions = await Promise.all(burst);
    clearInterval(blocks);
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(100);
  }, 60_000);
});
