// The calls of plugins in shadow mode run in order, at moments when no request waits for the event loop, and not later than promised.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ShadowTurns } from "./shadow-turns.ts";

/** Calls on a clock and with requests that the test controls. */
class Fixture {
  readonly clock = new ManualClock();
  readonly inFlight = { count: 0, onLeave: null as (() => void) | null };
  readonly turns = new ShadowTurns(this.inFlight, new CoarseDeadlines(this.clock));
  /** The numbers of the calls that ran, and the turns of the event loop in which they did. */
  readonly order: number[] = [];
  readonly ranIn: number[] = [];
  added = 0;
  #turn = 0;
  #isStopped = false;
  onRun: (number: number) => void = () => undefined;

  constructor() {
    const count = () => {
      this.#turn++;
      if (!this.#isStopped) setImmediate(count);
    };
    setImmediate(count);
  }

  add(isUrgent = false): void {
    const number = this.added++;
    const run = () => {
      this.order.push(number);
      this.ranIn.push(this.#turn);
      this.onRun(number);
    };
    this.turns.add({ run }, isUrgent);
  }

  enter(): void {
    this.inFlight.count++;
  }

  leave(): void {
    this.inFlight.count--;
    this.inFlight.onLeave?.();
  }

  /** Lets time pass in steps, as timers of the event loop do. */
  async pass(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed++) {
      this.clock.advance(1);
      await eventLoopTurns(2);
    }
  }

  /** Waits for as many turns as all calls need, one in each. */
  async settle(): Promise<void> {
    await eventLoopTurns(this.added + 3);
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

test("of urgent calls, a turn of the event loop has at most a quarter, rounded up, in the order in which they were added", async () => {
  const batches = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batches, async (counts) => {
      using fixture = new Fixture();
      for (const count of counts) {
        for (let call = 0; call < count; call++) fixture.add(true);
        await eventLoopTurns(1);
      }
      while (fixture.order.length < fixture.added) await eventLoopTurns(1);
      const { order, ranIn, added } = fixture;
      expect(order).toEqual(numbers(added));
      let ran = 0;
      while (ran < added) {
        const inTurn = ranIn.filter((turn) => turn === ranIn[ran]).length;
        expect(inTurn).toBeLessThanOrEqual(Math.ceil((added - ran) / 4));
        ran += inTurn;
      }
    }),
    { numRuns: 50 },
  );
});

test("an urgent call takes along those before it and leaves those after it waiting while a request is in flight", async () => {
  using fixture = new Fixture();
  fixture.inFlight.count = 1;
  fixture.add();
  fixture.add(true);
  fixture.add();
  await fixture.settle();
  expect(fixture.order).toEqual([0, 1]);
});

test("calls wait for others for 10 ms and then run in one turn each", async () => {
  using fixture = new Fixture();
  fixture.add();
  await fixture.pass(9);
  for (let call = 1; call < 9; call++) fixture.add();
  await fixture.settle();
  expect(fixture.order).toEqual([]);
  fixture.clock.advance(1);
  await fixture.settle();
  expect(fixture.order).toEqual(numbers(9));
  expect(new Set(fixture.ranIn).size).toBe(9);
});

test("no call runs while a request is in flight that was received after the call before", async () => {
  using fixture = new Fixture();
  for (let call = 0; call < 3; call++) fixture.add();
  fixture.onRun = () => fixture.enter();
  fixture.clock.advance(10);
  await fixture.settle();
  expect(fixture.order).toEqual([0]);
  for (const ran of [2, 3]) {
    fixture.leave();
    // The calls that are left have waited for 10 ms already.
    await fixture.settle();
    expect(fixture.order).toEqual(numbers(ran));
  }
});

test("a request that arrives together with the end of the last one is served before the calls", async () => {
  using fixture = new Fixture();
  fixture.inFlight.count = 1;
  fixture.add();
  fixture.clock.advance(10);
  fixture.leave();
  fixture.inFlight.count++;
  await fixture.settle();
  expect(fixture.order).toEqual([]);
  fixture.leave();
  await fixture.settle();
  expect(fixture.order).toEqual([0]);
});

test("a request that is read from its socket one turn after the calls could start is served before them", async () => {
  using fixture = new Fixture();
  fixture.add();
  fixture.clock.advance(10);
  setImmediate(() => fixture.enter());
  await fixture.settle();
  expect(fixture.order).toEqual([]);
  fixture.leave();
  await fixture.settle();
  expect(fixture.order).toEqual([0]);
});

test("calls run after 20 ms although requests are in flight all the time", async () => {
  using fixture = new Fixture();
  fixture.inFlight.count = 1;
  for (let call = 0; call < 4; call++) fixture.add();
  // Each request is received before the last one has ended, and none stays.
  for (let passed = 1; passed < 20; passed++) {
    fixture.inFlight.count = passed + 1;
    await fixture.pass(1);
  }
  expect(fixture.order).toEqual([]);
  await fixture.pass(1);
  await fixture.settle();
  expect(fixture.order).toEqual(numbers(4));
});

test.each([
  ["requests that stay open for longer than 10 ms do not count", 0],
  ["when requests that stayed open for long have ended, others count", 3],
])("%s", async (_, ended) => {
  using fixture = new Fixture();
  fixture.inFlight.count = 3;
  fixture.add();
  fixture.clock.advance(10);
  await fixture.settle();
  expect(fixture.order).toEqual([0]);
  for (let request = 0; request < ended; request++) fixture.leave();
  fixture.add();
  fixture.clock.advance(9);
  fixture.inFlight.count++;
  fixture.clock.advance(1);
  await fixture.settle();
  expect(fixture.order).toEqual([0]);
  fixture.leave();
  await fixture.settle();
  expect(fixture.order).toEqual([0, 1]);
});

test("every call runs in order and within 20 ms, whatever requests do", async () => {
  const step = fc.record({
    kind: fc.constantFrom("add", "add", "urgent", "enter", "enter", "leave", "pass"),
    milliseconds: fc.integer({ min: 1, max: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      using fixture = new Fixture();
      const addedAt: number[] = [];
      for (const { kind, milliseconds } of steps) {
        if (kind === "add" || kind === "urgent") {
          addedAt.push(fixture.clock.now());
          fixture.add(kind === "urgent");
        } else if (kind === "enter") fixture.inFlight.count++;
        else if (kind === "leave" && fixture.inFlight.count > 0) fixture.leave();
        else if (kind === "pass") fixture.clock.advance(milliseconds);
        await fixture.settle();
        const due = addedAt.filter((at) => at + 20 <= fixture.clock.now()).length;
        expect(fixture.order.length).toBeGreaterThanOrEqual(due);
      }
      fixture.clock.advance(20);
      await fixture.settle();
      expect(fixture.order).toEqual(numbers(fixture.added));
    }),
    { numRuns: 60 },
  );
});

test("at the end of the process, the calls that wait run although requests are in flight", async () => {
  using fixture = new Fixture();
  fixture.inFlight.count = 2;
  for (let call = 0; call < 30; call++) fixture.add();
  await fixture.turns.drain();
  expect(fixture.order).toEqual(numbers(30));
  fixture.add();
  await fixture.settle();
  expect(fixture.order.length).toBe(31);
});

test("the end of the process waits for calls for a second at most", async () => {
  using fixture = new Fixture();
  for (let call = 0; call < 30; call++) fixture.add();
  fixture.onRun = () => fixture.clock.advance(600);
  await fixture.turns.drain();
  expect(fixture.order.length).toBeLessThan(30);
});

test("what a call leaves to promises happens before the next call of the same turn", async () => {
  using fixture = new Fixture();
  const events: string[] = [];
  fixture.onRun = (call) => {
    events.push(`call ${call}`);
    void Promise.resolve().then(() => events.push(`rest of ${call}`));
  };
  for (let call = 0; call < 8; call++) fixture.add(true);
  while (events.length < 16) await eventLoopTurns(1);
  expect(events).toEqual(numbers(8).flatMap((call) => [`call ${call}`, `rest of ${call}`]));
});
