// The contract of request limits for every ledger. The test controls the time; the code is that of production.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Decision, Limit } from "../../src/sdk/index.ts";
import type { LedgerCounters } from "../support/ledger-counters.ts";
import { NaiveCounters, randomTrace, type TraceStep } from "./counters-oracle.ts";

/** The start time: Unix time in milliseconds, at a whole second. */
const START_MS = 1_750_000_000_000;

interface CountersMaker {
  readonly name: string;
  readonly source: Decision["source"];
  /** Number of random traces to compare; fewer for a server, because a round trip takes longer than a call. */
  readonly traces: number;
  /** Number of concurrent requests, of which a hundred are admitted. */
  readonly concurrent: number;
  /** Factor for the windows of traces: Redis expires keys by its own clock, and the test time runs faster. */
  readonly scale: number;
  /** Creates counters that use `time`. */
  create(time: () => number): Promise<LedgerCounters>;
}

let keys = 0;
const freshKey = () => `contract key ${++keys}`;

export function describeCounters(maker: CountersMaker): void {
  let nowMs = START_MS;
  let counters: LedgerCounters;
  beforeAll(async () => {
    counters = await maker.create(() => nowMs);
  });
  afterAll(() => counters.close());

  const admit = async (...limits: Limit[]) => counters.admit(limits, "closed");
  const minute = (limit: number, key = freshKey()): Limit => ({ key, limit, windowMs: 60_000 });
  const fill = async (limit: Limit, times: number) => {
    for (let done = 0; done < times; done++) expect((await admit(limit)).admitted).toBe(true);
  };
  const seconds = (ms: number) => Math.ceil(ms / 1000);

  describe("one limit", () => {
    test("admits as many requests as allowed, reports what remains, and rejects the next", async () => {
      nowMs = START_MS;
      const limit = minute(2);
      const resetAt = seconds(START_MS + 60_000);
      const states = (remaining: number, waitMs: number) => [{ remaining, resetAt, waitMs }];
      const { source } = maker;
      expect(await admit(limit)).toEqual({ admitted: true, refusedBy: -1, states: states(1, 0), source });
      nowMs += 10_000;
      expect(await admit(limit)).toEqual({ admitted: true, refusedBy: -1, states: states(0, 0), source });
      nowMs += 10_000;
      expect(await admit(limit)).toEqual({
        admitted: false,
        refusedBy: 0,
        states: states(0, 40_000),
        source,
      });
    });

    test("admits again at the end of the window, and not a millisecond earlier", async () => {
      const limit = minute(1);
      await fill(limit, 1);
      nowMs += 59_999;
      expect(await admit(limit)).toMatchObject({ admitted: false, states: [{ waitMs: 1 }] });
      nowMs += 1;
      expect((await admit(limit)).admitted).toBe(true);
    });

    test("slides: requests at the end of a window count at the start of the next", async () => {
      const limit = minute(3);
      await fill(limit, 1);
      nowMs += 59_000;
      await fill(limit, 2);
      nowMs += 1_000;
      await fill(limit, 1);
      expect(await admit(limit)).toMatchObject({ admitted: false, states: [{ waitMs: 59_000 }] });
    });

    test("rounds the reset time up to seconds", async () => {
      nowMs = START_MS + 1;
      expect((await admit(minute(1))).states[0]?.resetAt).toBe(START_MS / 1000 + 61);
    });

    test("counts each of several requests at the same time", async () => {
      const limit = minute(5);
      await fill(limit, 5);
      expect((await admit(limit)).admitted).toBe(false);
    });

    test("distinguishes long and similar keys", async () => {
      const long = freshKey() + "x".repeat(10_000);
      await fill(minute(1, `${long}1`), 1);
      await fill(minute(1, `${long}2`), 1);
      await fill(minute(1, `${long} é`), 1);
      expect((await admit(minute(1, `${long}1`))).admitted).toBe(false);
    });

    test(`admits exactly 100 of ${maker.concurrent} concurrent requests`, async () => {
      const limit = minute(100);
      const decisions = await Promise.all(Array.from({ length: maker.concurrent }, () => admit(limit)));
      expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(100);
      expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set([maker.source]));
    }, 60_000);
  });

  describe("several limits", () => {
    test("a rejected request is counted in none of them", async () => {
      const [wide, narrow] = [minute(5), minute(1)];
      await fill(narrow, 1);
      for (let tries = 0; tries < 20; tries++)
        expect(await admit(wide, narrow)).toMatchObject({
          admitted: false,
          refusedBy: 1,
          states: [
            { remaining: 5, resetAt: seconds(nowMs + 60_000), waitMs: 0 },
            { remaining: 0, waitMs: 60_000 },
          ],
        });
      await fill(wide, 5);
    });

    test("reports the first exhausted limit, and the wait of each", async () => {
      const [first, second] = [minute(1), { key: freshKey(), limit: 1, windowMs: 5000 }];
      await fill(first, 1);
      await fill(second, 1);
      const rejected = await admit(minute(1), second, first);
      expect(rejected.refusedBy).toBe(1);
      expect(rejected.states.map(({ waitMs }) => waitMs)).toEqual([0, 5000, 60_000]);
    });

    test("no limits: admitted", async () => {
      expect(await admit()).toEqual({ admitted: true, refusedBy: -1, states: [], source: maker.source });
    });
  });

  describe("changed limits", () => {
    test("a lowered limit applies to counted requests; the wait ends when a request is admitted", async () => {
      const limit = minute(4);
      for (let at = 0; at < 4; at++) {
        await fill(limit, 1);
        nowMs += 1000;
      }
      expect(await admit({ ...limit, limit: 2 })).toMatchObject({
        admitted: false,
        states: [{ remaining: 0, waitMs: 58_000 }],
      });
      await fill({ ...limit, limit: 5 }, 1);
    });

    test("a narrower window applies at once, and a wider one finds the earlier count", async () => {
      const limit = { key: freshKey(), limit: 3, windowMs: 3_600_000 };
      await fill(limit, 2);
      nowMs += 120_000;
      const narrow = { ...limit, windowMs: 1000 };
      expect((await admit(narrow)).states[0]?.remaining).toBe(2);
      expect((await admit(limit)).admitted).toBe(false);
    });

    test("a raised limit and a longer window find all that a short window has admitted", async () => {
      const limit = { key: freshKey(), limit: 3, windowMs: 3_600_000 };
      await fill(limit, 3);
      for (let at = 0; at < 50; at++) {
        nowMs += 1000;
        await fill({ ...limit, windowMs: 1000 }, 1);
      }
      expect((await admit({ ...limit, limit: 100 })).states[0]?.remaining).toBe(100 - 53 - 1);
    });
  });

  describe("peek", () => {
    test("returns what admit would return, any number of times, and counts nothing", async () => {
      const [wide, narrow] = [minute(5), minute(1)];
      const peek = async () => counters.peek([wide, narrow], "closed");
      const first = await peek();
      expect(first).toMatchObject({ admitted: true, states: [{ remaining: 4 }, { remaining: 0 }] });
      for (let tries = 0; tries < 10; tries++) expect(await peek()).toEqual(first);
      expect(await admit(wide, narrow)).toEqual(first);
      const rejected = await peek();
      expect(rejected).toMatchObject({
        admitted: false,
        refusedBy: 1,
        states: [{ remaining: 4 }, { remaining: 0, waitMs: 60_000 }],
      });
      expect(await admit(wide, narrow)).toEqual(rejected);
    });

    test("admits from the same moment as admit", async () => {
      const limit = minute(1);
      await fill(limit, 1);
      nowMs += 59_999;
      expect((await counters.peek([limit], "closed")).admitted).toBe(false);
      nowMs += 1;
      expect((await counters.peek([limit], "closed")).admitted).toBe(true);
      await fill(limit, 1);
    });
  });

  test("clear resets one key and no other", async () => {
    const [one, other] = [minute(1), minute(1)];
    await fill(one, 1);
    await fill(other, 1);
    await counters.clear(one.key);
    await counters.clear("never seen");
    expect((await admit(other)).admitted).toBe(false);
    await fill(one, 1);
  });

  test(`${maker.traces} random traces are decided as by the oracle`, async () => {
    for (let seed = 1; seed <= maker.traces; seed++) {
      const oracle = new NaiveCounters();
      for (const [at, step] of randomTrace(seed, 30, maker.scale).entries()) {
        const compared = await compare(oracle, step);
        if (!Bun.deepEquals(compared.got, compared.wanted))
          expect({ seed, at, step, ...compared.got }).toEqual({ seed, at, step, ...compared.wanted });
      }
    }
  }, 120_000);

  async function compare(oracle: NaiveCounters, step: TraceStep) {
    if (step.kind === "clear") {
      oracle.clear(step.key);
      await counters.clear(step.key);
      return { got: {}, wanted: {} };
    }
    nowMs += step.afterMs;
    // A peek before every admit: it must predict the decision, and have no effect that the oracle does not have.
    const predicted = await counters.peek(step.limits, "closed");
    const { admitted, refusedBy, states } = await counters.admit(step.limits, "closed");
    const wanted = oracle.admit(step.limits, nowMs);
    const { source } = maker;
    return {
      got: { admitted, refusedBy, states, predicted },
      wanted: { ...wanted, predicted: { ...wanted, source } },
    };
  }
}
