// Polling the store: at intervals with jitter, whether it is available or not, and immediately after an announcement.
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { followStore } from "./follow-store.ts";

const log = { info: () => undefined, warn: () => undefined } as unknown as Log;
afterEach(() => mock.restore());

/** Returns whether the second poll happens after this time. */
async function pollsAgainAfter(milliseconds: number, refresh: () => Promise<void>): Promise<boolean> {
  let polls = 0;
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: () => undefined },
    refresh: () => {
      polls++;
      return refresh();
    },
  } as unknown as CurrentConfiguration;
  const clock = new ManualClock();
  const following = followStore(current, new Health(), log, stop.signal, clock);
  await eventLoopTurns();
  clock.advance(milliseconds);
  await eventLoopTurns();
  stop.abort();
  await following;
  return polls === 2;
}

test.each([
  ["available", () => Promise.resolve()],
  ["unavailable", () => Promise.reject(new Error("unavailable"))],
])("polls a store that is %s again after 300 to 500 ms", async (_, refresh) => {
  spyOn(Math, "random").mockReturnValue(0);
  expect(await pollsAgainAfter(299, refresh)).toBe(false);
  expect(await pollsAgainAfter(300, refresh)).toBe(true);
  spyOn(Math, "random").mockReturnValue(0.9999);
  expect(await pollsAgainAfter(499, refresh)).toBe(false);
  expect(await pollsAgainAfter(500, refresh)).toBe(true);
});

test("polls immediately after an announcement", async () => {
  let announce: () => void = () => undefined;
  let polls = 0;
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: (listener: () => void) => (announce = listener) },
    refresh: () => {
      // Every poll is followed by an announcement, every second one while it is still running.
      if (++polls === 20) stop.abort();
      else if (polls % 2 === 0) announce();
      else setImmediate(announce);
      return Promise.resolve();
    },
  } as unknown as CurrentConfiguration;
  // The clock stands still: only announcements can cause the polls.
  await followStore(current, new Health(), log, stop.signal, new ManualClock());
  expect(polls).toBe(20);
});
