// A Redis whose user may not use INFO, so that it does not say when another process of Redis replies: what that one has lost is not open.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { untilConnected, waitUntil } from "../support/waiting.ts";

describe.skipIf(!hasRedis)("a Redis that does not say which process it is", () => {
  let redis: RedisServer;
  let store: LedgerStore;
  const clock = new ManualClock();
  beforeAll(async () => {
    const user = ["limited", "on", ">secret", "~*", "&*", "+@all", "-info"];
    redis = await startRedis(["--appendonly", "no", "--user", ...user]);
    store = openLedgerStore();
  });
  afterAll(async () => {
    await redis.stop();
    await store.close();
  });

  const gateway = "without info";
  const target = { kind: "budget", key: "without info", period: "total", endsAt: null } as const;

  async function connect(): Promise<RedisLedger> {
    const ledger = new RedisLedger(redis.url.replace("//", "//limited:secret@"), {
      clock,
      time: () => clock.unixNow(),
      journal: store.journal,
      silenceTimeoutMs: 1_000_000,
      closedTimeoutMs: 1_000_000,
    });
    await untilConnected(ledger, clock);
    return ledger;
  }

  async function reserve(ledger: RedisLedger, amount: number) {
    const claim = { ...target, limit: 100, amount, enforced: true };
    return ledger.reserve(gateway, [claim], "closed");
  }

  async function spend(ledger: RedisLedger, amount: number): Promise<void> {
    const outcome = await reserve(ledger, amount);
    expect(outcome).toMatchObject({ reserved: true, source: "redis" });
    if (outcome.reserved) outcome.settle([amount]);
    // Redis executes the settlement first: both are sent on one connection.
    await ledger.read(gateway, [target]);
  }

  test("compares budgets with the database after each new connection", async () => {
    const [first, second] = [await connect(), await connect()];
    await spend(second, 10);
    await spend(first, 20);
    await redis.command("SAVE");
    await spend(first, 60);
    await first.close();
    await redis.kill();
    await redis.start();
    const fresh = await connect();
    expect(await reserve(fresh, 11)).toMatchObject({ reserved: false, states: [{ used: 90 }] });
    await fresh.close();
    await redis.kill();
    await redis.start();
    // The other process, which has never read what the first one wrote.
    await waitUntil(() => {
      clock.advance(10);
      return second.state.state === "ok";
    });
    expect(await reserve(second, 11)).toMatchObject({ reserved: false, states: [{ used: 90 }] });
    expect(await reserve(second, 10)).toMatchObject({ reserved: true, states: [{ used: 100 }] });
    await second.close();
  });
});
