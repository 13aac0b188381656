// Pauses of Redis: what fails closed waits for it, what is decided without it is reported to it afterwards.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import type { Claim, Refusal, Reservation, UnavailablePolicy } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { runs } from "../support/long-form.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { eventLoopTurns, untilConnected, waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;
const SILENT_MS = 16;
const CLOSED_MS = 1000;
const PAUSES = runs({ short: 8, long: 80 });
const SENDERS = 12;

const budget = (amount = 1) =>
  ({ kind: "budget", key: "b", period: "total", endsAt: null, limit: 100, amount, enforced: true }) as const;
const requests = { kind: "requests", key: "r", limit: 100, windowMs: 600_000 } as const;
const tokens = { kind: "tokens", key: "t", limit: 100, windowMs: 600_000, amount: 10 } as const;

describe.skipIf(!hasRedis)("a ledger whose Redis pauses", () => {
  let redis: RedisServer;
  let store: LedgerStore;
  beforeAll(async () => {
    redis = await startRedis(["--appendonly", "no"]);
    store = openLedgerStore();
  });
  afterAll(async () => {
    await redis.stop();
    await store.close();
  });

  async function connect(clock: ManualClock, options: { onLocalDecision?: () => void } = {}) {
    const ledger = new RedisLedger(redis.url, { clock, journal: store.journal, ...options });
    await untilConnected(ledger, clock);
    return ledger;
  }

  /** Resolves when the ledger has noticed that Redis does not reply. */
  async function untilSilent(clock: ManualClock, ledger: RedisLedger): Promise<void> {
    await waitUntil(() => {
      clock.advance(SILENT_MS / 4);
      return ledger.state.state === "away";
    });
  }

  async function untilAvailable(clock: ManualClock, ledger: RedisLedger): Promise<void> {
    await waitUntil(() => {
      clock.advance(10);
      return ledger.state.state === "ok";
    });
  }

  /** Calls `reserve`, which must not be decided yet. */
  async function pending(ledger: RedisLedger, gateway: string, claims: readonly Claim[]) {
    let outcome: Reservation | Refusal | null = null;
    const deciding = Promise.resolve(ledger.reserve(gateway, claims, "closed")).then((found) => {
      outcome = found;
      return found;
    });
    await eventLoopTurns();
    expect(outcome).toBeNull();
    return { deciding, isDecided: () => outcome !== null };
  }

  test("decides a request that fails closed when Redis replies again", async () => {
    const clock = new ManualClock();
    const ledger = await connect(clock);
    const gateway = crypto.randomUUID();
    await ledger.reserve(gateway, [budget()], "closed");
    redis.pause();
    const sent = await pending(ledger, gateway, [budget()]);
    await untilSilent(clock, ledger).finally(() => redis.resume());
    const later = await pending(ledger, gateway, [budget(98)]);
    const excess = await pending(ledger, gateway, [budget(99)]);
    await untilAvailable(clock, ledger);
    expect(await sent.deciding).toMatchObject({ reserved: true, source: "redis" });
    expect(await later.deciding).toMatchObject({ reserved: true, source: "redis" });
    expect(await excess.deciding).toMatchObject({ reserved: false, source: "redis" });
    await ledger.close();
  });

  test("rejects it REDIS_CLOSED_MS after the last reply, and others at once from then on", async () => {
    const clock = new ManualClock();
    const ledger = await connect(clock);
    const gateway = crypto.randomUUID();
    await ledger.reserve(gateway, [budget()], "closed");
    redis.pause();
    try {
      const startedAt = clock.now();
      const sent = await pending(ledger, gateway, [budget()]);
      await untilSilent(clock, ledger);
      const later = await pending(ledger, gateway, [budget()]);
      clock.advance(startedAt + CLOSED_MS - 1 - clock.now());
      await eventLoopTurns();
      expect([sent, later].map(({ isDecided }) => isDecided())).toEqual([false, false]);
      clock.advance(1);
      for (const { deciding } of [sent, later])
        expect(await deciding).toMatchObject({ reserved: false, source: "closed" });
      expect(ledger.reserve(gateway, [budget()], "closed")).toMatchObject({
        reserved: false,
        source: "closed",
      });
    } finally {
      redis.resume();
    }
    await ledger.close();
  });

  test.each<UnavailablePolicy>(["local", "open"])(
    "reports what `%s` has admitted when Redis replies again, while it is open and when it has ended",
    async (policy) => {
      const clock = new ManualClock();
      let decisions = 0;
      const ledger = await connect(clock, { onLocalDecision: () => decisions++ });
      const other = await connect(new ManualClock());
      const gateway = crypto.randomUUID();
      const claims = [requests, tokens, budget(10)].map((claim) => ({ ...claim, key: gateway + claim.key }));
      const used = async () => {
        const { states } = await other.peek(gateway, claims, "closed");
        return states.map((state) => state.used);
      };
      // What peeking itself would use.
      expect(await used()).toEqual([1, 10, 10]);
      await ledger.peek(gateway, claims, policy);
      redis.pause();
      const [first] = [ledger.reserve(gateway, claims, policy)];
      await untilSilent(clock, ledger);
      const second = await ledger.reserve(gateway, claims, policy);
      expect([(await first).source, second.source, decisions]).toEqual([policy, policy, 2]);
      redis.resume();
      await untilAvailable(clock, ledger);
      await waitUntil(async () => (await used())[2] === 30);
      // The first one may have been counted by Redis, too, when it read what it had received.
      const [counted = 0, ...amounts] = await used();
      expect(counted).toBeWithin(3, 5);
      expect(amounts).toEqual([30, 30]);
      for (const outcome of [await first, second]) if (outcome.reserved) outcome.settle([0, 7, 4]);
      await waitUntil(async () => (await used())[2] === 18);
      expect((await used())[1]).toBe(24);
      await Promise.all([ledger.close(), other.close()]);
    },
  );
});

