// The contract of limits that are too large to keep every request: never an excess, late by at most 1/60 of the window.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Counters, Limit } from "../../src/counters/counters.ts";
import { MemoryCounters } from "../../src/counters/memory-counters.ts";
import type { CountersMaker } from "./counters.contract.ts";
import { AdmittedTimes, randomNumbers } from "./counters-oracle.ts";

const START_MS = 1_750_000_000_000;
/** Small, so that traces cross it. The code does not depend on its value. */
const EXACT_LIMIT = 5;

export function describeLargeLimits(maker: CountersMaker): void {
  const windowMs = 6000 * maker.scale;
  const latenessMs = windowMs / 60;
  let nowMs = START_MS;
  let keys = 0;
  let counters: Counters;
  beforeAll(async () => {
    counters = await maker.create(() => nowMs, EXACT_LIMIT);
  });
  afterAll(() => counters.close());

  const newLimit = (limit: number): Limit => ({ key: `large limit ${++keys}`, limit, windowMs });
  const admit = async (limit: Limit) => counters.admit([limit], "closed");
  const fill = async (limit: Limit, times: number) => {
    for (let done = 0; done < times; done++) expect((await admit(limit)).admitted).toBe(true);
  };

  describe("large limits", () => {
    test("the requests of a cell leave the window together with the newest of them", async () => {
      nowMs = START_MS;
      const limit = newLimit(6);
      await fill(limit, 3);
      nowMs += latenessMs - 1;
      await fill(limit, 3);
      nowMs = START_MS + windowMs;
      expect(await admit(limit)).toMatchObject({
        admitted: false,
        states: [
          { remaining: 0, waitMs: latenessMs - 1, resetAt: Math.ceil((nowMs + latenessMs - 1) / 1000) },
        ],
      });
      nowMs += latenessMs - 2;
      expect(await admit(limit)).toMatchObject({ admitted: false, states: [{ waitMs: 1 }] });
      nowMs += 1;
      expect(await admit(limit)).toMatchObject({ admitted: true, states: [{ remaining: 5 }] });
    });

    test("a limit that is raised or lowered across the border keeps every count", async () => {
      const limit = newLimit(5);
      await fill(limit, 5);
      expect((await admit(limit)).admitted).toBe(false);
      await fill({ ...limit, limit: 8 }, 3);
      expect((await admit({ ...limit, limit: 8 })).admitted).toBe(false);
      expect((await admit({ ...limit, limit: 4 })).admitted).toBe(false);
      await fill({ ...limit, limit: 10 }, 2);
      nowMs += windowMs;
      await fill({ ...limit, limit: 4 }, 4);
      expect((await admit({ ...limit, limit: 4 })).admitted).toBe(false);
    });

    test("a lowered limit is exact for the requests that were counted since then", async () => {
      const limit = newLimit(8);
      await fill(limit, 4);
      nowMs += windowMs;
      for (let second = 0; second < 5; second++) {
        await fill({ ...limit, limit: 5 }, 1);
        nowMs += 1;
      }
      nowMs += windowMs - 6;
      expect(await admit({ ...limit, limit: 5 })).toMatchObject({
        admitted: false,
        states: [{ waitMs: 1 }],
      });
      nowMs += 1;
      await fill({ ...limit, limit: 5 }, 1);
      expect((await admit({ ...limit, limit: 5 })).admitted).toBe(false);
    });

    test("a narrower window applies at once, and a wider one finds the earlier count", async () => {
      const limit = newLimit(300);
      for (let at = 0; at < 100; at++) {
        await fill(limit, 1);
        nowMs += latenessMs / 2;
      }
      const narrow = { ...limit, windowMs: windowMs / 100 };
      for (let at = 0; at < 100; at++) {
        await fill(narrow, 1);
        nowMs += narrow.windowMs / 20;
      }
      expect((await admit(narrow)).states[0]?.remaining).toBeGreaterThan(270);
      expect((await admit(limit)).states[0]?.remaining).toBe(300 - 100 - 100 - 2);
    });

    const traces = Math.ceil(maker.traces / 5);
    test(`${traces} random traces: never an excess, late by at most 1/60 of the window, the same as in memory`, async () => {
      for (let seed = 1; seed <= traces; seed++) await runTrace(seed);
    }, 120_000);
  });

  async function runTrace(seed: number): Promise<void> {
    const random = randomNumbers(seed);
    const below = (bound: number) => Math.floor(random() * bound);
    const memory = new MemoryCounters({
      clock: { now: () => nowMs, unixNow: () => nowMs },
      exactLimit: EXACT_LIMIT,
    });
    const admitted = new AdmittedTimes();
    let limit = newLimit(1 + below(30));
    for (let at = 0; at < 80; at++) {
      if (random() < 0.05) limit = { ...limit, limit: 1 + below(30) };
      const pauses = [
        0,
        0,
        1,
        below(latenessMs),
        latenessMs,
        Math.ceil(windowMs / limit.limit),
        windowMs - 1,
      ];
      nowMs += pauses[below(random() < 0.9 ? 6 : 7)]!;
      const decision = await admit(limit);
      const { admitted: isAdmitted, refusedBy, states } = memory.admit([limit]);
      expect({ seed, at, limit, nowMs, ...decision }).toMatchObject({
        seed,
        at,
        admitted: isAdmitted,
        refusedBy,
        states,
      });
      if (!decision.admitted) {
        const counted = admitted.within(windowMs + latenessMs, nowMs);
        expect({ seed, at, isLate: counted < limit.limit }).toEqual({ seed, at, isLate: false });
        continue;
      }
      admitted.add(nowMs);
      const isExcess = admitted.within(windowMs, nowMs) > limit.limit;
      expect({ seed, at, isExcess }).toEqual({ seed, at, isExcess: false });
    }
  }
}
