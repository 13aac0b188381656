// A timeout for one promise; its timer does not outlive the promise.
import { expect, test } from "bun:test";
import { ManualClock } from "./manual-clock.fixture.ts";
import { withTimeout } from "./with-timeout.ts";

const late = () => new Error("too late");

test("a promise that settles in time keeps its value or error", async () => {
  expect(await withTimeout(1000, Promise.resolve(7), late)).toBe(7);
  const failing = Promise.reject(new Error("its own"));
  expect(await withTimeout(1000, failing, late).catch(String)).toBe("Error: its own");
});

test("a promise that does not settle in time is rejected with the timeout error", async () => {
  const clock = new ManualClock();
  const result = withTimeout(1000, new Promise(() => undefined), late, clock).catch(String);
  clock.advance(1000);
  expect(await result).toBe("Error: too late");
});

test("the timer is canceled when the promise settles", async () => {
  const clock = new ManualClock();
  await withTimeout(1000, Promise.resolve(), late, clock);
  expect(clock.timerCount).toBe(0);
});
