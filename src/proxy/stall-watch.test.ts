// A client that takes nothing is noticed; one that waits for the provider, or takes a piece now and then, is not.
import { expect, test } from "bun:test";
import { StallWatch } from "./stall-watch.ts";

const LOOK_MS = 20;

async function stallsWithin(looks: number, prepare: (watch: StallWatch) => void): Promise<boolean> {
  let isStalled = false;
  const watch = new StallWatch(() => (isStalled = true), LOOK_MS);
  prepare(watch);
  await Bun.sleep(looks * LOOK_MS);
  watch.stop();
  return isStalled;
}

test("takes nothing: stalled", async () => {
  expect(await stallsWithin(10, () => undefined)).toBe(true);
});

test("waits for the provider: not stalled", async () => {
  expect(await stallsWithin(10, (watch) => (watch.isProvidersTurn = true))).toBe(false);
});

test("has asked for something between two looks, whatever the clock does: not stalled", async () => {
  let asked = 0;
  const moving = (watch: StallWatch) => void Object.defineProperty(watch, "asked", { get: () => ++asked });
  expect(await stallsWithin(10, moving)).toBe(false);
});

test("stopped: nothing is noticed any more", async () => {
  expect(await stallsWithin(10, (watch) => watch.stop())).toBe(false);
});
