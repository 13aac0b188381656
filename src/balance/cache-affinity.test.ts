// cache-affinity compared with a naive oracle, and its stability and load bound.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { pickByAffinity, type AffinityTarget } from "./cache-affinity.ts";
import { rendezvousRank } from "./rendezvous-hash.ts";
import { hashText } from "./text-hash.ts";

const target = fc.record({
  hash: fc.nat(0xffffffff),
  weight: fc.nat(3),
  inFlight: fc.nat(40),
});

/** Sorts all targets by rank, and takes the first that is not above its share. */
function naive(targets: readonly AffinityTarget[], conversation: number): number {
  const used = targets.filter(({ weight }) => weight > 0);
  const total = used.reduce((sum, { inFlight }) => sum + inFlight, 1);
  const weights = used.reduce((sum, { weight }) => sum + weight, 0);
  const order = [...targets.keys()]
    .filter((index) => targets[index]!.weight > 0)
    .sort((a, b) => rank(targets[a]!, conversation) - rank(targets[b]!, conversation));
  const isFree = ({ inFlight, weight }: AffinityTarget) =>
    inFlight < 8 || inFlight + 1 <= (1.25 * total * weight) / weights;
  return order.find((index) => isFree(targets[index]!)) ?? -1;
}

function rank({ hash, weight }: AffinityTarget, conversation: number): number {
  return rendezvousRank(conversation, hash, weight);
}

test("the target is that of a naive oracle, and there is one if any has a weight", () => {
  fc.assert(
    fc.property(fc.array(target, { maxLength: 6 }), fc.nat(0xffffffff), (targets, conversation) => {
      const picked = pickByAffinity(targets, conversation);
      expect(picked).toBe(naive(targets, conversation));
      expect(picked >= 0).toBe(targets.some(({ weight }) => weight > 0));
    }),
    { numRuns: runs({ short: 500, long: 20_000 }) },
  );
});

test("10,000 conversations of 10 turns stay at their target while another one is away and returns", () => {
  const ids = ["a", "b", "c", "d"];
  const all = ids.map((id) => ({ id, hash: hashText(id), weight: 1, inFlight: 0 }));
  const without = all.filter(({ id }) => id !== "c");
  const pick = (targets: typeof all, conversation: string) =>
    targets[pickByAffinity(targets, hashText(conversation))]!.id;
  const counts = new Map<string, number>();
  for (let number = 0; number < 10_000; number++) {
    const conversation = `conversation ${number}`;
    const own = pick(all, conversation);
    counts.set(own, (counts.get(own) ?? 0) + 1);
    for (let turn = 0; turn < 10; turn++) {
      const isAway = turn >= 4 && turn < 6;
      const at = pick(isAway ? without : all, conversation);
      if (!isAway || own !== "c") expect(at).toBe(own);
    }
  }
  for (const count of counts.values()) expect(count).toBeLessThan(2500 * 1.1);
});

test("no target gets more than 1.25 times its share of the requests in flight, beyond 8", () => {
  const targets = Array.from({ length: 4 }, (_, index) => ({
    hash: hashText(String(index)),
    weight: 1,
    inFlight: 0,
  }));
  // One conversation sends all requests.
  for (let total = 1; total <= 400; total++) {
    targets[pickByAffinity(targets, 42)]!.inFlight++;
    for (const { inFlight } of targets) expect(inFlight).toBeLessThanOrEqual(Math.max(8, (1.25 * total) / 4));
  }
});
