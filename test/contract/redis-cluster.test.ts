// The ledger on Redis Cluster: the same contract, keys on all masters, slots that move, and masters that stop.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { BudgetClaim, Reservation } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { slotOf } from "../../src/redis/cluster-slots.ts";
import { runs } from "../support/long-form.ts";
import { openLedgerStore, type LedgerStore } from "../support/ledger-store.ts";
import { hasRedisCluster, startRedisCluster, type RedisCluster } from "../support/redis-cluster.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";
import { describeLedger } from "./ledger.contract.ts";

const START_MS = 60_000;
const LIMIT = 300;

const budget = (key: string, amount = 1): BudgetClaim => ({
  kind: "budget",
  key,
  period: "total",
  endsAt: null,
  limit: LIMIT,
  amount,
  enforced: true,
});

describe.skipIf(!hasRedisCluster)("Redis Cluster", () => {
  let cluster: RedisCluster;
  let store: LedgerStore;
  beforeAll(async () => {
    store = openLedgerStore();
    cluster = await startRedisCluster(["--requirepass", "secret", "--masterauth", "secret"]);
  }, START_MS);
  afterAll(async () => {
    await cluster.stop();
    await store.close();
  });

  const journal = () => ({ journal: store.journal });

  async function connect(url = cluster.url, clock?: Clock): Promise<RedisLedger> {
    const manual = clock === undefined ? {} : { clock, time: () => clock.unixNow() };
    const ledger = new RedisLedger(url, { ...manual, ...journal(), silenceTimeoutMs: 4000 });
    await ledger.settled;
    expect(ledger.state).toEqual({ state: "ok" });
    // Connects to all masters. A manual clock that advances meanwhile would exceed the timeout of the connections.
    for (const gateway of await gatewayPerMaster()) await ledger.peek(gateway, [], "closed");
    return ledger;
  }
  /** Returns a gateway id for each master. */
  async function gatewayPerMaster(): Promise<string[]> {
    const found = new Map<number, string>();
    for (let at = 0; found.size < cluster.masters.length; at++)
      found.set((await cluster.masterOf(`{gateway-${at}}`)).port, `gateway-${at}`);
    return cluster.masters.map(({ port }) => found.get(port) ?? "");
  }

  describe("the ledger", () => {
    describeLedger({
      source: "redis",
      walks: runs({ short: 20, long: 500 }),
      concurrent: runs({ short: 1000, long: 10_000 }),
      create: (clock) => connect(cluster.url, clock),
      createSeveral: async (clock) => [await connect(cluster.url, clock)],
    });
  });

  test("slots are those of the server", async () => {
    for (const key of ["a", "{a}b", "x{}y", "{", "}{a}", "gatehouse:{0198c2f1-7a54}:leases", "ü{é}"])
      expect(slotOf(key)).toBe(await cluster.slotOf(key));
  });

  test("one seed is enough, and gateways are spread over the masters", async () => {
    const ledger = await connect(cluster.masters[0]?.url);
    for (const gateway of await gatewayPerMaster()) {
      const reserved = await ledger.reserve(gateway, [budget(`spread ${gateway}`)], "closed");
      expect(reserved).toMatchObject({ reserved: true, source: "redis" });
      const limit = { kind: "requests", key: `limit ${gateway}`, limit: 1, windowMs: 60_000 } as const;
      const admit = async () => (await ledger.reserve(gateway, [limit], "closed")).reserved;
      expect([await admit(), await admit()]).toEqual([true, false]);
      const master = await cluster.masterOf(`{${gateway}}`);
      expect(await master.command("KEYS", `*{${gateway}}:budget:*`)).toHaveLength(1);
      expect(await master.command("KEYS", `*{${gateway}}:sliding:*`)).toHaveLength(1);
    }
    await ledger.close();
  });

  test(
    "a slot that moves under load never admits too many, and every reservation ends once",
    async () => {
      const ledgers = await Promise.all([connect(), connect(), connect()]);
      const gateway = "moving";
      const from = await cluster.masterOf(`{${gateway}}`);
      const to = cluster.masters.find((master) => master !== from) ?? from;
      let [admitted, isMoved] = [0, false];
      const send = async (ledger: RedisLedger, sender: number) => {
        for (let sent = 0; sent < 40 || !isMoved; sent++) {
          // Many keys, so that the move takes a while and finds new ones.
          const tokens = {
            kind: "tokens",
            key: `${sender}-${sent}`,
            limit: 5,
            windowMs: 60_000,
            amount: 5,
          } as const;
          const outcome = await ledger.reserve(gateway, [budget("moved"), tokens], "closed");
          // Decisions without Redis are made at once: let the event loop read its sockets.
          if (!outcome.reserved) await eventLoopTurns();
          if (!outcome.reserved) continue;
          admitted++;
          await Promise.resolve();
          outcome.settle([1, 5]);
        }
      };
      const senders = ledgers.flatMap((ledger, at) =>
        [0, 1, 2, 3].map((more) => send(ledger, 4 * at + more)),
      );
      const [first] = ledgers;
      await waitUntil(() => admitted > 20);
      await cluster.moveSlot(await cluster.slotOf(`{${gateway}}`), to, undefined, 1);
      isMoved = true;
      await Promise.all(senders);
      const claim = budget("moved");
      await waitUntil(async () => (await first.read(gateway, [claim]))[0]?.reserved === 0);
      expect(await first.read(gateway, [claim])).toEqual([{ spent: admitted, reserved: 0 }]);
      expect(admitted).toBeLessThanOrEqual(LIMIT);
      const rest: Reservation[] = [];
      for (let outcome = await first.reserve(gateway, [claim], "closed"); outcome.reserved;) {
        rest.push(outcome);
        outcome = await first.reserve(gateway, [claim], "closed");
      }
      expect(admitted + rest.length).toBe(LIMIT);
      await Promise.all(ledgers.map((ledger) => ledger.close()));
    },
    START_MS,
  );

  test(
    "a master that stops affects only its own gateways, and its settlements are made up for once",
    async () => {
      const ledger = new RedisLedger(cluster.url, { ...journal(), silenceTimeoutMs: 300 });
      await ledger.settled;
      const [first = "", second = ""] = await gatewayPerMaster();
      const claims = [budget("stopped")];
      const open = await ledger.reserve(first, claims, "closed");
      expect(await ledger.reserve(second, claims, "closed")).toMatchObject({ reserved: true });
      const [stopped] = cluster.masters;
      stopped?.pause();
      try {
        if (open.reserved) open.settle([7]);
        await waitUntil(() => ledger.state.state === "away");
        expect(ledger.state.detail).toContain(`127.0.0.1:${stopped?.port}`);
        expect(ledger.state.detail).toContain("slots");
        expect(await ledger.reserve(first, claims, "closed")).toMatchObject({
          reserved: false,
          source: "closed",
        });
        expect(await ledger.reserve(second, claims, "closed")).toMatchObject({
          reserved: true,
          source: "redis",
        });
      } finally {
        stopped?.resume();
      }
      await waitUntil(() => ledger.state.state === "ok");
      const amounts = async () => (await ledger.read(first, claims))[0];
      await waitUntil(async () => (await amounts())?.reserved === 0);
      expect(await amounts()).toEqual({ spent: 7, reserved: 0 });
      await ledger.close();
    },
    START_MS,
  );

  test("a server without Cluster among several seeds is reported", async () => {
    const ledger = new RedisLedger("redis://127.0.0.1:1,127.0.0.1:2", {
      clock: new ManualClock(),
      closedTimeoutMs: 0,
    });
    await ledger.settled;
    expect(ledger.state).toMatchObject({
      state: "away",
      detail: expect.stringContaining("127.0.0.1:2") as string,
    });
    expect(await ledger.reserve("gw", [budget("none")], "closed")).toMatchObject({ source: "closed" });
    await ledger.close();
  });
});
