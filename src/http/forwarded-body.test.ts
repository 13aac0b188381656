// A body that is forwarded while it arrives: backpressure, memory, and another sink while nothing was forwarded.
import { beforeEach, expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "./body-budget.ts";
import { CoarseDeadlines } from "./coarse-deadlines.ts";
import { ForwardedBody, type BodySink, type BodySource } from "./forwarded-body.ts";

const LENGTH = 2_000_000;
const PIECE = 100_000;
const PACE_MS = 60_000;
const TICK_MS = 50;

class Source implements BodySource {
  readonly calls: string[] = [];
  startBody(): void {
    this.calls.push("start");
  }
  stopBody(): void {
    this.calls.push("stop");
  }
  pauseBody(): void {
    this.calls.push("pause");
  }
  resumeBody(): void {
    this.calls.push("resume");
  }
}

class Sink implements BodySink {
  written = 0;
  isSlow = false;
  isEnded = false;
  error: Error | null = null;
  write({ byteLength }: Uint8Array): boolean {
    this.written += byteLength;
    return !this.isSlow;
  }
  end(): void {
    this.isEnded = true;
  }
  fail(error: Error): void {
    this.error = error;
  }
}

let clock: ManualClock;
let budget: BodyBudget;
let source: Source;
let sink: Sink;
let body: ForwardedBody;
beforeEach(() => {
  clock = new ManualClock();
  // Large bodies may use 300,000 bytes.
  budget = new BodyBudget(400_000, clock);
  source = new Source();
  sink = new Sink();
  body = bodyFrom(source);
});

function bodyFrom(from: BodySource): ForwardedBody {
  return new ForwardedBody(
    LENGTH,
    { maxBodyBytes: LENGTH, deadlines: new CoarseDeadlines(clock), bodyBudget: budget },
    from,
  );
}

test("what the provider takes uses no memory, and is freed", () => {
  body.start(sink);
  const piece = new Uint8Array(PIECE);
  body.push(piece);
  expect(sink.written).toBe(PIECE);
  expect(piece.byteLength).toBe(0);
  expect(budget.used).toBe(0);
  expect(source.calls).toEqual(["start"]);
});

test("a part of a larger buffer is not freed: the rest belongs to the next request", () => {
  body.start(sink);
  const buffer = new Uint8Array(2 * PIECE);
  body.push(buffer.subarray(0, PIECE));
  expect(buffer.byteLength).toBe(2 * PIECE);
});

test("a slow provider pauses the client, and what is held counts in the budget", () => {
  body.start(sink);
  sink.isSlow = true;
  const piece = new Uint8Array(PIECE);
  body.push(piece);
  expect(source.calls).toEqual(["start", "pause"]);
  expect(budget.used).toBe(PIECE);
  expect(piece.byteLength).toBe(PIECE);
  // The client cannot send, so its time does not pass.
  clock.advance(2 * PACE_MS);
  expect(sink.error).toBeNull();
  body.resume();
  expect(source.calls).toEqual(["start", "pause", "resume"]);
  expect(budget.used).toBe(0);
  expect(piece.byteLength).toBe(0);
  clock.advance(PACE_MS - 2 * TICK_MS);
  expect(sink.error).toBeNull();
  clock.advance(4 * TICK_MS);
  expect(sink.error).toMatchObject({ code: "request_timeout" });
});

test("bytes that trickle in do not extend the time", () => {
  body.start(sink);
  for (let passedMs = 0; passedMs <= PACE_MS; passedMs += 1000) {
    body.push(new Uint8Array(10));
    clock.advance(1000);
  }
  expect(sink.error).toMatchObject({ code: "request_timeout" });
});

test("uploads whose providers do not read cannot take more than the budget, and lose their memory to others", () => {
  const bodies = [body, bodyFrom(new Source()), bodyFrom(new Source()), bodyFrom(new Source())];
  const sinks = bodies.map((each) => {
    const slow = new Sink();
    slow.isSlow = true;
    each.start(slow);
    each.push(new Uint8Array(PIECE));
    return slow;
  });
  expect(sinks.map(({ error }) => error !== null)).toEqual([false, false, false, true]);
  expect(sinks[3]?.error).toMatchObject({ code: "overloaded" });
  expect(budget.used).toBe(3 * PIECE);
  clock.advance(1500);
  const late = bodyFrom(new Source());
  const slow = new Sink();
  slow.isSlow = true;
  late.start(slow);
  late.push(new Uint8Array(PIECE));
  expect(slow.error).toBeNull();
  expect(sinks[0]?.error).toMatchObject({ code: "overloaded" });
  expect(budget.used).toBe(3 * PIECE);
});

test("another sink can replace one that got nothing, and the first cannot stop it", () => {
  body.start(sink);
  expect(body.isUntouched).toBe(true);
  const second = new Sink();
  body.start(second);
  body.stop(sink);
  body.push(new Uint8Array(PIECE));
  expect(body.isUntouched).toBe(false);
  body.end();
  expect([sink.written, second.written, second.isEnded]).toEqual([0, PIECE, true]);
  expect(source.calls).toEqual(["start", "start"]);
  body.stop(second);
  expect(source.calls).toEqual(["start", "start", "stop"]);
});
