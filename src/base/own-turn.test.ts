import { expect, test } from "bun:test";
import { countTurns } from "../../test/support/counted-turns.ts";
import { ownTurn, TurnMeter, Turns } from "./own-turn.ts";

/** Each item takes 1 ms of a clock that nothing else advances. */
function workshop() {
  let time = 0;
  const turns = new Turns(() => time);
  const counted = countTurns();
  const inTurn = new Map<number, number>();
  const work = async (items: number, bytes: number) => {
    const meter = new TurnMeter(turns);
    for (let item = 0; item < items; item++) {
      time++;
      inTurn.set(counted.count, (inTurn.get(counted.count) ?? 0) + 1);
      const pause = meter.add(bytes);
      if (pause !== null) await pause;
    }
  };
  return { work, inTurn, counted };
}

test("work on many items is divided over turns, in which others run", async () => {
  const { work, inTurn, counted } = workshop();
  await work(1000, 16 * 1024);
  counted.stop();
  // 5 ms per turn, after the item with which the first turn is noticed.
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(6);
  expect(inTurn.size).toBeGreaterThan(150);
});

test("many workers share the time of a turn, and all of them progress", async () => {
  const { work, inTurn, counted } = workshop();
  const doneAtEnds: number[] = [];
  const done = () => inTurn.values().reduce((sum, items) => sum + items, 0);
  const workers = Array.from({ length: 8 }, () => work(100, 16 * 1024).then(() => doneAtEnds.push(done())));
  await Promise.all(workers);
  counted.stop();
  // In the first turn, each begins before it knows of the others.
  const [first = 0, ...later] = [...inTurn.values()];
  expect(first).toBeLessThanOrEqual(16);
  expect(Math.max(...later)).toBeLessThanOrEqual(6);
  // None of them has ended long before the others.
  expect(Math.min(...doneAtEnds)).toBeGreaterThan(700);
});

test("small items are counted before the clock is read", () => {
  let reads = 0;
  const meter = new TurnMeter(new Turns(() => ++reads));
  for (let item = 0; item < 15; item++) expect(meter.add()).toBeNull();
  expect(reads).toBe(0);
  expect(meter.add()).toBeNull();
  expect(reads).toBe(1);
});

test("work that is done within the time of a turn never waits", () => {
  const meter = new TurnMeter(new Turns(() => 0));
  for (let item = 0; item < 1000; item++) expect(meter.add(100_000)).toBeNull();
});

test("long pieces that cannot be divided get a turn each, and short ones share a turn", async () => {
  let time = 0;
  const turns = new Turns(() => time);
  const counted = countTurns();
  const ranIn: number[] = [];
  const run = (ms: number) =>
    turns.next().then(() => {
      time += ms;
      ranIn.push(counted.count);
    });
  await Promise.all([20, 20, 20, 1, 1, 1].map(run));
  counted.stop();
  expect(new Set(ranIn.slice(0, 4)).size).toBe(4);
  expect(new Set(ranIn.slice(3)).size).toBe(1);
  expect(ranIn).toEqual(ranIn.toSorted((a, b) => a - b));
});

test("others run before the caller continues", async () => {
  const order: string[] = [];
  setImmediate(() => order.push("other"));
  await ownTurn();
  expect(order).toEqual(["other"]);
});
