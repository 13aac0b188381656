// The bounds of shadow mode: how many requests of a gateway may have calls that wait or run, and how many bytes are kept for them.
import { expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { eventLoopTurns, waitUntil } from "../../../test/support/waiting.ts";
import { ShadowRequest } from "./shadow-request.ts";
import { ShadowTurns } from "./shadow-turns.ts";

const turnsOn = (clock: ManualClock) =>
  new ShadowTurns({ count: 0, onLeave: null }, new CoarseDeadlines(clock));
const newLoad = () => ({ requests: 0, bytes: 0 });
const unexpected = (error: unknown) => {
  throw error;
};

test("256 requests with calls that wait exclude others until their calls have ended", async () => {
  const [load, clock] = [newLoad(), new ManualClock()];
  const turns = turnsOn(clock);
  const begin = () => ShadowRequest.begin(load, 0, turns);
  const requests = Array.from({ length: 256 }, begin);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  for (const request of requests) {
    request?.enqueue({ run: () => promise, fail: unexpected });
    request?.enqueue({ run: () => undefined, fail: unexpected });
  }
  expect([load.requests, begin()]).toEqual([256, null]);
  clock.advance(100);
  await eventLoopTurns();
  expect(begin()).toBeNull();
  resolve(undefined);
  await waitUntil(() => load.requests === 0);
  expect(begin()).not.toBeNull();
});

test("open requests without calls exclude no others, and count again with the next call", async () => {
  const [load, clock] = [newLoad(), new ManualClock()];
  const turns = turnsOn(clock);
  const requests = Array.from({ length: 300 }, () => ShadowRequest.begin(load, 0, turns));
  expect(requests).not.toContain(null);
  clock.advance(100);
  const failures: unknown[] = [];
  requests[0]?.enqueue({
    run: () => Promise.reject(new Error("fails")),
    fail: (error) => failures.push(error),
  });
  expect(load.requests).toBe(1);
  clock.advance(10);
  await eventLoopTurns();
  expect([failures.length, load.requests]).toEqual([1, 0]);
});

test("bytes are kept until the request has ended and its calls have run", async () => {
  const [load, clock] = [newLoad(), new ManualClock()];
  const size = 64 * 1024 * 1024;
  const turns = turnsOn(clock);
  const request = ShadowRequest.begin(load, size, turns);
  expect([request?.hold(1), ShadowRequest.begin(load, 1, turns)]).toEqual([false, null]);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  request?.enqueue({ run: () => promise, fail: unexpected });
  request?.end();
  await eventLoopTurns();
  expect(load).toEqual({ requests: 1, bytes: size });
  resolve(undefined);
  await eventLoopTurns();
  expect(load).toEqual({ requests: 0, bytes: 0 });
});

test("calls of a request follow each other in one turn of the event loop until 0.1 ms have passed", async () => {
  const clock = new ManualClock();
  const request = ShadowRequest.begin(newLoad(), 0, turnsOn(clock));
  let turn = 0;
  const ranIn: number[] = [];
  const count = () => {
    turn++;
    if (ranIn.length < 5) setImmediate(count);
  };
  setImmediate(count);
  for (const takesMs of [0, 0.05, 0.06, 0, 0.2])
    request?.enqueue({
      run: () => {
        ranIn.push(turn);
        clock.advance(takesMs);
      },
      fail: unexpected,
    });
  request?.end();
  await waitUntil(() => {
    clock.advance(10);
    return ranIn.length === 5;
  });
  const turns = [...new Set(ranIn)];
  expect(ranIn.map((each) => turns.indexOf(each))).toEqual([0, 0, 0, 1, 1]);
});

test("calls are postponed unless a quarter of the requests or of the bytes is exceeded", async () => {
  for (const [requests, size, ran] of [
    [64, 0, 0],
    [65, 0, 65],
    [1, 16 * 1024 * 1024, 0],
    [1, 16 * 1024 * 1024 + 1, 1],
  ] as const) {
    const [load, clock] = [newLoad(), new ManualClock()];
    const turns = turnsOn(clock);
    let count = 0;
    const add = () => {
      count++;
    };
    const begun = Array.from({ length: requests }, () => ShadowRequest.begin(load, size, turns));
    for (const request of begun) request?.enqueue({ run: add, fail: unexpected });
    for (const request of begun) request?.end();
    await eventLoopTurns(2 * requests + 5);
    expect([requests, size, count]).toEqual([requests, size, ran]);
    clock.advance(10);
    await waitUntil(() => count === requests && load.bytes === 0);
  }
});
