// What one attempt tells the balancer, and that it tells it exactly once.
import type { BalancePlan } from "../balance/balance-plan.ts";
import type { AttemptFacts } from "../telemetry/requests/request-facts.ts";

export type Verdict = "succeeded" | "failed" | "neutral";

export class AttemptReport {
  readonly #plan: BalancePlan;
  readonly #index: number;
  readonly #ticket: number;
  /** What is remembered of the attempt; null where it is only rehearsed. */
  readonly facts: AttemptFacts | null;
  #isOpen = true;

  /** To be made in the same turn of the event loop as the pick: a trial of an ejected target is claimed here. */
  constructor(plan: BalancePlan, index: number, now: number, facts: AttemptFacts | null) {
    this.#plan = plan;
    this.#index = index;
    this.facts = facts;
    this.#ticket = plan.started(index, now);
  }

  /** A good answer began. */
  answered(firstByteMs: number, now: number): void {
    this.#plan.answered(this.#index, this.#ticket, firstByteMs, now);
  }

  /** A 429 asked for a rest. */
  rest(milliseconds: number, now: number): void {
    this.#plan.rest(this.#index, milliseconds, now);
  }

  end(verdict: Verdict): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const now = performance.now();
    if (this.facts !== null) this.facts.endedAt = now;
    if (verdict === "succeeded") this.#plan.succeeded(this.#index, this.#ticket);
    else if (verdict === "failed") this.#plan.failed(this.#index, this.#ticket, now);
    else this.#plan.neutral(this.#index, this.#ticket);
    this.#plan.ended(this.#index, this.#ticket);
  }
}
