// Reports one upstream attempt to the balancer: its start, its first byte, and its end exactly once.
import type { BalancePlan } from "../balance/balance-plan.ts";
import type { AttemptFacts } from "../telemetry/requests/request-facts.ts";

/** What an attempt says about the health of its target. "neutral" says nothing. */
export type HealthResult = "succeeded" | "failed" | "neutral";

/** Returns the result for a complete response with this status. */
export function healthResultOf(status: number): HealthResult {
  if (status >= 500) return "failed";
  return status >= 400 ? "neutral" : "succeeded";
}

export class BalancerReport {
  readonly #plan: BalancePlan;
  readonly #index: number;
  readonly #ticket: number;
  /** The telemetry of the attempt; null if the attempt is only rehearsed. */
  readonly facts: AttemptFacts | null;
  #isOpen = true;

  /** Create it in the same turn of the event loop as the pick: it claims the trial slot of an unhealthy target. */
  constructor(plan: BalancePlan, index: number, now: number, facts: AttemptFacts | null) {
    this.#plan = plan;
    this.#index = index;
    this.facts = facts;
    this.#ticket = plan.startAttempt(index, now);
  }

  /** Call when the headers of a successful response have arrived. */
  responseStarted(firstByteMs: number, now: number): void {
    this.#plan.recordResponse(this.#index, this.#ticket, firstByteMs, now);
  }

  /** Call before `end` for an attempt that was aborted because another one was faster. */
  wasSlow(elapsedMs: number, now: number): void {
    if (this.#isOpen) this.#plan.recordSlow(this.#index, elapsedMs, now);
  }

  /** Call for a 429 with Retry-After: the target is not used for this time if others can serve. */
  rest(milliseconds: number, now: number): void {
    this.#plan.rest(this.#index, milliseconds, now);
  }

  /** Only the first call counts. */
  end(result: HealthResult, now: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.facts !== null) this.facts.endedAt = now;
    if (result === "succeeded") this.#plan.recordSuccess(this.#index, this.#ticket);
    else if (result === "failed") this.#plan.recordFailure(this.#index, this.#ticket, now);
    else this.#plan.recordNeutral(this.#index, this.#ticket);
    this.#plan.endAttempt(this.#index, this.#ticket);
  }
}
