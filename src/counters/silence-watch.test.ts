// What counts as silence of Redis and what does not.
import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { SilenceWatch } from "./silence-watch.ts";

function setUp(silentMs?: number) {
  const lost: string[] = [];
  const clock = new ManualClock();
  const watch = new SilenceWatch(
    (why) => {
      lost.push(why);
      watch.stop();
    },
    clock,
    silentMs,
  );
  return { watch, lost, clock };
}

test("a command without any reply is silence, reported once", async () => {
  const { watch, lost, clock } = setUp();
  watch.sent();
  clock.advance(12);
  await eventLoopTurns();
  expect(lost).toEqual([]);
  clock.advance(8);
  await eventLoopTurns();
  expect(lost).toEqual(["is silent"]);
  clock.advance(1000);
  await eventLoopTurns();
  expect(lost).toHaveLength(1);
});

test("there is no silence if no command was sent or every command has a reply", async () => {
  const { watch, lost, clock } = setUp();
  clock.advance(50);
  watch.sent();
  watch.answered();
  clock.advance(50);
  await eventLoopTurns();
  expect(lost).toEqual([]);
});

test("a reply to any command ends the silence", async () => {
  const { watch, lost, clock } = setUp(1000);
  for (let command = 0; command < 40; command++) watch.sent();
  for (let reply = 0; reply < 39; reply++) {
    clock.advance(90);
    await eventLoopTurns();
    watch.answered();
  }
  expect(lost).toEqual([]);
});

test("Redis that replies, but is four seconds behind, is lost", async () => {
  const { watch, lost, clock } = setUp(1000);
  for (let command = 0; command < 40; command++) watch.sent();
  for (let reply = 0; reply < 6; reply++) {
    clock.advance(900);
    await eventLoopTurns();
    watch.answered();
  }
  expect(lost).toEqual(["is more than 4000 ms behind"]);
});

test("after a burst of commands, Redis may be silent for longer", async () => {
  const { watch, lost, clock } = setUp();
  for (let command = 0; command < 600; command++) watch.sent();
  clock.advance(240);
  await eventLoopTurns();
  expect(lost).toEqual([]);
  clock.advance(20);
  await eventLoopTurns();
  expect(lost).toEqual(["is silent"]);
});

test("time in which this process was blocked counts as one tick, even right after a command was sent", async () => {
  const { watch, lost, clock } = setUp(100);
  for (let round = 0; round < 5; round++) {
    watch.sent();
    clock.block(200);
    await eventLoopTurns();
    watch.answered();
  }
  expect(lost).toEqual([]);
});

test("replies that are already in the socket when the limit is reached are read first", async () => {
  const { watch, lost, clock } = setUp(1);
  for (let round = 0; round < 5; round++) {
    watch.sent();
    // The event loop reads the reply in its next turn.
    setImmediate(() => watch.answered());
    clock.block(20);
    await eventLoopTurns();
  }
  expect(lost).toEqual([]);
});
