// Measures the counters: time per request with three limits in memory, bytes per key and per counted request, decisions
// per second in Redis, and how long a request waits when Redis stops responding.
import { EXACT_LIMIT } from "../src/counters/bucket-log.ts";
import type { Limit } from "../src/counters/counters.ts";
import { MemoryCounters } from "../src/counters/memory-counters.ts";
import { RedisCounters } from "../src/counters/redis-counters.ts";
import { hasRedis, startRedis } from "../test/support/redis.ts";
import { median, printTable, quantile, type Measurement } from "./report.ts";

const REQUESTS = 200_000;
const ROUNDS = 7;
const KEYS = 150_000;
const BUSY_KEYS = 100;
const PARALLEL = 64;
const REDIS_REQUESTS = 40_000;

export async function benchCounters(): Promise<void> {
  printTable("Counters in memory", [
    memoryCost("admitted", 10_000),
    memoryCost("admitted, large limits", 1e9),
    memoryCost("rejected", 1),
    ...memoryBytes(),
  ]);
  if (hasRedis) printTable("Counters in Redis, on this machine", await redisRows());
}

const GATEWAY = "0198c2f1-7a54-7c3e-9d1b-2f6e8a4c5b70:rate_limiter:0";

/** Keys as long as real ones. Created before the measurement, as the plugin creates them. */
function threeLimits(request: number, limit: number): Limit[] {
  return [
    { key: `${GATEWAY}:per_ip:203.0.113.${request % 250}`, limit, windowMs: 10 },
    { key: `${GATEWAY}:per_user:user-${request % 5000}`, limit, windowMs: 10 },
    { key: `${GATEWAY}:global:`, limit, windowMs: 10 },
  ];
}

function memoryCost(outcome: string, limit: number): Measurement {
  const requests = Array.from({ length: REQUESTS }, (_, request) => threeLimits(request, limit));
  const counters = new MemoryCounters();
  const rounds = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    for (const limits of requests) counters.admit(limits);
    return ((performance.now() - started) / REQUESTS) * 1000;
  });
  return { what: `three limits, ${outcome}`, value: median(rounds), unit: "µs per request", note: "limit 2" };
}

function usedBytes(): number {
  Bun.gc(true);
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
}

function memoryBytes(): Measurement[] {
  const before = usedBytes();
  const many = new MemoryCounters();
  for (let key = 0; key < KEYS; key++)
    many.admit([{ key: `${GATEWAY}:per_ip:${key}`, limit: 100, windowMs: 1e9 }]);
  const between = usedBytes();
  const one = new MemoryCounters();
  const busy = Array.from({ length: BUSY_KEYS }, (_, key) => [
    { key: `busy ${key}`, limit: EXACT_LIMIT, windowMs: 1e9 },
  ]);
  for (let request = 0; request < EXACT_LIMIT; request++) for (const limits of busy) one.admit(limits);
  const after = usedBytes();
  if (many.size !== KEYS || one.size !== BUSY_KEYS)
    throw new Error("keys were dropped during the measurement");
  const perKey = (between - before) / KEYS;
  return [
    { what: "an idle key with one request", value: perKey, unit: "bytes", note: "limit 208" },
    {
      what: "a counted request",
      value: (after - between) / (BUSY_KEYS * EXACT_LIMIT),
      unit: "bytes",
      note: "limit 8",
    },
  ];
}

async function redisRows(): Promise<Measurement[]> {
  const redis = await startRedis(["--appendonly", "no"]);
  const counters = new RedisCounters(redis.url, { silenceTimeoutMs: 1000 });
  const withDefaultTimeout = new RedisCounters(redis.url);
  await Promise.all([counters.settled, withDefaultTimeout.settled]);
  try {
    const times: number[] = [];
    let next = 0;
    const started = performance.now();
    const callers = Array.from({ length: PARALLEL }, async () => {
      while (next < REDIS_REQUESTS) {
        const limits = threeLimits(next++, 1000).map((limit) => ({ ...limit, windowMs: 1000 }));
        const sentAt = performance.now();
        await counters.admit(limits, "closed");
        times.push(performance.now() - sentAt);
      }
    });
    await Promise.all(callers);
    const rate = (REDIS_REQUESTS / (performance.now() - started)) * 1000;
    return [
      { what: `three limits, ${PARALLEL} at a time`, value: rate, unit: "decisions per second" },
      { what: "p50 of those", value: quantile(times, 0.5), unit: "ms" },
      { what: "p99 of those", value: quantile(times, 0.99), unit: "ms" },
      ...(await silence(withDefaultTimeout, redis)),
    ];
  } finally {
    await Promise.all([counters.close(), withDefaultTimeout.close()]);
    redis.resume();
    await redis.stop();
  }
}

/** Pauses Redis repeatedly during a request: time until the request is decided without it, and until Redis is used again. */
async function silence(
  counters: RedisCounters,
  redis: { pause(): void; resume(): void },
): Promise<Measurement[]> {
  const [waits, recoveries]: [number[], number[]] = [[], []];
  for (let round = 0; round < 20; round++) {
    while (counters.state.state !== "ok") await Bun.sleep(5);
    redis.pause();
    await Bun.sleep(20);
    const sentAt = performance.now();
    await counters.admit(threeLimits(round, 10), "local");
    waits.push(performance.now() - sentAt);
    await Bun.sleep(300);
    redis.resume();
    const resumed = performance.now();
    while (counters.state.state !== "ok") await Bun.sleep(1);
    recoveries.push(performance.now() - resumed);
  }
  return [
    { what: "Redis paused: a request waits, median", value: median(waits), unit: "ms" },
    { what: "  longest of 20", value: Math.max(...waits), unit: "ms", note: "limit 25, plus event loop lag" },
    {
      what: "Redis resumed: used again after, longest",
      value: Math.max(...recoveries),
      unit: "ms",
      note: "limit 1000",
    },
  ];
}
