// When a game day injects faults, by the clock, and what it does while the store is unavailable. test/fault/game-day-nodes.test.ts tests
// game days with a store.
import { expect, test } from "bun:test";
import { gameDayRecord } from "../../../test/contract/store-records.ts";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { newId } from "../../base/ids.ts";
import { CompiledGameDay } from "../../snapshot/compiled-game-day.ts";
import type { GameDayStore } from "../../store/sql-game-days.ts";
import { createLog } from "../../telemetry/log/log.ts";
import { GameDayRun } from "./game-day-run.ts";

const unavailable = () => Promise.reject(new Error("unavailable"));

function setup() {
  const printed: string[] = [];
  const log = createLog({ level: "warn", format: "json" }, { write: (line) => void printed.push(line) });
  const clock = new ManualClock();
  const ends_at = new Date(clock.unixNow() + 3_600_000).toISOString();
  const record = gameDayRecord(newId(), { starts_at: null, ends_at });
  const readable: GameDayStore["readRun"] = () =>
    Promise.resolve({ abortedAt: null, abortReason: null, updatedAt: record.updated_at });
  const store: GameDayStore = {
    readRun: readable,
    claim: () => Promise.resolve(0),
    abort: () => Promise.resolve(false),
    writeCounts: () => Promise.resolve(),
    readCounts: () => Promise.resolve([]),
  };
  const run = new GameDayRun(new CompiledGameDay(record), {
    store,
    clock,
    log,
    node: "node",
    onEnd: () => undefined,
  });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await eventLoopTurns(2);
    }
  };
  return { run, store, readable, pass, printed };
}

test.each([
  ["fails", unavailable],
  ["does not respond", () => new Promise<never>(() => undefined)],
])("a store that %s ends the faults 2 seconds after the last read", async (_, read) => {
  const { run, store, pass } = setup();
  await pass(1000);
  store.readRun = read;
  const { stopped } = run;
  await pass(1950);
  expect([run.isInjecting, stopped.aborted]).toEqual([true, false]);
  await pass(50);
  expect([run.isInjecting, stopped.aborted]).toEqual([false, true]);
  await run.close();
});

test("faults are injected again when the store can be read again", async () => {
  const { run, store, readable, pass } = setup();
  await pass(1000);
  store.readRun = unavailable;
  await pass(3000);
  expect(run.isInjecting).toBe(false);
  store.readRun = readable;
  await pass(250);
  expect([run.isInjecting, run.stopped.aborted]).toEqual([true, false]);
  await run.close();
});

test.each([
  ["deleted", null],
  ["aborted", { abortedAt: "2030-01-01T00:00:00Z", abortReason: "request", updatedAt: "" }],
  ["changed", { abortedAt: null, abortReason: null, updatedAt: "2030-01-01T00:00:00Z" }],
])("a game day that was %s ends with the next read, and does not start again", async (_, changed) => {
  const { run, store, readable, pass } = setup();
  await pass(1000);
  const { stopped } = run;
  store.readRun = () => Promise.resolve(changed);
  await pass(250);
  expect([run.isInjecting, stopped.aborted]).toEqual([false, true]);
  store.readRun = readable;
  await pass(1000);
  expect(run.isInjecting).toBe(false);
  await run.close();
});

test("an outage of the store is logged once", async () => {
  const { run, store, pass, printed } = setup();
  let writes = 0;
  let isAvailable = false;
  store.writeCounts = () => {
    writes++;
    return isAvailable ? Promise.resolve() : unavailable();
  };
  for (const outages of [1, 2]) {
    isAvailable = false;
    run.record({ succeeded: true, failed: false, failedOver: false, durationMs: 1 }, ["refuse"]);
    await pass(1000);
    expect(printed.filter((line) => line.includes("counts of a game day not written"))).toHaveLength(outages);
    isAvailable = true;
    await pass(250);
  }
  expect(writes).toBe(10);
  await run.close();
});
