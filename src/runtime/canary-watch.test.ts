// Canaries while the store is unavailable. test/e2e/canary.test.ts tests them with a store.
import { expect, test } from "bun:test";
import { virtualModelRecord } from "../../test/contract/store-records.ts";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { newId } from "../base/ids.ts";
import { EMPTY_SNAPSHOT } from "../snapshot/snapshot.ts";
import type { Store } from "../store/store.ts";
import { createLog } from "../telemetry/log/log.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import { CanaryWatch } from "./canary-watch.ts";

test("an outage of the store is logged once", async () => {
  const printed: string[] = [];
  const log = createLog({ level: "warn", format: "json" }, { write: (line) => void printed.push(line) });
  const clock = new ManualClock();
  let exchanges = 0;
  let isAvailable = false;
  const exchangeCounts = () => {
    exchanges++;
    return isAvailable ? Promise.resolve([]) : Promise.reject(new Error("unavailable"));
  };
  const store = { canaries: { exchangeCounts } } as unknown as Store;
  const current = { store, snapshot: EMPTY_SNAPSHOT, write: () => Promise.reject(new Error("not called")) };
  const watch = new CanaryWatch(current, new Metrics(), log, clock);
  const upstream = newId();
  const model = virtualModelRecord(newId(), upstream, {
    canary: {
      target: { upstream, model: "new" },
      share: 0.5,
      by: "user",
      rollback_if: { error_ratio: 2, first_byte_ratio: null, min_requests: 10 },
      rolled_back: null,
    },
  });
  const recordResults = async (count: number) => {
    for (let result = 0; result < count; result++) {
      watch.record(model, "canary", false, 1);
      clock.advance(1000);
      await eventLoopTurns();
    }
  };
  for (const outages of [1, 2]) {
    isAvailable = false;
    await recordResults(4);
    expect(printed.filter((line) => line.includes("canary counts not exchanged"))).toHaveLength(outages);
    isAvailable = true;
    await recordResults(1);
  }
  expect(exchanges).toBe(10);
});
