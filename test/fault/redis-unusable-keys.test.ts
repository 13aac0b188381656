// Keys of one gateway in Redis that another program has overwritten: the limits of this gateway cannot be decided, and those of others are exact.
import { expect, test } from "bun:test";
import { RedisClient } from "bun";
import type { Claim } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import type { UnusableKeys } from "../../src/ledger/redis-data-error.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const requests = (key: string): Claim => ({ kind: "requests", key, limit: 10, windowMs: 60_000 });
const tokens = (key: string): Claim => ({ kind: "tokens", key, limit: 1000, windowMs: 60_000, amount: 10 });

test.if(hasRedis).each([["leases"], ["epoch"], ["open"], ["sliding"]])(
  "a key %s of another type closes the limits of its gateway only",
  async (part) => {
    const redis = await startRedis([]);
    const client = new RedisClient(redis.url);
    const reported: UnusableKeys[] = [];
    const states: string[] = [];
    const ledger = new RedisLedger(redis.url, {
      onUnusableKeys: (unusable) => reported.push(unusable),
      onStateChange: ({ state }) => states.push(state),
    });
    try {
      await ledger.settled;
      const reserve = (gateway: string) => ledger.reserve(gateway, [requests("r"), tokens("t")], "closed");
      for (const gateway of ["one", "other"])
        expect(await reserve(gateway)).toMatchObject({ source: "redis" });
      const keys = (await client.keys("gatehouse:{one}:*")).filter((key) => key.includes(`}:${part}`));
      expect(keys.length).toBeGreaterThan(0);
      for (const key of keys) await client.send("SET", [key, "x"]);
      for (let tries = 0; tries < 5; tries++) {
        expect(await reserve("one")).toMatchObject({ reserved: false, source: "closed" });
        expect(await reserve("other")).toMatchObject({ reserved: true, source: "redis" });
      }
      expect(states).toEqual(["ok"]);
      await waitUntil(() => reported.length > 0);
      expect(reported).toEqual([expect.objectContaining({ gatewayId: "one", keys: expect.any(Array) })]);
      expect(new Set(reported[0]?.keys)).toEqual(new Set(keys));
      for (const key of keys) await client.send("DEL", [key]);
      expect(await reserve("one")).toMatchObject({ reserved: true, source: "redis" });
    } finally {
      await ledger.close();
      client.close();
      await redis.stop();
    }
  },
);
