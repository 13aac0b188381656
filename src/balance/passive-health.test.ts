// Passive health: ejection, trials, and late reports, also against a naive model.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { PassiveHealth } from "./passive-health.ts";

const INTERVAL = 1000;

function eject(health: PassiveHealth, now: number): void {
  expect(health.recordFailure(health.startAttempt(INTERVAL, now), 1, INTERVAL, now)).toBe(true);
}

describe("passive health", () => {
  test("ejects for the interval after `threshold` consecutive failures", () => {
    const health = new PassiveHealth();
    const report = (ok: boolean) => {
      const ticket = health.startAttempt(INTERVAL, 0);
      return ok ? health.recordSuccess(ticket) : health.recordFailure(ticket, 3, INTERVAL, 0);
    };
    expect([false, false, true, false, false].map(report)).not.toContain(true);
    expect(health.canServe(0)).toBe(true);
    expect(report(false)).toBe(true);
    expect([health.canServe(INTERVAL - 1), health.state(INTERVAL - 1)]).toEqual([false, "ejected"]);
    expect(health.waitMs(400)).toBe(600);
    expect([health.canServe(INTERVAL), health.state(INTERVAL)]).toEqual([true, "probing"]);
    expect(health.waitMs(INTERVAL)).toBe(0);
  });

  test("allows one trial at a time; its success makes the target healthy", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const trial = health.startAttempt(INTERVAL, 1000);
    expect(health.canServe(1001)).toBe(false);
    expect(health.waitMs(1001)).toBe(1000);
    expect(health.recordSuccess(trial)).toBe(true);
    expect(health.state(1002)).toBe("healthy");
    expect(health.recordFailure(health.startAttempt(INTERVAL, 1003), 2, INTERVAL, 1003)).toBe(false);
  });

  test("ejects for another interval if the trial fails", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    expect(health.recordFailure(health.startAttempt(INTERVAL, 1500), 3, INTERVAL, 1700)).toBe(true);
    expect([health.canServe(2699), health.canServe(2700)]).toEqual([false, true]);
  });

  test("a trial that ends without a report frees the slot; other attempts do not", () => {
    const health = new PassiveHealth();
    const before = health.startAttempt(INTERVAL, 0);
    eject(health, 0);
    const trial = health.startAttempt(INTERVAL, 1000);
    health.release(before);
    expect(health.canServe(1001)).toBe(false);
    health.release(trial);
    expect(health.canServe(1001)).toBe(true);
  });

  test("allows another trial if one never ends, and still counts its late success", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const lost = health.startAttempt(INTERVAL, 1000);
    expect(health.canServe(300_999)).toBe(false);
    expect(health.waitMs(300_900)).toBe(100);
    expect(health.canServe(301_000)).toBe(true);
    const second = health.startAttempt(INTERVAL, 301_000);
    expect(health.recordFailure(lost, 1, INTERVAL, 301_001)).toBe(false);
    expect(health.canServe(301_002)).toBe(false);
    expect(health.recordSuccess(lost)).toBe(true);
    expect(health.recordSuccess(second)).toBe(false);
  });

  test("is healthy when a response starts, but one failure ejects until a response is complete", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const trial = health.startAttempt(INTERVAL, 1000);
    expect(health.recordResponse(trial, 5)).toBe(true);
    expect(health.canServe(1001)).toBe(true);
    expect(health.recordFailure(trial, 5, INTERVAL, 2000)).toBe(true);
    const second = health.startAttempt(INTERVAL, 3000);
    health.recordResponse(second, 5);
    health.recordSuccess(second);
    expect(health.recordFailure(health.startAttempt(INTERVAL, 3001), 5, INTERVAL, 3001)).toBe(false);
  });

  test("a forced retry can end the ejection, but neither extends it nor ends the trial", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    const early = health.startAttempt(INTERVAL, 10);
    expect(health.recordFailure(early, 1, INTERVAL, 20)).toBe(false);
    expect(health.canServe(1000)).toBe(true);
    const trial = health.startAttempt(INTERVAL, 1000);
    const forced = health.startAttempt(INTERVAL, 1001);
    health.release(forced);
    expect(health.canServe(1002)).toBe(false);
    expect(health.recordSuccess(forced)).toBe(true);
    expect(health.recordSuccess(trial)).toBe(false);
  });

  test("reset ends an ejection", () => {
    const health = new PassiveHealth();
    eject(health, 0);
    health.reset();
    expect(health.state(1)).toBe("healthy");
  });
});

type Report = "responded" | "succeeded" | "failed" | "neutral";
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
      how: fc.constantFrom<Report>("responded", "succeeded", "failed", "failed", "neutral"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(1200) }) },
);

interface Attempt {
  readonly ticket: number;
  readonly startedAtStep: number;
}

/** The rules, for attempts instead of tickets. */
class NaiveHealth {
  failures = 0;
  ejectedUntil: number | null = null;
  ejectedAtStep = -1;
  trial: Attempt | null = null;

  canServe(now: number): boolean {
    return this.ejectedUntil === null || (now >= this.ejectedUntil && this.trial === null);
  }

  report(attempt: Attempt, how: Report, threshold: number, now: number, step: number): void {
    const isStale = attempt.startedAtStep < this.ejectedAtStep;
    const holdsTrial = this.trial === attempt;
    if (how === "responded") {
      if (!isStale && this.ejectedUntil !== null) this.readmit(threshold - 1);
      return;
    }
    if (holdsTrial) this.trial = null;
    if (isStale) return;
    if (how === "succeeded") this.readmit(0);
    if (how === "failed") {
      const counts = this.ejectedUntil === null ? ++this.failures >= threshold : holdsTrial;
      if (!counts) return;
      this.ejectedUntil = now + INTERVAL;
      this.failures = 0;
      this.ejectedAtStep = step;
    }
  }

  readmit(failures: number): void {
    this.ejectedUntil = null;
    this.trial = null;
    this.failures = failures;
  }
}

test("property: behaves as the naive model for any sequence of events", () => {
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
          const isTrial = naive.ejectedUntil !== null && naive.canServe(now);
          const attempt = { ticket: health.startAttempt(INTERVAL, now), startedAtStep: at };
          if (isTrial) naive.trial = attempt;
          open.push(attempt);
        } else if (open.length > 0) {
          const which = step.which % open.length;
          const attempt = open[which]!;
          if (step.how === "responded") {
            health.recordResponse(attempt.ticket, threshold);
          } else {
            open.splice(which, 1);
            if (step.how === "succeeded") health.recordSuccess(attempt.ticket);
            if (step.how === "failed") health.recordFailure(attempt.ticket, threshold, INTERVAL, now);
            health.release(attempt.ticket);
          }
          naive.report(attempt, step.how, threshold, now, at);
        }
        expect(health.canServe(now)).toBe(naive.canServe(now));
        expect(health.state(now) === "healthy").toBe(naive.ejectedUntil === null);
      }
    }),
    { numRuns: 2000 },
  );
});
