// Follows the store: takes over what other processes write within a second, and tells whether the store is there.
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { StoreRejected } from "../store/store.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

const POLL_MS = 400;

/**
 * Polls, and looks at once when the store announces something, until `signal` aborts. Only a store that refuses this
 * process for good ends it with an error.
 */
export async function followStore(
  current: CurrentConfiguration,
  health: Health,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const wake = new Wake(signal);
  current.store.onAnnouncement(() => wake.call());
  while (!signal.aborted) {
    wake.reset();
    try {
      await current.refresh();
      if (health.store.state !== "ok") log.info({ revision: health.revision }, "the store is there");
      health.store = { state: "ok" };
    } catch (error) {
      if (error instanceof StoreRejected) throw error;
      const detail = error instanceof Error ? error.message : String(error);
      if (health.store.detail !== detail) log.warn({ err: error }, `the store is away: ${detail}`);
      health.store = { state: "away", detail };
    }
    // Jitter keeps many nodes from asking at the same moment.
    await wake.within(POLL_MS * (0.75 + Math.random() / 2));
  }
}

/** A pause that a call, or the end of it all, cuts short; one that came since the reset counts too. */
class Wake {
  #called = Promise.withResolvers<undefined>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.call());
  }

  call(): void {
    this.#called.resolve(undefined);
  }

  reset(): void {
    this.#called = Promise.withResolvers<undefined>();
    if (this.#signal.aborted) this.call();
  }

  async within(milliseconds: number): Promise<void> {
    const timer = setTimeout(() => this.call(), milliseconds);
    await this.#called.promise;
    clearTimeout(timer);
  }
}
