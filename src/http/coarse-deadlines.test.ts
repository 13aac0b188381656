// Deadlines expire after their time, not before it, and can be moved and disabled.
import { expect, test } from "bun:test";
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { CoarseDeadlines, type Deadline } from "./coarse-deadlines.ts";
import { fromClients, fromProviders } from "./receive-queue.ts";

const TICK_MS = 50;

function setUp() {
  const clock = new ManualClock();
  const deadlines = new CoarseDeadlines(clock);
  const watch = (dueIn: number) => {
    const deadline: Deadline & { expirations: number } = {
      dueAt: clock.now() + dueIn,
      setPosition: NOT_A_MEMBER,
      expirations: 0,
      expire: () => deadline.expirations++,
    };
    deadlines.watch(deadline);
    return deadline;
  };
  return { clock, deadlines, watch };
}

test("a deadline expires with the first tick after its time, and every tick until it is unwatched", () => {
  const { clock, deadlines, watch } = setUp();
  const deadline = watch(80);
  clock.advance(TICK_MS);
  expect(deadline.expirations).toBe(0);
  clock.advance(TICK_MS);
  expect(deadline.expirations).toBe(1);
  clock.advance(TICK_MS);
  expect(deadline.expirations).toBe(2);
  deadlines.unwatch(deadline);
  clock.advance(10 * TICK_MS);
  expect(deadline.expirations).toBe(2);
});

test("a deadline can be moved while it is watched, and disabled", () => {
  const { clock, watch } = setUp();
  const deadline = watch(Infinity);
  clock.advance(3_600_000);
  expect(deadline.expirations).toBe(0);
  deadline.dueAt = clock.now();
  clock.advance(TICK_MS);
  expect(deadline.expirations).toBe(1);
  deadline.dueAt = Infinity;
  clock.advance(3_600_000);
  expect(deadline.expirations).toBe(1);
});

test("the timer stops when no deadline is watched, and starts with the next one", () => {
  const { clock, deadlines, watch } = setUp();
  const deadline = watch(10);
  expect(clock.timerCount).toBe(1);
  deadlines.unwatch(deadline);
  clock.advance(TICK_MS);
  expect(clock.timerCount).toBe(0);
  const next = watch(10);
  clock.advance(TICK_MS);
  expect(next.expirations).toBe(1);
});

test.each([
  ["a client", fromClients],
  ["a provider", fromProviders],
])("bytes of %s that have arrived are read before deadlines expire", (_, queue) => {
  const { clock, watch } = setUp();
  const deadline = watch(TICK_MS);
  const receiver = {
    queued: null,
    onData: () => void (deadline.dueAt = Infinity),
    onDataError: () => undefined,
  };
  queue.push(receiver, Buffer.from("x"));
  clock.advance(2 * TICK_MS);
  expect(deadline.expirations).toBe(0);
});