describe.skipIf(!hasRedis)("a restart of Redis", () => {
  test("counts no request twice, and none less", async () => {
    const redis = await startRedis();
    const store = openLedgerStore();
    const clock = new ManualClock();
    const ledger = new RedisLedger(redis.url, { clock, journal: store.journal, silenceTimeoutMs: 4000 });
    await untilConnected(ledger, clock);
    const gateway = crypto.randomUUID();
    const reserve = async () => await ledger.reserve(gateway, [{ ...requests, key: gateway }], "local");
    for (let request = 0; request < 3; request++) expect((await reserve()).source).toBe("redis");
    await redis.kill();
    await waitUntil(() => ledger.state.state === "away");
    clock.advance(5000);
    for (let request = 0; request < 4; request++) expect((await reserve()).source).toBe("local");
    clock.advance(5000);
    await redis.start();
    await waitUntil(() => {
      clock.advance(10);
      return ledger.state.state === "ok";
    });
    const used = async () => (await reserve()).states[0]?.used;
    expect(await used()).toBe(8);
    await ledger.close();
    await store.close();
    await redis.stop();
  });
});

describe.skipIf(!hasRedis)("pauses of Redis of 20 to 300 ms under load", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let node: GatehouseProcess;
  beforeAll(async () => {
    [redis, provider] = await Promise.all([startRedis(["--appendonly", "no"]), startFakeProvider()]);
    // The default of REDIS_SILENT_MS. A busy machine may add more to a pause than the default of REDIS_CLOSED_MS allows.
    const env = { REDIS_URL: redis.url, REDIS_CLOSED_MS: "30000", WORKERS: "1" };
    node = await startGatehouseProcess({ env });
  }, START_MS);
  afterAll(async () => {
    await node.stop();
    await Promise.all([redis.stop(), provider.stop()]);
  });

  async function seed(amount: string, plugins: readonly unknown[] = []): Promise<SeededRoute> {
    const route = await seedRoute(node, {
      gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }], required_plugins: plugins },
      upstream: { targets: [targetAt(provider)] },
    });
    const fields = { name: "team", unit: "usd", amount };
    await create(node, `/gateways/${route.gateway}/budgets`, fields);
    return route;
  }

  async function statusOf({ path }: SeededRoute): Promise<number> {
    const response = await fetch(node.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, max_tokens: 3 }),
    });
    await response.bytes();
    return response.status;
  }

  test(
    "make no 503, and no 402 becomes one; local decisions are counted",
    async () => {
      const limits = { global: { limit: 1_000_000, window: "1h" } };
      const limiter = { name: "rate_limiter", stage: "pre_request", settings: { limits } };
      const [rich, poor] = [await seed("1000.00"), await seed("0.01")];
      const limited = await seedRoute(node, {
        gateway: { required_plugins: [limiter] },
        upstream: { targets: [targetAt(provider)] },
      });
      expect(await statusOf(poor)).toBe(200);
      await waitUntil(async () => (await statusOf(poor)) === 402);
      const seen = new Map<string, Set<number>>();
      let isOver = false;
      const sender = async (name: string, route: SeededRoute) => {
        const statuses = seen.get(name) ?? new Set();
        seen.set(name, statuses);
        while (!isOver) statuses.add(await statusOf(route));
      };
      const senders = Array.from({ length: SENDERS }, () => [
        sender("rich", rich),
        sender("poor", poor),
        sender("limited", limited),
      ]).flat();
      for (let pause = 0; pause < PAUSES; pause++) {
        redis.pause();
        await Bun.sleep(20 + (280 * pause) / (PAUSES - 1));
        redis.resume();
        await waitUntil(async () => (await statusOf(rich)) === 200);
      }
      isOver = true;
      await Promise.all(senders);
      expect(Object.fromEntries(seen)).toEqual({
        rich: new Set([200]),
        poor: new Set([402]),
        limited: new Set([200]),
      });
      const page = readMetrics(await (await fetch(`${node.adminUrl}/metrics`)).text());
      expect(page.value("gatehouse_local_decisions_total")).toBeGreaterThan(0);
    },
    START_MS,
  );
});
