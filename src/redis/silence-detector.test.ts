// What counts as silence of Redis and what does not.
import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { SilenceDetector } from "./silence-detector.ts";

function setUp(timeoutMs = 16) {
  const reasons: string[] = [];
  const clock = new ManualClock();
  const detector = new SilenceDetector(
    (reason) => {
      reasons.push(reason);
      detector.stop();
    },
    clock,
    timeoutMs,
  );
  return { detector, reasons, clock };
}

test("a command without any reply is silence, reported once", async () => {
  const { detector, reasons, clock } = setUp();
  detector.recordCommand();
  clock.advance(12);
  await eventLoopTurns();
  expect(reasons).toEqual([]);
  clock.advance(8);
  await eventLoopTurns();
  expect(reasons).toEqual(["does not respond"]);
  clock.advance(1000);
  await eventLoopTurns();
  expect(reasons).toHaveLength(1);
});

test("there is no silence if no command was sent or every command has a reply", async () => {
  const { detector, reasons, clock } = setUp();
  clock.advance(50);
  detector.recordCommand();
  detector.recordReply();
  clock.advance(50);
  await eventLoopTurns();
  expect(reasons).toEqual([]);
});

test("a reply to any command ends the silence", async () => {
  const { detector, reasons, clock } = setUp(1000);
  for (let command = 0; command < 40; command++) detector.recordCommand();
  for (let reply = 0; reply < 39; reply++) {
    clock.advance(90);
    await eventLoopTurns();
    detector.recordReply();
  }
  expect(reasons).toEqual([]);
});

test("Redis that replies, but is four seconds behind, is reported", async () => {
  const { detector, reasons, clock } = setUp(1000);
  for (let command = 0; command < 40; command++) detector.recordCommand();
  for (let reply = 0; reply < 6; reply++) {
    clock.advance(900);
    await eventLoopTurns();
    detector.recordReply();
  }
  expect(reasons).toEqual(["is more than 4000 ms behind"]);
});

test("after a burst of commands, Redis may be silent for longer", async () => {
  const { detector, reasons, clock } = setUp();
  for (let command = 0; command < 600; command++) detector.recordCommand();
  clock.advance(240);
  await eventLoopTurns();
  expect(reasons).toEqual([]);
  clock.advance(20);
  await eventLoopTurns();
  expect(reasons).toEqual(["does not respond"]);
});

test("time in which this process was blocked counts as one tick, even right after a command was sent", async () => {
  const { detector, reasons, clock } = setUp(100);
  for (let round = 0; round < 5; round++) {
    detector.recordCommand();
    clock.block(200);
    await eventLoopTurns();
    detector.recordReply();
  }
  expect(reasons).toEqual([]);
});

test("replies that are already in the socket when the limit is reached are read first", async () => {
  const { detector, reasons, clock } = setUp(1);
  for (let round = 0; round < 5; round++) {
    detector.recordCommand();
    // The event loop reads the reply in its next turn.
    setImmediate(() => detector.recordReply());
    clock.block(20);
    await eventLoopTurns();
  }
  expect(reasons).toEqual([]);
});

test("a burst that keeps this process busy for longer than four seconds does not mean that Redis is behind", async () => {
  const { detector, reasons, clock } = setUp(1000);
  for (let command = 0; command < 600; command++) detector.recordCommand();
  for (let reply = 0; reply < 60; reply++) {
    clock.block(100);
    await eventLoopTurns();
    detector.recordReply();
  }
  expect(reasons).toEqual([]);
});
