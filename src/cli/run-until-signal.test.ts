// The first signal drains the gateway, and a second one stops it at once, unless it is a duplicate of the first.
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { awaitSignal } from "./run-until-signal.ts";

function setUp() {
  const clock = new ManualClock();
  const signals = new EventEmitter();
  const terminal = { isGone: false, reloads: 0 };
  const received = awaitSignal({
    source: signals,
    clock,
    isTerminalGone: () => terminal.isGone,
    onReload: () => terminal.reloads++,
  });
  return { clock, signals, terminal, received };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  await eventLoopTurns();
  return settled;
}

test.each(["SIGTERM", "SIGINT"] as const)("%s is received", async (name) => {
  const { signals, received } = setUp();
  expect(await isSettled(received)).toBe(false);
  signals.emit(name);
  expect((await received).name).toBe(name);
});

test("a signal within a second of the first is the same Ctrl-C and has no effect", async () => {
  const { clock, signals, received } = setUp();
  signals.emit("SIGTERM");
  signals.emit("SIGTERM");
  clock.advance(1000);
  signals.emit("SIGINT");
  const { name, again } = await received;
  expect([name, await isSettled(again)]).toEqual(["SIGTERM", false]);
});

test("a signal more than a second after the first is a second one", async () => {
  const { clock, signals, received } = setUp();
  signals.emit("SIGTERM");
  clock.advance(1001);
  signals.emit("SIGTERM");
  expect(await isSettled((await received).again)).toBe(true);
});

test("SIGHUP stops if the terminal is gone", async () => {
  const { signals, terminal, received } = setUp();
  terminal.isGone = true;
  signals.emit("SIGHUP");
  expect([(await received).name, terminal.reloads]).toEqual(["SIGHUP", 0]);
});

test("SIGHUP reloads while the terminal is there, and stops if it goes within a second", async () => {
  const { clock, signals, terminal, received } = setUp();
  signals.emit("SIGHUP");
  clock.advance(1000);
  signals.emit("SIGHUP");
  expect([await isSettled(received), terminal.reloads]).toEqual([false, 2]);
  terminal.isGone = true;
  clock.advance(1000);
  expect((await received).name).toBe("SIGHUP");
});

test("SIGHUP is not a second signal", async () => {
  const { clock, signals, terminal, received } = setUp();
  signals.emit("SIGHUP");
  signals.emit("SIGTERM");
  terminal.isGone = true;
  clock.advance(2000);
  signals.emit("SIGHUP");
  const { name, again } = await received;
  expect([name, await isSettled(again), terminal.reloads]).toEqual(["SIGTERM", false, 1]);
  signals.emit("SIGTERM");
  expect(await isSettled(again)).toBe(true);
});
