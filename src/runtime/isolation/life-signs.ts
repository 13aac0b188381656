// Whether an isolate reacts: a hook that loops keeps it from taking other calls, long before the deadline of the hook.
import type { Clock, ClockTimer } from "../../base/clock.ts";

/** How long an isolate with calls may send nothing before it is asked for a sign of life, and how long it may take to send one. */
const SILENCE_MS = 500;

interface LifeOptions {
  /** Whether the isolate has something to do. */
  readonly isNeeded: () => boolean;
  readonly ping: () => void;
  readonly onChange: (isStuck: boolean) => void;
}

export class LifeSigns {
  readonly #clock: Clock;
  readonly #options: LifeOptions;
  #timer: ClockTimer | null = null;
  #seenAt = 0;
  /** Signs of life that were asked for and have not arrived. */
  #asked = 0;
  isStuck = false;

  constructor(clock: Clock, options: LifeOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** A call was sent. */
  watch(): void {
    if (this.#timer !== null) return;
    this.#seenAt = this.#clock.now();
    this.#wait(SILENCE_MS);
  }

  /** A message has arrived. After a silence, `isPong` says that the isolate has read all messages that were sent before. */
  seen(isPong: boolean): void {
    this.#seenAt = this.#clock.now();
    if (isPong) this.#asked--;
    if (this.isStuck && this.#asked === 0) {
      this.isStuck = false;
      if (this.#timer === null) this.#wait(SILENCE_MS);
      this.#options.onChange(false);
    }
  }

  /** The isolate has ended. */
  end(): void {
    this.#timer?.close();
    this.#timer = null;
    this.isStuck = false;
    this.#asked = 0;
  }

  #ask(): void {
    this.#asked++;
    this.#options.ping();
    this.#wait(SILENCE_MS);
  }

  #wait(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => this.#check(), ms);
    this.#timer.unref();
  }

  #check(): void {
    this.#timer = null;
    if (!this.#options.isNeeded()) return;
    const left = this.#seenAt + SILENCE_MS - this.#clock.now();
    if (left > 0) this.#wait(left);
    else if (this.#asked === 0) this.#ask();
    else if (!this.isStuck) {
      this.isStuck = true;
      this.#options.onChange(true);
      // Its reply says that the isolate has taken all calls that were sent before.
      this.#ask();
    }
  }
}
