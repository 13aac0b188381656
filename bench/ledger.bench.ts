// Measures the ledger: time per request with three token limits and two budgets in memory, and in Redis.
import type { Claim, Ledger } from "../src/ledger/ledger.ts";
import { MemoryLedger } from "../src/ledger/memory-ledger.ts";
import { RedisLedger } from "../src/ledger/redis-ledger.ts";
import { openLedgerStore } from "../test/support/ledger-store.ts";
import { hasRedis, startRedis } from "../test/support/redis.ts";
import { median, printTable, quantile, type Measurement } from "./report.ts";

const REQUESTS = 200_000;
const ROUNDS = 7;
const PARALLEL = 64;
const REDIS_REQUESTS = 20_000;
const GATEWAY = "0198c2f1-7a54-7c3e-9d1b-2f6e8a4c5b70";
const ACTUAL = [700, 700, 200, 1_500_000, 900];

export async function benchLedger(): Promise<void> {
  printTable("Ledger in memory", [memoryCost("reserved and settled", 1e15), memoryCost("refused", 1)]);
  if (hasRedis) printTable("Ledger in Redis, on this machine", await redisRows());
}

/** Keys as long as real ones. Created before the measurement, as callers keep them. */
function fiveClaims(request: number, limit: number): Claim[] {
  const windowMs = 60_000;
  const user = `user-${request % 5000}`;
  const period = { period: "2026-11", endsAt: Date.now() + 86_400_000, enforced: true } as const;
  return [
    { kind: "tokens", key: `${GATEWAY}/token_limiter:per_user:${user}`, limit, windowMs, amount: 1000 },
    {
      kind: "tokens",
      key: `${GATEWAY}/token_limiter:per_key:${request % 50}`,
      limit,
      windowMs,
      amount: 1000,
    },
    { kind: "tokens", key: `${GATEWAY}/token_limiter:global:`, limit, windowMs, amount: 400 },
    { kind: "budget", key: `${GATEWAY}/budget-1`, limit, amount: 2_000_000, ...period },
    { kind: "budget", key: `${GATEWAY}/budget-2/${user}`, limit, amount: 1000, ...period },
  ];
}

function memoryCost(outcome: string, limit: number): Measurement {
  const requests = Array.from({ length: REQUESTS }, (_, request) => fiveClaims(request, limit));
  const ledger = new MemoryLedger();
  const rounds = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    for (const claims of requests) {
      const reservation = ledger.reserve(GATEWAY, claims, "closed");
      if (reservation.reserved) reservation.settle(ACTUAL);
    }
    return ((performance.now() - started) / REQUESTS) * 1000;
  });
  const what = `three token limits, two budgets, ${outcome}`;
  return { what, value: median(rounds), unit: "µs per request", note: "limit 6" };
}

async function redisRows(): Promise<Measurement[]> {
  const redis = await startRedis(["--appendonly", "no"]);
  const store = openLedgerStore();
  const ledger: Ledger & { settled: Promise<void> } = new RedisLedger(redis.url, {
    journal: store.journal,
    silenceTimeoutMs: 1000,
  });
  await ledger.settled;
  try {
    const times: number[] = [];
    let next = 0;
    const started = performance.now();
    const callers = Array.from({ length: PARALLEL }, async () => {
      while (next < REDIS_REQUESTS) {
        const claims = fiveClaims(next++, 1e15);
        const sentAt = performance.now();
        const reservation = await ledger.reserve(GATEWAY, claims, "closed");
        times.push(performance.now() - sentAt);
        if (reservation.reserved) reservation.settle(ACTUAL);
      }
    });
    await Promise.all(callers);
    const rate = (REDIS_REQUESTS / (performance.now() - started)) * 1000;
    return [
      { what: `reserved and settled, ${PARALLEL} at a time`, value: rate, unit: "requests per second" },
      { what: "p50 of the reservations", value: quantile(times, 0.5), unit: "ms" },
      { what: "p99 of the reservations", value: quantile(times, 0.99), unit: "ms" },
    ];
  } finally {
    await ledger.close();
    await store.close();
    await redis.stop();
  }
}
