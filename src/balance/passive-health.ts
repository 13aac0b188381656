// Owns whether one target is in service: failures in a row, ejection, and the one trial request that may bring
// it back. Plain transitions on a clock that is passed in; no timers.

// A trial always ends by a report or by release(). This only bounds the harm of a caller that lost one, so it lies
// above ordinary first-byte deadlines: a target that hangs must not collect a second trial meanwhile.
const LOST_TRIAL_MS = 300_000;

// Nobody knows when a trial will end; whoever is sent away meanwhile may ask again soon.
const TRIAL_UNDER_WAY_WAIT_MS = 1_000;

const NO_TRIAL = 0;

/**
 * start() hands out a ticket that the reports bring back. Ejection raises the generation, so a ticket tells whether
 * its request began after the last ejection:
 *
 * - begun before it: the report is ignored. A late success says nothing of the target now, and late failures (a
 *   crash fails everything in flight at once) must neither prolong the ejection nor count after the return.
 * - begun after it and succeeded: the target is back, trial or not (a trial that was given up as lost, or a retry
 *   on the only target, proves as much).
 * - begun after it and failed: only the trial ejects again; anything else would prolong an ejection that stands.
 */
export class PassiveHealth {
  #failuresInRow = 0;
  #ejected = false;
  #ejectedUntil = 0;
  #generation = 1;
  #ejectionGeneration = 0;
  #trialTicket = NO_TRIAL;
  #trialLostAt = 0;

  /** In service, or due for a trial that nobody holds. */
  canServe(now: number): boolean {
    return !this.#ejected || (now >= this.#ejectedUntil && !this.#trialHeld(now));
  }

  state(now: number): "healthy" | "ejected" | "probing" {
    if (!this.#ejected) return "healthy";
    return now < this.#ejectedUntil ? "ejected" : "probing";
  }

  get failuresInRow(): number {
    return this.#failuresInRow;
  }

  /** When an ejection ends; means nothing while the target is in service. */
  get ejectedUntil(): number {
    return this.#ejectedUntil;
  }

  /** Time until a request may be sent here. */
  waitMs(now: number): number {
    if (this.canServe(now)) return 0;
    if (now < this.#ejectedUntil) return this.#ejectedUntil - now;
    return Math.min(TRIAL_UNDER_WAY_WAIT_MS, this.#trialLostAt - now);
  }

  /** A request goes out; takes the trial slot when the target is due for one. */
  start(intervalMs: number, now: number): number {
    if (!this.#ejected) return this.#generation;
    const isTrial = this.canServe(now);
    // A ticket of its own, so that a retry forced upon the only target is never mistaken for the trial.
    const ticket = ++this.#generation;
    if (isTrial) {
      this.#trialTicket = ticket;
      this.#trialLostAt = now + Math.max(intervalMs, LOST_TRIAL_MS);
    }
    return ticket;
  }

  /**
   * A good answer began. It ends a trial at once, since a stream may run for minutes during which the target would
   * stay shut; but until a success is complete, one more failure ejects again. True when the target came back.
   */
  answered(ticket: number, threshold: number): boolean {
    if (!this.#ejected || ticket < this.#ejectionGeneration) return false;
    this.#readmit();
    this.#failuresInRow = Math.max(0, threshold - 1);
    return true;
  }

  /** True when the target came back by this. */
  succeeded(ticket: number): boolean {
    if (ticket < this.#ejectionGeneration) return false;
    const cameBack = this.#ejected;
    this.#readmit();
    return cameBack;
  }

  /** True when this failure took the target out. */
  failed(ticket: number, threshold: number, intervalMs: number, now: number): boolean {
    if (ticket < this.#ejectionGeneration) return false;
    if (this.#ejected) {
      if (ticket !== this.#trialTicket) return false;
    } else if (++this.#failuresInRow < threshold) {
      return false;
    }
    this.#ejected = true;
    this.#ejectedUntil = now + intervalMs;
    this.#failuresInRow = 0;
    this.#trialTicket = NO_TRIAL;
    this.#ejectionGeneration = ++this.#generation;
    return true;
  }

  /** The request is over without a verdict; were it the trial, the next request tries. */
  release(ticket: number): void {
    if (ticket === this.#trialTicket) this.#trialTicket = NO_TRIAL;
  }

  /** Passive checks were turned off: nothing of the past is held against the target. */
  forgive(): void {
    this.#readmit();
  }

  copy(): PassiveHealth {
    const copy = new PassiveHealth();
    copy.#failuresInRow = this.#failuresInRow;
    copy.#ejected = this.#ejected;
    copy.#ejectedUntil = this.#ejectedUntil;
    copy.#generation = this.#generation;
    copy.#ejectionGeneration = this.#ejectionGeneration;
    copy.#trialTicket = this.#trialTicket;
    copy.#trialLostAt = this.#trialLostAt;
    return copy;
  }

  #trialHeld(now: number): boolean {
    return this.#trialTicket !== NO_TRIAL && now < this.#trialLostAt;
  }

  #readmit(): void {
    this.#ejected = false;
    this.#failuresInRow = 0;
    this.#trialTicket = NO_TRIAL;
  }
}
