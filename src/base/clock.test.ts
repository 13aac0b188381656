// The manual clock, which other tests rely on: timers run at their time, in order, and not after they are closed.
import { expect, test } from "bun:test";
import { systemClock } from "./clock.ts";
import { ManualClock } from "./manual-clock.fixture.ts";

test("time and date pass only when they are advanced", () => {
  const clock = new ManualClock();
  const [now, unixNow] = [clock.now(), clock.unixNow()];
  clock.advance(1500);
  expect([clock.now() - now, clock.unixNow() - unixNow]).toEqual([1500, 1500]);
  clock.shiftDate(-500);
  expect([clock.now() - now, clock.unixNow() - unixNow]).toEqual([1500, 1000]);
});

test("due timers run in order, each at its time, including those that a timer starts", () => {
  const clock = new ManualClock();
  const start = clock.now();
  const calls: [name: string, at: number][] = [];
  const record = (name: string) => void calls.push([name, clock.now() - start]);
  clock.setTimeout(() => {
    record("late");
    clock.setTimeout(() => record("nested"), 10);
  }, 30);
  clock.setTimeout(() => record("early"), 5);
  const interval = clock.setInterval(() => record("interval"), 20);
  clock.setTimeout(() => record("closed"), 10).close();
  clock.advance(40);
  expect(calls).toEqual([
    ["early", 5],
    ["interval", 20],
    ["late", 30],
    ["interval", 40],
    ["nested", 40],
  ]);
  interval.close();
  expect(clock.timerCount).toBe(0);
});

test("a blocked process runs its timers late, and an interval once", () => {
  const clock = new ManualClock();
  let calls = 0;
  clock.setInterval(() => calls++, 10);
  clock.block(100);
  expect(calls).toBe(1);
  clock.advance(10);
  expect(calls).toBe(2);
});

test("timers of the system clock run, and do not after they are closed", async () => {
  const done = Promise.withResolvers<undefined>();
  let closedCalls = 0;
  const closed = [
    systemClock.setTimeout(() => closedCalls++, 1),
    systemClock.setInterval(() => closedCalls++, 1),
  ];
  for (const timer of closed) timer.close();
  let ticks = 0;
  const interval = systemClock.setInterval(() => ++ticks === 2 && done.resolve(undefined), 2);
  await done.promise;
  interval.close();
  expect(closedCalls).toBe(0);
});
