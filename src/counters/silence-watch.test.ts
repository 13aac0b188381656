// What counts as silence and what does not, with real time and a really blocked loop.
import { expect, test } from "bun:test";
import { SilenceWatch } from "./silence-watch.ts";

const block = (ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until;);
};

function watching(silentMs?: number) {
  const lost: string[] = [];
  const watch = new SilenceWatch((why) => {
    lost.push(why);
    watch.stop();
  }, silentMs);
  return { watch, lost };
}

test("a command without any answer is silence, found once", async () => {
  const { watch, lost } = watching();
  watch.sent();
  for (const deadline = Date.now() + 10_000; lost.length === 0 && Date.now() < deadline;) await Bun.sleep(5);
  await Bun.sleep(100);
  expect(lost).toEqual(["is silent"]);
});

test("nothing sent, or all answered, is no silence", async () => {
  const { watch, lost } = watching();
  await Bun.sleep(50);
  watch.sent();
  watch.answered();
  await Bun.sleep(50);
  expect(lost).toEqual([]);
});

test("any answer ends it, to whichever command", async () => {
  const { watch, lost } = watching(1000);
  for (let command = 0; command < 40; command++) watch.sent();
  for (let answer = 0; answer < 39; answer++) {
    await Bun.sleep(30);
    watch.answered();
  }
  expect(lost).toEqual([]);
  watch.stop();
});

test("time in which this process was blocked counts as one tick, even before Redis could have heard the command", async () => {
  const { watch, lost } = watching(100);
  for (let round = 0; round < 5; round++) {
    watch.sent();
    block(200);
    await Bun.sleep(10);
    watch.answered();
  }
  expect(lost).toEqual([]);
  watch.stop();
});

test("answers that lie in the socket when the count is full are read first", async () => {
  const { watch, lost } = watching(1);
  for (let round = 0; round < 5; round++) {
    watch.sent();
    // Both are due after the block: the tick comes first, the answer with the next reading of the loop.
    setTimeout(() => setImmediate(() => watch.answered()), 1);
    block(20);
    await Bun.sleep(20);
  }
  expect(lost).toEqual([]);
});
