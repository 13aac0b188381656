// The work of all inspections in one turn of the event loop: many requests that take a few milliseconds each would together delay
// all others.

/** About 30 ms of prose, of programs or of hostile text. When they are used up, bodies are inspected in worker threads for the rest of the turn. */
const STEPS_PER_TURN = 2_000_000;
/** Work below this is not worth a callback at the end of the turn. */
const NOTICED_STEPS = 100_000;
/** The inspection of smaller bodies takes less time than a task. */
const SMALL_BODY_BYTES = 4096;

export class TurnWork {
  #steps = 0;
  #isScheduled = false;

  add(steps: number): void {
    this.#steps += steps;
    if (this.#steps < NOTICED_STEPS || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#steps = 0;
    });
  }

  /** Whether a body of this size should be inspected in a worker thread. */
  isExhaustedFor(bodyBytes: number): boolean {
    return this.#steps > STEPS_PER_TURN && bodyBytes > SMALL_BODY_BYTES;
  }
}
