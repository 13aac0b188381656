import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { NoStreamError, Reconnects } from "./reconnects.ts";
import { ServerStatusError } from "./server-call.ts";

const server = { tag: "one" };

/** Returns the seconds after which the stream of a client was opened, of the first two minutes. */
async function openedAt(
  open: (
    onRetry: (milliseconds: number) => void,
    pass: (milliseconds: number) => Promise<void>,
  ) => Promise<void>,
): Promise<number[]> {
  const clock = new ManualClock();
  const aborted = new AbortController();
  const start = clock.now();
  const times: number[] = [];
  const pass = (milliseconds: number) =>
    new Promise<void>((resolve) => void clock.setTimeout(() => resolve(), milliseconds));
  const kept = new Reconnects(clock).keepOpen(server, aborted.signal, (onRetry) => {
    times.push((clock.now() - start) / 1000);
    return open(onRetry, pass);
  });
  for (let second = 0; second < 120; second++) {
    await eventLoopTurns();
    clock.advance(1000);
  }
  aborted.abort();
  await kept;
  return times;
}

test("the pauses between streams that end at once grow, whatever the server wants", async () => {
  const grown = [0, 1, 3, 7, 15, 31, 61, 91];
  for (const retry of [null, 0, 1])
    expect(
      await openedAt((onRetry) => {
        if (retry !== null) onRetry(retry);
        return Promise.resolve();
      }),
    ).toEqual(grown);
  expect(await openedAt(() => Promise.reject(new Error("unreachable")))).toEqual(grown);
});

test("the pause that a server wants counts within bounds, and does not grow if its streams last", async () => {
  const lasting = (retry: number) =>
    openedAt((onRetry, pass) => {
      onRetry(retry);
      return pass(10_000);
    });
  expect((await lasting(5000)).slice(0, 4)).toEqual([0, 15, 30, 45]);
  expect((await lasting(0)).slice(0, 4)).toEqual([0, 11, 22, 33]);
  expect((await lasting(999_999)).slice(0, 3)).toEqual([0, 40, 80]);
});

test("streams of many clients are opened again one after the other", async () => {
  const clock = new ManualClock();
  const aborted = new AbortController();
  const reconnects = new Reconnects(clock);
  let opened = 0;
  const open = () => {
    opened++;
    return Promise.resolve();
  };
  const kept = Array.from({ length: 100 }, () => reconnects.keepOpen(server, aborted.signal, open));
  await eventLoopTurns();
  expect(opened).toBe(100);
  clock.advance(1000);
  await eventLoopTurns();
  expect(opened).toBe(101);
  clock.advance(200);
  await eventLoopTurns();
  expect(opened).toBe(111);
  aborted.abort();
  await Promise.all(kept);
});

test("a server is asked again unless it has no stream for the client", async () => {
  const opened = (error: Error) => openedAt(() => Promise.reject(error));
  expect(await opened(new NoStreamError())).toEqual([0]);
  for (const status of [401, 403, 405])
    expect(await opened(new ServerStatusError(status, null, null))).toEqual([0]);
  for (const status of [400, 404, 409, 429, 503])
    expect((await opened(new ServerStatusError(status, null, null))).slice(0, 2)).toEqual([0, 1]);
});
