// Runs the contract of the ledger in memory and in Redis.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { keyOf, reserveCall, scriptArguments } from "../../src/ledger/redis-ledger-calls.ts";
import { RESERVE_SCRIPT } from "../../src/ledger/redis-ledger-scripts.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import type { AccountJournal } from "../../src/ledger/spent-journal.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { runs } from "../support/long-form.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { untilConnected, waitUntil } from "../support/waiting.ts";
import { describeLedger } from "./ledger.contract.ts";

describe("the ledger in memory", () => {
  describeLedger({
    source: "memory",
    walks: runs({ short: 300, long: 10_000 }),
    concurrent: runs({ short: 2000, long: 10_000 }),
    create: (clock) => Promise.resolve(new MemoryLedger({ clock })),
    createSeveral: (clock) => Promise.resolve([new MemoryLedger({ clock })]),
  });

  test("periods are dropped a day after their end, also without a journal", () => {
    const clock = new ManualClock();
    const ledger = new MemoryLedger({ clock });
    const reserve = (key: string) =>
      ledger.reserve(
        "gw",
        [{ kind: "budget", key, period: "hour", endsAt, limit: 10, amount: 1, enforced: true }],
        "closed",
      );
    const endsAt = clock.unixNow() + 3_600_000;
    for (let subject = 0; subject < 1000; subject++) {
      const reservation = reserve(`subject ${subject}`);
      if (reservation.reserved) reservation.settle([1]);
    }
    expect(ledger.size).toBe(1000);
    clock.advance(2 * 86_400_000);
    for (let call = 0; call < 70_000; call++) {
      const reservation = ledger.reserve("gw", [], "closed");
      if (reservation.reserved) reservation.release();
    }
    expect(ledger.size).toBe(0);
  });
});

test("a budget whose period becomes a longer one with the same start is kept until the end of that one", () => {
  const clock = new ManualClock();
  const ledger = new MemoryLedger({ clock });
  const target = { kind: "budget", key: "b", period: "1", limit: 10, amount: 1, enforced: true } as const;
  const day = { ...target, endsAt: clock.unixNow() + 86_400_000 };
  const month = { ...target, endsAt: clock.unixNow() + 30 * 86_400_000 };
  for (const claim of [day, month]) {
    const reservation = ledger.reserve("gw", [claim], "closed");
    if (reservation.reserved) reservation.settle([1]);
  }
  clock.advance(3 * 86_400_000);
  for (let call = 0; call < 70_000; call++) {
    const reservation = ledger.reserve("gw", [], "closed");
    if (reservation.reserved) reservation.release();
  }
  expect(ledger.read("gw", [month])).toEqual([{ spent: 2, reserved: 0 }]);
});

/** More than one call charges. */
const MANY = runs({ short: 1500, long: 10_000 });

