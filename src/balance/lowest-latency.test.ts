import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import { pickFastest, REFRESH_AFTER_MS, REFRESH_EVERY_PICKS, RefreshPace } from "./lowest-latency.ts";

/** Asks `picks` times, one each `everyMs`; each answer takes what `latencyOf` says. The picks in order. */
function drive(
  all: ReturnType<typeof contendersOf>,
  pace: RefreshPace,
  from: number,
  picks: number,
  everyMs: number,
  latencyOf: (index: number) => number,
): number[] {
  const sequence: number[] = [];
  for (let n = 0; n < picks; n++) {
    const now = from + n * everyMs;
    const picked = pickFastest([...all], all.length, pace, now);
    all[picked]!.state.latency.started(now);
    all[picked]!.state.latency.measured(latencyOf(picked), now);
    sequence.push(picked);
  }
  return sequence;
}

describe("lowest latency", () => {
  test("measures everyone once, then stays with the fastest, as a naive search does", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 5000 }), { minLength: 2, maxLength: 10 }),
        (latencies) => {
          const all = contendersOf(latencies.map(() => 1));
          const sequence = drive(all, new RefreshPace(), 0, 200, 1, (i) => latencies[i]!);
          const fastest = latencies.indexOf(Math.min(...latencies));
          expect(sequence.slice(0, latencies.length)).toEqual(latencies.map((_, i) => i));
          expect(sequence.slice(latencies.length).every((picked) => picked === fastest)).toBe(true);
        },
      ),
    );
  });

  test("does not pour everything on a newcomer that has not answered yet", () => {
    const all = contendersOf([1, 1]);
    const pace = new RefreshPace();
    drive(all.slice(0, 1), pace, 0, 5, 1, () => 10);
    expect(pickFastest([...all], 2, pace, 6)).toBe(1);
    all[1]!.state.latency.started(6);
    for (let n = 0; n < 50; n++) expect(pickFastest([...all], 2, pace, 7)).toBe(0);
  });

  test("takes turns while nobody has answered", () => {
    const all = contendersOf([1, 1]);
    for (const { state } of all) state.latency.started(0);
    const counts = [0, 0];
    for (let n = 0; n < 100; n++) counts[pickFastest([...all], 2, new RefreshPace(), 1)]!++;
    expect(counts).toEqual([50, 50]);
  });

  test("finds a recovered target again", () => {
    const all = contendersOf([1, 1]);
    const pace = new RefreshPace();
    drive(all, pace, 0, 100, 10, (i) => (i === 0 ? 5000 : 100));
    const later = drive(all, pace, 1000, 12_000, 10, (i) => (i === 0 ? 10 : 100));
    // Five seconds of traffic, in which the other is measured again once at most.
    expect(later.slice(-500).filter((picked) => picked !== 0).length).toBeLessThanOrEqual(1);
  });

  test("spends no more than its share on measuring again, at any pace of traffic", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 2, max: 8 }), (everyMs, size) => {
        const all = contendersOf(Array.from({ length: size }, () => 1));
        const sequence = drive(all, new RefreshPace(), 0, 1000, everyMs, (i) => 10 + i * 100);
        const spent = sequence.slice(size).filter((picked) => picked !== 0).length;
        expect(spent).toBeLessThanOrEqual(1000 / REFRESH_EVERY_PICKS);
        const perTarget = Math.ceil((1000 * everyMs) / REFRESH_AFTER_MS);
        expect(spent).toBeLessThanOrEqual(perTarget * (size - 1));
      }),
    );
  });
});
