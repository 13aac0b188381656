// Passive health of one target: consecutive failures, ejection, and the one trial request that can end an ejection. The
// clock is passed in; there are no timers.

/**
 * A trial always ends with a report or with `release`. This limits the damage of a caller that does neither. It is longer
 * than usual first-byte timeouts, so that a target that hangs gets no second trial meanwhile.
 */
const LOST_TRIAL_MS = 300_000;

/** Retry-After for requests rejected during a trial request. The trial's duration is unknown, so keep it short. */
const TRIAL_WAIT_MS = 1_000;

const NO_TRIAL = 0;

/**
 * `startAttempt` returns a ticket for the reports of the attempt. An ejection increments the generation, so that a ticket
 * shows whether its attempt started after the last ejection:
 *
 * - Started before: the report is ignored. A late success does not describe the current target, and late failures (a
 *   crash fails all attempts in flight at once) must neither extend the ejection nor count after it.
 * - Started after, succeeded: the ejection ends, whether the attempt was the trial or not (a trial that was considered
 *   lost, or a retry on the only target, is equal evidence).
 * - Started after, failed: only the trial ejects again; other failures would extend the current ejection.
 */
export class PassiveHealth {
  #consecutiveFailures = 0;
  #isEjected = false;
  #ejectedUntil = 0;
  #generation = 1;
  #ejectionGeneration = 0;
  #trialTicket = NO_TRIAL;
  #trialLostAt = 0;

  /** Whether the target is healthy, or due for a trial that no attempt has taken. */
  canServe(now: number): boolean {
    return !this.#isEjected || (now >= this.#ejectedUntil && !this.#hasTrial(now));
  }

  state(now: number): "healthy" | "ejected" | "probing" {
    if (!this.#isEjected) return "healthy";
    return now < this.#ejectedUntil ? "ejected" : "probing";
  }

  get consecutiveFailures(): number {
    return this.#consecutiveFailures;
  }

  /** End of the ejection. Only valid while the target is ejected. */
  get ejectedUntil(): number {
    return this.#ejectedUntil;
  }

  /** Returns the time until the target can get a request. */
  waitMs(now: number): number {
    if (this.canServe(now)) return 0;
    if (now < this.#ejectedUntil) return this.#ejectedUntil - now;
    return Math.min(TRIAL_WAIT_MS, this.#trialLostAt - now);
  }

  /** A request is sent. Takes the trial slot if a trial is due. */
  startAttempt(intervalMs: number, now: number): number {
    if (!this.#isEjected) return this.#generation;
    const isTrial = this.canServe(now);
    // A separate ticket, so that a retry forced on the only target is never taken for the trial.
    const ticket = ++this.#generation;
    if (isTrial) {
      this.#trialTicket = ticket;
      this.#trialLostAt = now + Math.max(intervalMs, LOST_TRIAL_MS);
    }
    return ticket;
  }

  /**
   * The headers of a 2xx response have arrived. This ends a trial at once, since a stream may take minutes, during which
   * the target would stay ejected. Until a response is complete, one more failure ejects again. Returns whether this
   * ended an ejection.
   */
  recordResponse(ticket: number, threshold: number): boolean {
    if (!this.#isEjected || ticket < this.#ejectionGeneration) return false;
    this.reset();
    this.#consecutiveFailures = Math.max(0, threshold - 1);
    return true;
  }

  /** Returns whether this ended an ejection. */
  recordSuccess(ticket: number): boolean {
    if (ticket < this.#ejectionGeneration) return false;
    const wasEjected = this.#isEjected;
    this.reset();
    return wasEjected;
  }

  /** Returns whether this ejected the target. */
  recordFailure(ticket: number, threshold: number, intervalMs: number, now: number): boolean {
    if (ticket < this.#ejectionGeneration) return false;
    if (this.#isEjected) {
      if (ticket !== this.#trialTicket) return false;
    } else if (++this.#consecutiveFailures < threshold) {
      return false;
    }
    this.#isEjected = true;
    this.#ejectedUntil = now + intervalMs;
    this.#consecutiveFailures = 0;
    this.#trialTicket = NO_TRIAL;
    this.#ejectionGeneration = ++this.#generation;
    return true;
  }

  /** The attempt ended without a report. If it was the trial, the next attempt is. */
  release(ticket: number): void {
    if (ticket === this.#trialTicket) this.#trialTicket = NO_TRIAL;
  }

  /** Makes the target healthy. */
  reset(): void {
    this.#isEjected = false;
    this.#consecutiveFailures = 0;
    this.#trialTicket = NO_TRIAL;
  }

  copy(): PassiveHealth {
    const copy = new PassiveHealth();
    copy.#consecutiveFailures = this.#consecutiveFailures;
    copy.#isEjected = this.#isEjected;
    copy.#ejectedUntil = this.#ejectedUntil;
    copy.#generation = this.#generation;
    copy.#ejectionGeneration = this.#ejectionGeneration;
    copy.#trialTicket = this.#trialTicket;
    copy.#trialLostAt = this.#trialLostAt;
    return copy;
  }

  #hasTrial(now: number): boolean {
    return this.#trialTicket !== NO_TRIAL && now < this.#trialLostAt;
  }
}
