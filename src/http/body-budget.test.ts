// The memory budget of request bodies: what it admits, and whom it refuses when it is full.
import { beforeEach, expect, test } from "bun:test";
import { GatehouseError } from "../base/errors.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget, type ArrivingBody } from "./body-budget.ts";

const LIMIT = 800_000;
/** What large bodies may use. */
const LARGE = 600_000;

let clock: ManualClock;
let budget: BodyBudget;
beforeEach(() => {
  clock = new ManualClock();
  budget = new BodyBudget(LIMIT, clock);
});

class Upload implements ArrivingBody {
  progressAt = clock.now();
  held = 0;
  refusal: Error | null = null;

  constructor() {
    budget.progressed(this);
  }

  receive(bytes: number): this {
    budget.takeLarge(this, bytes);
    this.held += bytes;
    this.progressAt = clock.now();
    budget.progressed(this);
    return this;
  }

  refuse(error: Error): void {
    this.refusal = error;
    budget.release(this.held);
    this.held = 0;
  }
}

test("a body that does not fit is refused with 503, and nothing is counted for it", () => {
  new Upload().receive(LARGE);
  const late = new Upload();
  expect(() => late.receive(1)).toThrow(GatehouseError);
  expect(budget.used).toBe(LARGE);
  try {
    late.receive(1);
  } catch (error) {
    expect(error).toMatchObject({ code: "overloaded", status: 503 });
  }
});

test("a quarter of the budget is reserved for small bodies", () => {
  new Upload().receive(LARGE);
  budget.takeSmall(LIMIT - LARGE);
  expect(budget.used).toBe(LIMIT);
  expect(() => budget.takeSmall(1)).toThrow(GatehouseError);
});

test("released bytes can be used again", () => {
  const first = new Upload().receive(LARGE);
  budget.ended(first);
  budget.release(first.held);
  expect(budget.used).toBe(0);
  new Upload().receive(LARGE);
});

test("bodies that made no progress for a second lose their memory, the one that waited longest first", () => {
  const oldest = new Upload().receive(LARGE / 2);
  clock.advance(10);
  const second = new Upload().receive(LARGE / 2);
  clock.advance(1000);
  const newcomer = new Upload().receive(1000);
  expect(oldest.refusal).toMatchObject({ code: "overloaded" });
  expect(second.refusal).toBeNull();
  expect(newcomer.held).toBe(1000);
  expect(budget.used).toBe(LARGE / 2 + 1000);
});

test("bodies that keep arriving are not refused in favor of a newcomer", () => {
  const active = new Upload().receive(LARGE);
  clock.advance(500);
  active.progressAt = clock.now();
  budget.progressed(active);
  clock.advance(700);
  expect(() => new Upload().receive(1)).toThrow(GatehouseError);
  expect(active.refusal).toBeNull();
});

test("a small body takes the memory of a stalled large one", () => {
  const stalled = new Upload().receive(LARGE);
  budget.takeSmall(LIMIT - LARGE);
  clock.advance(1001);
  budget.takeSmall(10);
  expect(stalled.refusal).not.toBeNull();
});

test("a stalled body does not refuse itself when it continues", () => {
  const stalled = new Upload().receive(LARGE);
  clock.advance(5000);
  expect(() => stalled.receive(1)).toThrow(GatehouseError);
  expect(stalled.refusal).toBeNull();
});

test("room is ample up to a sixteenth of the budget, and again when bytes are released", () => {
  budget.takeSmall(LIMIT / 16);
  expect(budget.isAmple).toBe(true);
  budget.takeSmall(1);
  expect(budget.isAmple).toBe(false);
  budget.release(1);
  expect(budget.isAmple).toBe(true);
});
