// A client keeps values within its share, and does not touch those of others.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { ClientCache, type CacheOwner } from "./client-cache.ts";

const MIB = 1024 * 1024;
const shared: CacheOwner = { gatewayId: "g", client: null };
const clientOf = (client: string): CacheOwner => ({ gatewayId: "g", client });

test("values expire, and the timer stops when nothing is kept", () => {
  const clock = new ManualClock();
  const cache = new ClientCache<number>(clock);
  cache.set(shared, "a", 1, 10, clock.now() + 1000);
  expect(cache.get(shared, "a")).toBe(1);
  expect(cache.get(clientOf("x"), "a")).toBeUndefined();
  clock.advance(1000);
  expect(cache.get(shared, "a")).toBeUndefined();
  cache.set(clientOf("x"), "b", 2, 10, clock.now() + 1000);
  clock.advance(60_000);
  expect(clock.timerCount).toBe(0);
});

test("a value that is larger than the share of its owner replaces nothing", () => {
  const clock = new ManualClock();
  const cache = new ClientCache<number>(clock);
  cache.set(clientOf("x"), "a", 1, 10, Infinity);
  cache.set(clientOf("x"), "b", 2, 9 * MIB, Infinity);
  expect([cache.get(clientOf("x"), "a"), cache.get(clientOf("x"), "b")]).toEqual([1, undefined]);
});

test("each client has 8 MiB and all of them 32 MiB, and a flood takes from the one that has most", () => {
  const write = fc.record({
    client: fc.constantFrom("a", "b", "c", "d", "e", "f"),
    key: fc.nat({ max: 30 }),
    size: fc.integer({ min: 0, max: 9 * MIB }),
  });
  fc.assert(
    fc.property(fc.array(write, { maxLength: 60 }), (writes) => {
      const cache = new ClientCache<number>(new ManualClock());
      cache.set(shared, "own", 1, MIB, Infinity);
      cache.set(clientOf("small"), "only", 1, 1000, Infinity);
      const sizes = new Map<string, number>();
      for (const { client, key, size } of writes) {
        cache.set(clientOf(client), String(key), size, size, Infinity);
        sizes.set(`${client} ${key}`, size);
      }
      let total = 0;
      for (const client of ["a", "b", "c", "d", "e", "f"]) {
        let own = 0;
        for (let key = 0; key <= 30; key++) {
          const found = cache.get(clientOf(client), String(key));
          if (found !== undefined) expect(found).toBe(sizes.get(`${client} ${key}`) ?? -1);
          own += found ?? 0;
        }
        expect(own).toBeLessThanOrEqual(8 * MIB);
        total += own;
      }
      expect(total).toBeLessThanOrEqual(32 * MIB);
      expect([cache.get(shared, "own"), cache.get(clientOf("small"), "only")]).toEqual([1, 1]);
    }),
    { numRuns: runs({ short: 100, long: 3000 }) },
  );
});
