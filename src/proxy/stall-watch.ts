// Notices a client that has stopped taking its answer: nothing else would, and its provider would be held for ever.

const LOOK_EVERY_MS = 150_000;

export class StallWatch {
  /** Counted up with every piece that the client asks for. */
  asked = 0;
  /** While the provider is waited for, the client is not to blame. */
  isProvidersTurn = false;
  #askedBefore = -1;
  readonly #timer: Timer;

  /** Looks now and then, so that a piece costs nothing: a client that asks for none for one to two looks has stalled. */
  constructor(onStall: () => void, lookEveryMs = LOOK_EVERY_MS) {
    this.#timer = setInterval(() => {
      const isStalled = !this.isProvidersTurn && this.asked === this.#askedBefore;
      this.#askedBefore = this.asked;
      if (isStalled) onStall();
    }, lookEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
