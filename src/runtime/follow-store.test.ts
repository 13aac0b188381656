// The store is asked again and again, at intervals that chance spreads, whether it answers or not.
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { followStore } from "./follow-store.ts";

const log = { info: () => undefined, warn: () => undefined } as unknown as Log;
afterEach(() => mock.restore());

/** How long it waits between two looks with this chance. */
async function waitWith(chance: number, refresh: () => Promise<void>): Promise<number> {
  spyOn(Math, "random").mockReturnValue(chance);
  const looks: number[] = [];
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: () => undefined },
    refresh: () => {
      looks.push(performance.now());
      if (looks.length === 2) stop.abort();
      return refresh();
    },
  } as unknown as CurrentConfiguration;
  await followStore(current, new Health(), log, stop.signal);
  return looks[1]! - looks[0]!;
}

test.each([
  ["there", () => Promise.resolve()],
  ["away", () => Promise.reject(new Error("away"))],
])(
  "a store that is %s is asked again, sooner or later by chance",
  async (_, refresh) => {
    const soonest = await waitWith(0, refresh);
    const latest = await waitWith(0.999, refresh);
    // A timer is never early. A busy machine adds to both, so that only the lower bounds are sure.
    expect(soonest).toBeGreaterThanOrEqual(299);
    expect(latest).toBeGreaterThanOrEqual(498);
  },
  30_000,
);

test("an announcement is looked at without waiting", async () => {
  spyOn(Math, "random").mockReturnValue(0.999);
  let announce: () => void = () => undefined;
  let looks = 0;
  const stop = new AbortController();
  const current = {
    store: { onAnnouncement: (hear: () => void) => (announce = hear) },
    refresh: () => {
      // Each look is followed by an announcement, one of them while it still runs.
      if (++looks === 20) stop.abort();
      else if (looks % 2 === 0) announce();
      else setTimeout(announce, 1);
      return Promise.resolve();
    },
  } as unknown as CurrentConfiguration;
  const startedAt = performance.now();
  await followStore(current, new Health(), log, stop.signal);
  // Polling alone would take ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(5000);
});
