// Polling the store: at intervals with jitter, whether it is available or not, and immediately after an announcement.
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { followStore } from "./follow-store.ts";

const log = { info: () => undefined, warn: () => undefined } as unknown as Log;
afterEach(() => mock.restore());

/** Returns the time between two polls with this random number. */
async function intervalWith(random: number, refresh: () => Promise<void>): Promise<number> {
  spyOn(Math, "random").mockReturnValue(random);
  const polls: number[] = [];
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: () => undefined },
    refresh: () => {
      polls.push(performance.now());
      if (polls.length === 2) stop.abort();
      return refresh();
    },
  } as unknown as CurrentConfiguration;
  await followStore(current, new Health(), log, stop.signal);
  return polls[1]! - polls[0]!;
}

test.each([
  ["available", () => Promise.resolve()],
  ["unavailable", () => Promise.reject(new Error("unavailable"))],
])(
  "polls a store that is %s again, with jitter",
  async (_, refresh) => {
    const shortest = await intervalWith(0, refresh);
    const longest = await intervalWith(0.999, refresh);
    // A timer never fires early. On a busy machine it fires late, so only lower bounds can be checked.
    expect(shortest).toBeGreaterThanOrEqual(299);
    expect(longest).toBeGreaterThanOrEqual(498);
  },
  30_000,
);

test("polls immediately after an announcement", async () => {
  spyOn(Math, "random").mockReturnValue(0.999);
  let announce: () => void = () => undefined;
  let polls = 0;
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: (listener: () => void) => (announce = listener) },
    refresh: () => {
      // Every poll is followed by an announcement, every second one while it is still running.
      if (++polls === 20) stop.abort();
      else if (polls % 2 === 0) announce();
      else setTimeout(announce, 1);
      return Promise.resolve();
    },
  } as unknown as CurrentConfiguration;
  const startedAt = performance.now();
  await followStore(current, new Health(), log, stop.signal);
  // Without announcements, 20 polls take ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(5000);
});
