// Rendezvous hashing: stable, and proportional to the weights.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import { pickByHash } from "./rendezvous-hash.ts";
import { hashText } from "./text-hash.ts";

const clients = Array.from({ length: 20_000 }, (_, n) => hashText(`10.0.${n >> 8}.${n & 255}`));

describe("rendezvous hash", () => {
  test("maps a client to the same target for any order of targets", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), fc.nat(0xffff_ffff), (size, client) => {
        const all = contendersOf(Array.from({ length: size }, () => 1));
        const picked = pickByHash(all, client);
        expect(pickByHash([...all].reverse(), client)).toBe(picked);
      }),
    );
  });

  test("removing a target moves only its clients", () => {
    const all = contendersOf([1, 2, 3, 4, 5]);
    for (const removed of all) {
      const rest = all.filter((contender) => contender !== removed);
      for (const client of clients.slice(0, 2000)) {
        const before = pickByHash(all, client);
        const after = pickByHash(rest, client);
        if (before === removed.index) expect(after).not.toBe(before);
        else expect(after).toBe(before);
      }
    }
  });

  test("distributes similar addresses by weight", () => {
    for (const weights of [[1, 1], [3, 1], [1, 2, 3, 4], Array.from({ length: 70 }, () => 1)]) {
      const all = contendersOf(weights);
      const counts = weights.map(() => 0);
      for (const client of clients) counts[pickByHash(all, client)]!++;
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [i, count] of counts.entries()) {
        const share = weights[i]! / total;
        const deviation = Math.sqrt(clients.length * share * (1 - share));
        expect(Math.abs(count - clients.length * share)).toBeLessThan(5 * deviation);
      }
    }
  });
});
