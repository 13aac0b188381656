// The calls of plugins in shadow mode run in order, and leave turns of the event loop to requests.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ShadowTurns } from "./shadow-turns.ts";

/** Counts the turns of the event loop until it is stopped. */
class TurnCounter {
  turn = 0;
  #isStopped = false;

  constructor() {
    const count = () => {
      this.turn++;
      if (!this.#isStopped) setImmediate(count);
    };
    setImmediate(count);
  }

  stop(): void {
    this.#isStopped = true;
  }
}

/** Adds as many calls, and resolves to the turns in which they ran, in the order of the calls. */
async function turnsOf(counts: readonly number[]): Promise<{ order: number[]; ranIn: number[] }> {
  const turns = new ShadowTurns();
  const counter = new TurnCounter();
  const [order, ranIn]: [number[], number[]] = [[], []];
  let added = 0;
  for (const count of counts) {
    for (let call = 0; call < count; call++) {
      const number = added++;
      turns.add(() => {
        order.push(number);
        ranIn.push(counter.turn);
      });
    }
    await eventLoopTurns(1);
  }
  while (order.length < added) await eventLoopTurns(1);
  counter.stop();
  return { order, ranIn };
}

test("a turn of the event loop has at most a quarter of the waiting calls, rounded up, in the order in which they were added", async () => {
  const batches = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batches, async (counts) => {
      const { order, ranIn } = await turnsOf(counts);
      const all = counts.reduce((sum, count) => sum + count, 0);
      expect(order).toEqual(Array.from({ length: all }, (_, number) => number));
      let ran = 0;
      while (ran < all) {
        const inTurn = ranIn.filter((turn) => turn === ranIn[ran]).length;
        expect(inTurn).toBeLessThanOrEqual(Math.ceil((all - ran) / 4));
        ran += inTurn;
      }
    }),
    { numRuns: 50 },
  );
});

test("few calls run in one turn each", async () => {
  const { ranIn } = await turnsOf([4]);
  expect(new Set(ranIn).size).toBe(4);
});

test("what a call leaves to promises happens before the next call of the same turn", async () => {
  const turns = new ShadowTurns();
  const events: string[] = [];
  for (let call = 0; call < 8; call++)
    turns.add(() => {
      events.push(`call ${call}`);
      void Promise.resolve().then(() => events.push(`rest of ${call}`));
    });
  while (events.length < 16) await eventLoopTurns(1);
  expect(events).toEqual(Array.from({ length: 8 }, (_, call) => [`call ${call}`, `rest of ${call}`]).flat());
});
