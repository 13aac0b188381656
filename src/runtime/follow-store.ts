// Follows the store: loads what other processes write, and keeps track of whether the store is available.
import type { Clock } from "../base/clock.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { StoreRejected } from "../store/store.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { StoreState } from "./store-state.ts";

const POLL_MS = 400;

/**
 * Polls the store, immediately after an announcement, until `signal` aborts. Rejects only with StoreRejected: the store
 * will never accept this process.
 */
export async function followStore(
  current: Pick<CurrentConfiguration, "refresh" | "store">,
  health: Health,
  log: Log,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  const state = new StoreState(current.store, health, log, clock);
  const pause = new InterruptiblePause(signal, clock);
  current.store.onAnnouncement(() => pause.interrupt());
  while (!signal.aborted) {
    pause.reset();
    try {
      await current.refresh();
      state.readSucceeded();
    } catch (error) {
      if (error instanceof StoreRejected) throw error;
      state.readFailed(error);
    }
    // The jitter keeps many nodes from polling at the same moment.
    await pause.wait(POLL_MS * (0.75 + Math.random() / 2));
  }
}

/** A pause that ends early when it is interrupted or the signal aborts. An interruption since the reset counts too. */
class InterruptiblePause {
  #interrupted = Promise.withResolvers<undefined>();
  readonly #signal: AbortSignal;
  readonly #clock: Clock;

  constructor(signal: AbortSignal, clock: Clock) {
    this.#signal = signal;
    this.#clock = clock;
    signal.addEventListener("abort", () => this.interrupt());
  }

  interrupt(): void {
    this.#interrupted.resolve(undefined);
  }

  reset(): void {
    this.#interrupted = Promise.withResolvers<undefined>();
    if (this.#signal.aborted) this.interrupt();
  }

  async wait(milliseconds: number): Promise<void> {
    const timer = this.#clock.setTimeout(() => this.interrupt(), milliseconds);
    await this.#interrupted.promise;
    timer.close();
  }
}
