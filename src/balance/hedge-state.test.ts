// What allows a hedge: the share of the last ten minutes, five always, and none within 10 s of a 429. Compared with lists of times.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { HedgeState } from "./hedge-state.ts";

const BUCKET_MS = 10_000;

type Event = { readonly gap: number; readonly what: "request" | "hedge" | "429" };

const eventArb: fc.Arbitrary<Event> = fc.record({
  gap: fc.oneof(
    { weight: 8, arbitrary: fc.nat(2000) },
    { weight: 2, arbitrary: fc.constantFrom(0, 9_999, 10_000, 10_001, 599_999, 600_000) },
    { weight: 1, arbitrary: fc.nat(2_000_000) },
  ),
  what: fc.constantFrom("request", "request", "request", "hedge", "429"),
});

/** Remembers every event. Time is counted in buckets of 10 s, the current one and the 59 before it. */
class NaiveState {
  readonly #requests: number[] = [];
  readonly #hedges: number[] = [];
  #limitedAt = -Infinity;

  add(what: Event["what"], now: number): void {
    if (what === "429") this.#limitedAt = now;
    else (what === "request" ? this.#requests : this.#hedges).push(now);
  }

  refusal(budget: number, now: number): string | null {
    if (now - this.#limitedAt < 10_000) return "rate_limited";
    const first = (Math.floor(now / BUCKET_MS) - 59) * BUCKET_MS;
    const count = (times: readonly number[]) => times.filter((at) => at >= first).length;
    return count(this.#hedges) + 1 > Math.max(5, count(this.#requests) * budget) ? "budget" : null;
  }
}

describe("the budget of hedges", () => {
  test("property: decides as a list of all events does", () => {
    fc.assert(
      fc.property(
        fc.array(eventArb, { maxLength: 150 }),
        fc.constantFrom(0.01, 0.05, 0.3, 1),
        fc.nat(700_000),
        (events, budget, start) => {
          const state = new HedgeState();
          const naive = new NaiveState();
          let now = start;
          for (const { gap, what } of events) {
            now += gap;
            expect(state.refusal(budget, now)).toBe(naive.refusal(budget, now) as "budget");
            naive.add(what, now);
            if (what === "request") state.recordRequest(now);
            else if (what === "hedge") state.recordHedge(now);
            else state.recordRateLimit(now);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test("property: at most the budget, or five, of the requests of ten minutes are hedged", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3000), { minLength: 1, maxLength: 400 }), (gaps) => {
        const state = new HedgeState();
        let now = 0;
        let hedged = 0;
        for (const gap of gaps) {
          now = Math.min(now + gap, 590_000);
          state.recordRequest(now);
          if (state.refusal(0.05, now) !== null) continue;
          state.recordHedge(now);
          hedged++;
        }
        expect(hedged).toBe(Math.max(Math.min(5, gaps.length), Math.floor(gaps.length * 0.05)));
      }),
      { numRuns: 50 },
    );
  });
});

describe("times by model", () => {
  const record = (state: HedgeState, model: string | null, isStream: boolean, milliseconds: number) => {
    for (let count = 0; count < 20; count++) state.recordTime(model, isStream, milliseconds);
  };

  test("streams and other responses have their own, and so has each model", () => {
    const state = new HedgeState();
    record(state, "a", true, 100);
    record(state, "a", false, 1000);
    record(state, null, false, 5000);
    expect(state.p95("a", true)).toBeWithin(100, 107);
    expect(state.p95("a", false)).toBeWithin(1000, 1052);
    expect(state.p95(null, false)).toBeWithin(5000, 5252);
    expect(state.p95("b", true)).toBeNull();
  });

  test("names of models that clients invent share one entry, and do not replace known ones", () => {
    const state = new HedgeState();
    record(state, "known", true, 100);
    for (let name = 0; name < 1000; name++) record(state, `invented ${name}`, true, 3000);
    expect(state.p95("known", true)).toBeWithin(100, 107);
    expect(state.p95("invented 999", true)).toBeWithin(3000, 3152);
    // A name cannot be chosen so that it is that of the other kind of responses.
    record(state, "stream known", false, 9000);
    expect(state.p95("known", true)).toBeWithin(100, 107);
  });
});

test("a copy has the same state, and neither changes the other one", () => {
  const state = new HedgeState();
  for (let count = 0; count < 5; count++) {
    state.recordRequest(1000);
    state.recordHedge(1000);
  }
  for (let count = 0; count < 20; count++) state.recordTime("m", true, 200);
  const copy = state.copy();
  expect(copy.refusal(0.05, 2000)).toBe("budget");
  expect(copy.p95("m", true)).toBe(state.p95("m", true));
  for (let count = 0; count < 200; count++) copy.recordRequest(2000);
  copy.recordRateLimit(2000);
  for (let count = 0; count < 600; count++) copy.recordTime("m", true, 90_000);
  expect(state.refusal(0.05, 2000)).toBe("budget");
  expect(state.p95("m", true)).toBeLessThan(300);
  expect(copy.refusal(0.05, 12_000)).toBeNull();
});