describe.skipIf(!hasRedis)("the ledger in Redis", () => {
  let redis: RedisServer;
  let store: LedgerStore;
  beforeAll(async () => {
    store = openLedgerStore();
    redis = await startRedis(["--appendonly", "no"]);
  });
  afterAll(async () => {
    await redis.stop();
    await store.close();
  });

  async function connect(
    manual: ManualClock,
    url = redis.url,
    journal = store.journal,
    clock: Clock = manual,
  ): Promise<RedisLedger> {
    const time = () => clock.unixNow();
    // These tests check the decisions of Redis, so a slow machine must not cause decisions without it.
    const timeouts = { silenceTimeoutMs: 4000, closedTimeoutMs: 0 };
    const ledger = new RedisLedger(url, { clock, time, journal, ...timeouts });
    await untilConnected(ledger, manual);
    return ledger;
  }

  /** A process whose timers do not run, so that it renews nothing. The database does not take it for dead: it has no reservations. */
  const connectMortal = (clock: ManualClock) => {
    const timers = { setInterval: () => new ManualClock().setInterval(() => undefined, 1) };
    const journal: AccountJournal = {
      loadSpending: (...given) => store.journal.loadSpending(...given),
      readSpending: (...given) => store.journal.readSpending(...given),
      finishSpending: (...given) => store.journal.finishSpending(...given),
      installationId: () => store.journal.installationId(),
      readAccounts: (...given) => store.journal.readAccounts(...given),
      changeAccount: (...given) => store.journal.changeAccount(...given),
      writeSpending: ({ changes, ...batch }) =>
        store.journal.writeSpending({
          ...batch,
          changes: changes.map((change) => ({ ...change, reserved: 0, reservedBefore: 0 })),
        }),
    };
    return connect(clock, redis.url, journal, { ...clockOf(clock), ...timers });
  };

  describeLedger({
    source: "redis",
    walks: runs({ short: 60, long: 1000 }),
    concurrent: runs({ short: 2000, long: 10_000 }),
    create: connect,
    createSeveral: async (clock) => [await connect(clock), await connectMortal(clock)],
  });

  test("the reservations of a process without a lease are charged as reserved, until it settles them", async () => {
    const clock = new ManualClock();
    const alive = await connect(clock);
    const dead = await connectMortal(clock);
    const endsAt = clock.unixNow() + 86_400_000;
    const budget = {
      kind: "budget",
      key: "lease",
      period: "day",
      endsAt,
      limit: 100,
      enforced: true,
    } as const;
    const tokens = { kind: "tokens", key: "lease tokens", limit: 100, windowMs: 60_000 } as const;
    const claims = [
      { ...budget, amount: 40 },
      { ...tokens, amount: 40 },
    ];
    const [lost, kept] = [
      await dead.reserve("gw lease", claims, "closed"),
      await alive.reserve("gw lease", claims, "closed"),
    ];
    for (let passed = 0; passed < 29_000; passed += 1000) {
      await alive.peek("gw lease", [], "closed");
      clock.advance(1000);
    }
    expect(await alive.read("gw lease", [budget])).toEqual([{ spent: 0, reserved: 80 }]);
    clock.advance(1000);
    expect(await alive.read("gw lease", [budget])).toEqual([{ spent: 40, reserved: 40 }]);
    expect(await alive.peek("gw lease", [{ ...tokens, amount: 70 }], "closed")).toMatchObject({
      fits: false,
      states: [{ used: 80, waitMs: 60_000 }],
    });
    if (kept.reserved) kept.settle([5, 5]);
    expect(await alive.read("gw lease", [budget])).toEqual([{ spent: 45, reserved: 0 }]);
    // It was alive, but disconnected from Redis: what it reports replaces what was charged.
    clock.advance(1000);
    if (lost.reserved) lost.settle([70, 70]);
    await dead.peek("gw lease", [], "closed");
    expect(await alive.read("gw lease", [budget])).toEqual([{ spent: 75, reserved: 0 }]);
    expect(await alive.peek("gw lease", [{ ...tokens, amount: 26 }], "closed")).toMatchObject({
      fits: false,
      states: [{ used: 75, waitMs: 59_000 }],
    });
    await Promise.all([alive.close(), dead.close()]);
  });

  test("a request is released once, also if the reply to its release was lost", async () => {
    const clock = new ManualClock();
    const proxy = startFaultProxy({ port: redis.port });
    const watcher = await connect(clock);
    const ledger = await connect(clock, proxy.through(redis.url));
    const claims = [{ kind: "requests", key: "released", limit: 20_000, windowMs: 60_000 }] as const;
    /** Without the request that is not counted. */
    const used = async () => ((await watcher.peek("gw", claims, "closed")).states[0]?.used ?? 0) - 1;
    const reserved = [];
    for (let request = 0; request < 4; request++) reserved.push(await ledger.reserve("gw", claims, "closed"));
    const [first, second] = reserved;
    // Redis learns the script.
    if (first?.reserved === true) first.release();
    await waitUntil(async () => (await used()) === 3);
    proxy.set({ toClient: { stallAfterBytes: 0 } });
    if (second?.reserved === true) second.release();
    await waitUntil(async () => (await used()) === 2);
    proxy.dropAll();
    await waitUntil(() => ledger.state.state === "away");
    proxy.heal();
    await waitUntil(() => {
      clock.advance(100);
      return ledger.state.state === "ok";
    });
    // What is repeated is sent before this, on the same connection.
    await ledger.peek("gw", [], "closed");
    expect(await used()).toBe(2);
    await Promise.all([ledger.close(), watcher.close()]);
    proxy.stop();
  });

  test("a reservation that arrives after it was given up reserves nothing", async () => {
    const clock = new ManualClock();
    const proxy = startFaultProxy({ port: redis.port });
    const watcher = await connect(clock);
    const ledger = await connect(clock, proxy.through(redis.url));
    const gateway = "gw late";
    const budget = { kind: "budget", key: "late", period: "total", endsAt: null, limit: 100 } as const;
    const claims = [{ ...budget, amount: 10, enforced: true }] as const;
    const open = `gatehouse:{${gateway}}:open:*`;
    await ledger.reserve(gateway, claims, "closed");
    const [key = ""] = (await redis.command("KEYS", open)) as string[];
    const [processId = "", epoch = ""] = key.slice(open.length - 1).split(".");
    proxy.set({ toServer: { stallAfterBytes: 0 } });
    const lost = ledger.reserve(gateway, claims, "open");
    proxy.refuse();
    await lost;
    proxy.heal();
    await waitUntil(() => {
      clock.advance(100);
      return ledger.state.state === "ok";
    });
    // Its cancellation is sent before this, on the same connection.
    await ledger.peek(gateway, [], "closed");
    const call = reserveCall(gateway, claims, { reservationId: "2" });
    const late = scriptArguments(call, processId, epoch, clock.unixNow());
    await redis.command("EVAL", RESERVE_SCRIPT, ...late);
    // The first request, and the one that was admitted instead.
    expect(await watcher.read(gateway, [budget])).toEqual([{ spent: 0, reserved: 20 }]);
    await Promise.all([ledger.close(), watcher.close()]);
    proxy.stop();
  });

  test("a reservation without a reply is charged to no budget, also if its lease ends before it is canceled", async () => {
    const clock = new ManualClock();
    const proxy = startFaultProxy({ port: redis.port });
    const watcher = await connect(clock);
    const ledger = await connect(clock, proxy.through(redis.url));
    const gateway = "gw no reply";
    const budget = { kind: "budget", key: "no reply", period: "total", endsAt: null, limit: 100 } as const;
    const amounts = async () => (await watcher.read(gateway, [budget]))[0];
    await ledger.reserve(gateway, [{ ...budget, amount: 0, enforced: true }], "closed");
    proxy.set({ toClient: { stallAfterBytes: 0 } });
    const reserving = ledger.reserve(gateway, [{ ...budget, amount: 10, enforced: true }], "closed");
    await waitUntil(async () => (await amounts())?.reserved === 10);
    proxy.refuse();
    expect(await reserving).toMatchObject({ reserved: false });
    clock.advance(30_000);
    expect(await amounts()).toEqual({ spent: 10, reserved: 0 });
    proxy.heal();
    await waitUntil(() => {
      clock.advance(100);
      return ledger.state.state === "ok";
    });
    // The cancellation is sent before this, on the same connection.
    await ledger.peek(gateway, [], "closed");
    expect(await amounts()).toEqual({ spent: 0, reserved: 0 });
    await Promise.all([ledger.close(), watcher.close()]);
    proxy.stop();
  });

  test("the next call charges the reservations of eight processes that died together", async () => {
    const clock = new ManualClock();
    const alive = await connect(clock);
    const dead = await Promise.all(Array.from({ length: 8 }, () => connectMortal(clock)));
    const gateway = "gw eight";
    const budget = { kind: "budget", key: "eight", period: "total", endsAt: null } as const;
    const tokens = { kind: "tokens", key: "eight tokens", limit: 80, windowMs: 10_000, amount: 10 } as const;
    const claims = [{ ...budget, limit: 1000, amount: 5, enforced: true }, tokens];
    for (const process of dead)
      expect(await process.reserve(gateway, claims, "closed")).toMatchObject({ reserved: true });
    clock.advance(29_000);
    expect(await alive.reserve(gateway, [tokens], "closed")).toMatchObject({ reserved: false });
    // The end of the lease, and the window after it.
    clock.advance(11_000);
    expect(await alive.reserve(gateway, [{ ...tokens, amount: 80 }], "closed")).toMatchObject({
      reserved: true,
      states: [{ used: 80 }],
    });
    expect(await alive.read(gateway, [budget])).toEqual([{ spent: 40, reserved: 0 }]);
    await Promise.all([alive, ...dead].map((ledger) => ledger.close()));
  });

  test(`a dead process with ${MANY} open reservations is charged completely`, async () => {
    const clock = new ManualClock();
    const [alive, dead] = [await connect(clock), await connectMortal(clock)];
    const target = { kind: "budget", key: "many", period: "total", endsAt: null } as const;
    const claims = [{ ...target, limit: 100_000, amount: 1, enforced: true }];
    const reserve = async () => await dead.reserve("gw many", claims, "closed");
    await Promise.all(Array.from({ length: MANY }, reserve));
    clock.advance(30_000);
    // Each call charges a part of them.
    await waitUntil(async () => (await alive.read("gw many", [target]))[0]?.reserved === 0);
    expect(await alive.read("gw many", [target])).toEqual([{ spent: MANY, reserved: 0 }]);
    await Promise.all([alive.close(), dead.close()]);
  });

  test("a window that was shortened has at most 10,000 entries, and forgets none", async () => {
    const startMs = Date.now();
    let calls = 0;
    // Each at its own time.
    const time = () => startMs + calls++;
    const ledger = new RedisLedger(redis.url, { time, silenceTimeoutMs: 4000 });
    await waitUntil(() => ledger.state.state === "ok");
    await redis.command("FLUSHALL");
    const claim = { kind: "requests", key: "bound", limit: 10_000, windowMs: 3_600_000 } as const;
    const reserve = async () => (await ledger.reserve("gw bound", [claim], "closed")).reserved;
    const outcomes = await Promise.all(Array.from({ length: 10_000 }, reserve));
    expect(outcomes).not.toContain(false);
    const short = { ...claim, windowMs: 1000 };
    calls += 2000;
    for (let count = 0; count < 10; count++)
      expect(await ledger.reserve("gw bound", [short], "closed")).toMatchObject({
        reserved: true,
        states: [{ used: count + 1 }],
      });
    const [name = ""] = (await redis.command("KEYS", "*sliding*")) as string[];
    expect(Number(await redis.command("LLEN", name))).toBe(10_000);
    expect(await ledger.peek("gw bound", [claim], "closed")).toMatchObject({
      fits: false,
      states: [{ used: 10_010 }],
    });
    await ledger.close();
  });

  test("every key expires, and a refused request creates none", async () => {
    const ledger = await connect(new ManualClock());
    await redis.command("FLUSHALL");
    const endsAt = Date.now() + 60_000;
    const claims = [
      { kind: "requests", key: "ttl", limit: 5, windowMs: 60_000 },
      { kind: "tokens", key: "ttl", limit: 5, windowMs: 60_000, amount: 5 },
      { kind: "budget", key: "ttl", period: "p", endsAt, limit: 5, amount: 5, enforced: true },
      { kind: "budget", key: "ttl", period: "total", endsAt: null, limit: 5, amount: 5, enforced: true },
    ] as const;
    const distinct = claims.map((claim, at) => ({ ...claim, key: `ttl ${at}` }));
    const tooMuch = { kind: "tokens", key: "never", limit: 1, windowMs: 1000, amount: 2 } as const;
    await ledger.reserve("gw ttl", [...distinct, tooMuch], "closed");
    // The epoch of the gateway.
    expect(await redis.command("KEYS", "*")).toEqual(["gatehouse:{gw ttl}:epoch"]);
    await ledger.reserve("gw ttl", distinct, "closed");
    const keys = (await redis.command("KEYS", "*")) as string[];
    expect(keys.length).toBe(7);
    for (const key of keys) {
      expect(key).toContain("{gw ttl}");
      expect(await redis.command("PTTL", key)).toBeGreaterThan(0);
    }
    await ledger.close();
  });

  test("windows that Redis has lost are rebuilt from what the running processes have admitted", async () => {
    const clock = new ManualClock();
    const [one, two] = [await connect(clock), await connect(clock)];
    const gateway = crypto.randomUUID();
    const limit = { limit: 100, windowMs: 60_000 };
    const claims = [
      { ...limit, kind: "requests", key: `${gateway} requests` },
      { ...limit, kind: "tokens", key: `${gateway} tokens`, amount: 5 },
    ] as const;
    for (const ledger of [one, one, two]) {
      const outcome = await ledger.reserve(gateway, claims, "closed");
      if (outcome.reserved) outcome.settle([0, 7]);
    }
    const open = await two.reserve(gateway, claims, "closed");
    const used = async () => (await one.peek(gateway, claims, "closed")).states.map((state) => state.used);
    // With what peeking itself would use.
    await waitUntil(async () => (await used())[1] === 3 * 7 + 2 * 5);
    expect(await used()).toEqual([5, 31]);
    await redis.command("FLUSHALL");
    await two.peek(gateway, [], "closed");
    await waitUntil(async () => (await used())[1] === 31);
    expect(await used()).toEqual([5, 31]);
    if (open.reserved) open.settle([0, 9]);
    await waitUntil(async () => (await used())[1] === 35);
    await Promise.all([one.close(), two.close()]);
  });

  test("what an earlier version has counted in Redis is kept, and written to the database", async () => {
    const ledger = await connect(new ManualClock());
    const target = { kind: "budget", key: crypto.randomUUID(), period: "total", endsAt: null } as const;
    const gateway = "gw earlier";
    await redis.command("HSET", keyOf(gateway, target), "spent", "70", "reserved", "9");
    const claim = { ...target, limit: 100, enforced: true };
    const reserve = async (amount: number) => await ledger.reserve(gateway, [{ ...claim, amount }], "closed");
    expect(await reserve(31)).toMatchObject({ reserved: false, states: [{ used: 70 }] });
    expect(await reserve(30)).toMatchObject({ reserved: true, states: [{ used: 100 }] });
    expect(await store.journal.readAccounts("test", [target], 0)).toMatchObject([{ spent: 70 }]);
    await redis.command("FLUSHALL");
    expect(await reserve(1)).toMatchObject({ reserved: false, states: [{ used: 100 }] });
    await ledger.close();
  });

  test("a budget expires after the longest of its periods with the same start", async () => {
    const ledger = await connect(new ManualClock());
    await redis.command("FLUSHALL");
    const target = { kind: "budget", key: "b", period: "1", limit: 10, amount: 1, enforced: true } as const;
    const [day, month] = [1, 30].map((days) => ({ ...target, endsAt: Date.now() + days * 86_400_000 }));
    const daysLeft = async () => {
      const [key] = (await redis.command("KEYS", "*:budget:*")) as string[];
      return Math.round(Number(await redis.command("PTTL", key ?? "")) / 86_400_000);
    };
    const ended: number[] = [];
    for (const claim of [day!, month!, day!]) {
      const reservation = await ledger.reserve("gw ends", [claim], "closed");
      if (reservation.reserved) reservation.settle([1]);
      ended.push(await daysLeft());
    }
    // Three days longer.
    expect(ended).toEqual([4, 33, 33]);
    await ledger.adjust("gw ends", day!, 1);
    expect(await daysLeft()).toBe(33);
    await ledger.close();
  });
});

function clockOf(clock: ManualClock): Clock {
  return {
    now: () => clock.now(),
    unixNow: () => clock.unixNow(),
    setTimeout: (callback, ms) => clock.setTimeout(callback, ms),
    setInterval: (callback, ms) => clock.setInterval(callback, ms),
  };
}
