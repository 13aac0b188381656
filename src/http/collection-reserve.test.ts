// The reserve is held while large bodies are freed, and only then.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "./body-budget.ts";
import { CoarseDeadlines } from "./coarse-deadlines.ts";
import {
  CollectionReserve,
  MAX_RESERVE_BYTES,
  MIN_FREED_BYTES,
  PERIOD_MS,
  RESERVE_PER_BYTE,
} from "./collection-reserve.ts";
import { IncomingBody } from "./incoming-body.ts";

test("the reserve is held after enough bytes were freed, and in each period that has as many", () => {
  const clock = new ManualClock();
  const reserve = new CollectionReserve(clock);
  reserve.onFreed(MIN_FREED_BYTES - 1);
  expect(reserve.bytes).toBe(0);
  expect(clock.timerCount).toBe(0);
  reserve.onFreed(1);
  expect(reserve.bytes).toBe(MAX_RESERVE_BYTES);
  for (let period = 0; period < 3; period++) {
    reserve.onFreed(MIN_FREED_BYTES / 2);
    reserve.onFreed(MIN_FREED_BYTES / 2);
    clock.advance(PERIOD_MS);
    expect(reserve.bytes).toBe(MAX_RESERVE_BYTES);
  }
  reserve.onFreed(MIN_FREED_BYTES - 1);
  clock.advance(PERIOD_MS);
  expect(reserve.bytes).toBe(0);
  expect(clock.timerCount).toBe(0);
  reserve.onFreed(MIN_FREED_BYTES - 1);
  expect(reserve.bytes).toBe(0);
  reserve.onFreed(1);
  expect(reserve.bytes).toBe(MAX_RESERVE_BYTES);
});

test("the reserve has the size for the mean of the bodies that were freed in the period before", () => {
  const clock = new ManualClock();
  const reserve = new CollectionReserve(clock);
  const freeBodies = (...sizes: readonly number[]) => {
    for (let freed = 0; freed < MIN_FREED_BYTES; freed += sizes[0]! + sizes[1]!)
      for (const size of sizes) reserve.onFreed(size);
  };
  freeBodies(20_000, 20_000);
  expect(reserve.bytes).toBe(20_000 * RESERVE_PER_BYTE);
  freeBodies(20_000, 40_000);
  expect(reserve.bytes).toBe(20_000 * RESERVE_PER_BYTE);
  clock.advance(PERIOD_MS);
  expect(reserve.bytes).toBe(30_000 * RESERVE_PER_BYTE);
  freeBodies(1_000_000, 20_000);
  clock.advance(PERIOD_MS);
  expect(reserve.bytes).toBe(MAX_RESERVE_BYTES);
});

test("the memory of bodies counts once, when it is freed", () => {
  const clock = new ManualClock();
  const bodyBudget = new BodyBudget(4 * MIN_FREED_BYTES, clock);
  const limits = { maxBodyBytes: 2 * MIN_FREED_BYTES, deadlines: new CoarseDeadlines(clock), bodyBudget };
  const half = IncomingBody.complete(new Uint8Array(MIN_FREED_BYTES / 2), limits);
  half.take();
  half.free();
  half.free();
  half.release();
  expect(bodyBudget.collectionReserve.bytes).toBe(0);
  const kept = IncomingBody.complete(new Uint8Array(MIN_FREED_BYTES), limits);
  kept.take();
  kept.release();
  expect(bodyBudget.collectionReserve.bytes).toBe(0);
  const rest = IncomingBody.complete(new Uint8Array(MIN_FREED_BYTES / 2), limits);
  rest.take();
  rest.free();
  expect(bodyBudget.collectionReserve.bytes).toBe(MAX_RESERVE_BYTES);
});
