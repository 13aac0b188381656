// Runs the calls of plugins in shadow mode in turns of the event loop of their own: between two calls, the loop serves what has arrived
// meanwhile, so that another request waits for one call at most.

/** The part of the waiting calls that run in one turn. With a single call per turn, a busy gateway would not keep up with its requests. */
const SHARE_PER_TURN = 1 / 4;

export class ShadowTurns {
  readonly #waiting = new Set<() => void>();
  /** Calls that run in the next turn. */
  #scheduled = 0;
  #isBeginning = false;

  /** Calls `run`, which must not throw, in a later turn of the event loop, after those that were added before. */
  add(run: () => void): void {
    this.#waiting.add(run);
    if (this.#scheduled > 0 || this.#isBeginning) return;
    this.#isBeginning = true;
    setImmediate(this.#begin);
  }

  /** One turn later, because the loop reads from sockets between two turns: other responses have often arrived at the same time. */
  readonly #begin = () => {
    this.#isBeginning = false;
    this.#schedule();
  };

  /** One callback per call: what a call leaves to promises happens before the next call. */
  #schedule(): void {
    this.#scheduled = Math.ceil(this.#waiting.size * SHARE_PER_TURN);
    for (let call = 0; call < this.#scheduled; call++) setImmediate(this.#runNext);
  }

  readonly #runNext = () => {
    this.#scheduled--;
    const [run] = this.#waiting;
    if (run === undefined) return;
    this.#waiting.delete(run);
    if (this.#scheduled === 0 && this.#waiting.size > 0) this.#schedule();
    run();
  };
}
