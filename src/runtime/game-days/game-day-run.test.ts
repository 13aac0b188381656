// A game day while the store is unavailable. test/fault/game-day-nodes.test.ts tests game days with a store.
import { expect, test } from "bun:test";
import { gameDayRecord } from "../../../test/contract/store-records.ts";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { newId } from "../../base/ids.ts";
import { CompiledGameDay } from "../../snapshot/compiled-game-day.ts";
import type { GameDayStore } from "../../store/sql-game-days.ts";
import { createLog } from "../../telemetry/log/log.ts";
import { GameDayRun } from "./game-day-run.ts";

test("an outage of the store is logged once", async () => {
  const printed: string[] = [];
  const log = createLog({ level: "warn", format: "json" }, { write: (line) => void printed.push(line) });
  const clock = new ManualClock();
  let writes = 0;
  let isAvailable = false;
  const used = () => (isAvailable ? Promise.resolve() : Promise.reject(new Error("unavailable")));
  const store: GameDayStore = {
    readRun: () => Promise.reject(new Error("unavailable")),
    claim: () => Promise.resolve(0),
    abort: () => Promise.resolve(false),
    writeCounts: () => {
      writes++;
      return used();
    },
    readCounts: () => Promise.resolve([]),
  };
  const ends_at = new Date(clock.unixNow() + 3_600_000).toISOString();
  const gameDay = new CompiledGameDay(gameDayRecord(newId(), { starts_at: null, ends_at }));
  const run = new GameDayRun(gameDay, { store, clock, log, node: "node", onEnd: () => undefined });
  const tick = async (count: number) => {
    for (let ticks = 0; ticks < count; ticks++) {
      clock.advance(250);
      await eventLoopTurns();
    }
  };
  for (const outages of [1, 2]) {
    isAvailable = false;
    run.record({ succeeded: true, failed: false, failedOver: false, durationMs: 1 }, ["refuse"]);
    await tick(4);
    expect(printed.filter((line) => line.includes("counts of a game day not written"))).toHaveLength(outages);
    isAvailable = true;
    await tick(1);
  }
  expect(writes).toBe(10);
  await run.close();
});
