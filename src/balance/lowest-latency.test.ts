// Lowest latency: the fastest target wins, and slower ones are measured again.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import {
  pickLowestLatency,
  REMEASURE_AFTER_MS,
  REMEASURE_EVERY_PICKS,
  RemeasurePace,
} from "./lowest-latency.ts";

/** Picks once every `everyMs`, with response times by `latencyOf`. Returns the picks in order. */
function drive(
  all: ReturnType<typeof contendersOf>,
  pace: RemeasurePace,
  from: number,
  picks: number,
  everyMs: number,
  latencyOf: (index: number) => number,
): number[] {
  const sequence: number[] = [];
  for (let n = 0; n < picks; n++) {
    const now = from + n * everyMs;
    const picked = pickLowestLatency([...all], pace, now);
    all[picked]!.state.latency.recordStart(now);
    all[picked]!.state.latency.recordFirstByte(latencyOf(picked), now);
    sequence.push(picked);
  }
  return sequence;
}

describe("lowest latency", () => {
  test("measures every target once, then stays with the fastest, as a naive search does", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 5000 }), { minLength: 2, maxLength: 10 }),
        (latencies) => {
          const all = contendersOf(latencies.map(() => 1));
          const sequence = drive(all, new RemeasurePace(), 0, 200, 1, (i) => latencies[i]!);
          const fastest = latencies.indexOf(Math.min(...latencies));
          expect(sequence.slice(0, latencies.length)).toEqual(latencies.map((_, i) => i));
          expect(sequence.slice(latencies.length).every((picked) => picked === fastest)).toBe(true);
        },
      ),
    );
  });

  test("does not send all requests to a new target that has not responded yet", () => {
    const all = contendersOf([1, 1]);
    const pace = new RemeasurePace();
    drive(all.slice(0, 1), pace, 0, 5, 1, () => 10);
    expect(pickLowestLatency([...all], pace, 6)).toBe(1);
    all[1]!.state.latency.recordStart(6);
    for (let n = 0; n < 50; n++) expect(pickLowestLatency([...all], pace, 7)).toBe(0);
  });

  test("uses round robin until a target has responded", () => {
    const all = contendersOf([1, 1]);
    for (const { state } of all) state.latency.recordStart(0);
    const counts = [0, 0];
    for (let n = 0; n < 100; n++) counts[pickLowestLatency([...all], new RemeasurePace(), 1)]!++;
    expect(counts).toEqual([50, 50]);
  });

  test("notices that a target has become faster", () => {
    const all = contendersOf([1, 1]);
    const pace = new RemeasurePace();
    drive(all, pace, 0, 100, 10, (i) => (i === 0 ? 5000 : 100));
    const later = drive(all, pace, 1000, 12_000, 10, (i) => (i === 0 ? 10 : 100));
    // In five seconds of traffic, the other target is measured at most once.
    expect(later.slice(-500).filter((picked) => picked !== 0).length).toBeLessThanOrEqual(1);
  });

  test("measures slower targets with a limited share of requests, at any rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 2, max: 8 }), (everyMs, size) => {
        const all = contendersOf(Array.from({ length: size }, () => 1));
        const sequence = drive(all, new RemeasurePace(), 0, 1000, everyMs, (i) => 10 + i * 100);
        const remeasured = sequence.slice(size).filter((picked) => picked !== 0).length;
        expect(remeasured).toBeLessThanOrEqual(1000 / REMEASURE_EVERY_PICKS);
        const perTarget = Math.ceil((1000 * everyMs) / REMEASURE_AFTER_MS);
        expect(remeasured).toBeLessThanOrEqual(perTarget * (size - 1));
      }),
    );
  });
});
