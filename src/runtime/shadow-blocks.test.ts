// Blocks of plugins in shadow mode: they expire, and their number is bounded.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { ShadowBlocks } from "./shadow-blocks.ts";

test("a block expires, and one without a duration does not", () => {
  const clock = new ManualClock();
  const blocks = new ShadowBlocks(clock);
  blocks.add("g/1.shadow", { type: "per_ip", subject: "a", durationMs: 1000 });
  blocks.add("g/1.shadow", { type: "per_ip", subject: "b" });
  const has = (subject: string) => blocks.has("g/1.shadow", "per_ip", subject);
  clock.advance(999);
  expect([has("a"), has("b"), has("c")]).toEqual([true, true, false]);
  clock.advance(1);
  expect([has("a"), has("b")]).toEqual([false, true]);
  clock.advance(1e9);
  expect(has("b")).toBe(true);
});

test("the oldest blocks are dropped for new ones", () => {
  const blocks = new ShadowBlocks(new ManualClock());
  for (let subject = 0; subject < 1001; subject++)
    blocks.add("g/1.shadow", { type: "per_ip", subject: String(subject) });
  expect(blocks.has("g/1.shadow", "per_ip", "0")).toBe(false);
  expect(blocks.has("g/1.shadow", "per_ip", "1")).toBe(true);
  expect(blocks.has("g/1.shadow", "per_ip", "1000")).toBe(true);
});
