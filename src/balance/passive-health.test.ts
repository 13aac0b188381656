import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { PassiveHealth } from "./passive-health.ts";

const INTERVAL = 1000;

function eject(health: PassiveHealth, now: number): void {
  expect(health.failed(health.start(INTERVAL, now), 1, INTERVAL, now)).toBe(true);
}

describe("passive health", () => {
  test("ejects after the threshold of failures in a row, for the interval", () => {
    const health = new PassiveHealth();
    const report = (ok: boolean) => {
      const ticket = health.start(INTERVAL, 0);
      return ok ? health.succeeded(ticket) : health.failed(ticket, 3, INTERVAL, 0);
    };
    expect([false, false, true, false, false].map(report)).not.toContain(true);
    expect(health.canServe(0)).toBe(true);
    expect(report(false)).toBe(true);
    expect([health.canServe(INTERVAL - 1), health.state(INTERVAL - 1)]).toEqual([false, "ejected"]);
    expect(health.waitMs(400)).toBe(600);
    expect([health.canServe(INTERVAL), health.state(INTERVAL)]).toEqual([true, "probing"]);
    expect(health.waitMs(INTERVAL)).toBe(0);
  });

  test("lets one trial through at a time; success brings the target back fully", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const trial = health.start(INTERVAL, 1000);
    expect(health.canServe(1001)).toBe(false);
    expect(health.waitMs(1001)).toBe(1000);
    expect(health.succeeded(trial)).toBe(true);
    expect(health.state(1002)).toBe("healthy");
    expect(health.failed(health.start(INTERVAL, 1003), 2, INTERVAL, 1003)).toBe(false);
  });

  test("ejects for another interval when the trial fails", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    expect(health.failed(health.start(INTERVAL, 1500), 3, INTERVAL, 1700)).toBe(true);
    expect([health.canServe(2699), health.canServe(2700)]).toEqual([false, true]);
  });

  test("frees the trial slot on an end without a verdict, and only for its holder", () => {
    const health = new PassiveHealth();
    const before = health.start(INTERVAL, 0);
    eject(health, 0);
    const trial = health.start(INTERVAL, 1000);
    health.release(before);
    expect(health.canServe(1001)).toBe(false);
    health.release(trial);
    expect(health.canServe(1001)).toBe(true);
  });

  test("gives up a trial that never ends, yet believes its late success", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const lost = health.start(INTERVAL, 1000);
    expect(health.canServe(300_999)).toBe(false);
    expect(health.waitMs(300_900)).toBe(100);
    expect(health.canServe(301_000)).toBe(true);
    const second = health.start(INTERVAL, 301_000);
    expect(health.failed(lost, 1, INTERVAL, 301_001)).toBe(false);
    expect(health.canServe(301_002)).toBe(false);
    expect(health.succeeded(lost)).toBe(true);
    expect(health.succeeded(second)).toBe(false);
  });

  test("comes back when a good answer begins, on probation until one is complete", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const trial = health.start(INTERVAL, 1000);
    expect(health.answered(trial, 5)).toBe(true);
    expect(health.canServe(1001)).toBe(true);
    expect(health.failed(trial, 5, INTERVAL, 2000)).toBe(true);
    const second = health.start(INTERVAL, 3000);
    health.answered(second, 5);
    health.succeeded(second);
    expect(health.failed(health.start(INTERVAL, 3001), 5, INTERVAL, 3001)).toBe(false);
  });

  test("lets a forced retry bring the target back, but neither prolong nor end the trial", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const early = health.start(INTERVAL, 10);
    expect(health.failed(early, 1, INTERVAL, 20)).toBe(false);
    expect(health.canServe(1000)).toBe(true);
    const trial = health.start(INTERVAL, 1000);
    const forced = health.start(INTERVAL, 1001);
    health.release(forced);
    expect(health.canServe(1002)).toBe(false);
    expect(health.succeeded(forced)).toBe(true);
    expect(health.succeeded(trial)).toBe(false);
  });

  test("forgives", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    health.forgive();
    expect(health.state(1)).toBe("healthy");
  });
});

type Report = "answered" | "succeeded" | "failed" | "neutral";
type Step =
  | { readonly do: "start"; readonly forced: boolean }
  | { readonly do: "report"; readonly which: number; readonly how: Report }
  | { readonly do: "wait"; readonly ms: number };

const stepArb: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("start" as const), forced: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("report" as const),
      which: fc.nat(),
      how: fc.constantFrom<Report>("answered", "succeeded", "failed", "failed", "neutral"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(1200) }) },
);

interface Attempt {
  readonly ticket: number;
  readonly startedAtStep: number;
}

/** The rules as the contract words them, over whole attempts instead of tickets. */
class NaiveHealth {
  failures = 0;
  outUntil: number | null = null;
  ejectedAtStep = -1;
  trial: Attempt | null = null;

  canServe(now: number): boolean {
    return this.outUntil === null || (now >= this.outUntil && this.trial === null);
  }

  report(attempt: Attempt, how: Report, threshold: number, now: number, step: number): void {
    const isStale = attempt.startedAtStep < this.ejectedAtStep;
    const holdsTrial = this.trial === attempt;
    if (how === "answered") {
      if (!isStale && this.outUntil !== null) this.bringBack(threshold - 1);
      return;
    }
    if (holdsTrial) this.trial = null;
    if (isStale) return;
    if (how === "succeeded") this.bringBack(0);
    if (how === "failed") {
      const counts = this.outUntil === null ? ++this.failures >= threshold : holdsTrial;
      if (!counts) return;
      this.outUntil = now + INTERVAL;
      this.failures = 0;
      this.ejectedAtStep = step;
    }
  }

  bringBack(failures: number): void {
    this.outUntil = null;
    this.trial = null;
    this.failures = failures;
  }
}

test("passive health behaves as the naive model under any interleaving", () => {
  const stepsArb = fc.array(stepArb, { minLength: 10, maxLength: 120 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), stepsArb, (threshold, steps) => {
      const health = new PassiveHealth();
      const naive = new NaiveHealth();
      const open: Attempt[] = [];
      let now = 0;
      for (const [at, step] of steps.entries()) {
        if (step.do === "wait") {
          now += step.ms;
        } else if (step.do === "start") {
          if (!step.forced && !naive.canServe(now)) continue;
          const isTrial = naive.outUntil !== null && naive.canServe(now);
          const attempt = { ticket: health.start(INTERVAL, now), startedAtStep: at };
          if (isTrial) naive.trial = attempt;
          open.push(attempt);
        } else if (open.length > 0) {
          const which = step.which % open.length;
          const attempt = open[which]!;
          if (step.how === "answered") {
            health.answered(attempt.ticket, threshold);
          } else {
            open.splice(which, 1);
            if (step.how === "succeeded") health.succeeded(attempt.ticket);
            if (step.how === "failed") health.failed(attempt.ticket, threshold, INTERVAL, now);
            health.release(attempt.ticket);
          }
          naive.report(attempt, step.how, threshold, now, at);
        }
        expect(health.canServe(now)).toBe(naive.canServe(now));
        expect(health.state(now) === "healthy").toBe(naive.outUntil === null);
      }
    }),
    { numRuns: 2000 },
  );
});
