// The time at which each API key was last used: recorded in memory per request, written to the store every two seconds.
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";

const FLUSH_INTERVAL_MS = 2000;
/** Limits the duration of a transaction, because it blocks other writes. */
const MAX_BATCH_KEYS = 1000;

export class KeyUsage {
  readonly #store: Store;
  readonly #log: Log;
  readonly #lastUsedAt = new Map<string, number>();
  readonly #timer: ClockTimer;
  #flushing: Promise<void> = Promise.resolve();

  constructor(store: Store, log: Log, clock: Clock) {
    this.#store = store;
    this.#log = log;
    this.#timer = clock.setInterval(() => {
      this.#flushing = this.#flushing.then(() => this.#flush());
    }, FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Memory is bounded by the number of existing keys, because only valid keys are recorded. */
  readonly record = (apiKeyId: string, unixNow: number): void => {
    this.#lastUsedAt.set(apiKeyId, unixNow);
  };

  async stop(): Promise<void> {
    this.#timer.close();
    await this.#flushing;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = [...this.#lastUsedAt].slice(0, MAX_BATCH_KEYS);
    if (batch.length === 0) return;
    try {
      await this.#store.recordKeyUses(
        new Map(batch.map(([id, usedAt]) => [id, new Date(usedAt).toISOString()])),
      );
    } catch (error) {
      // The times stay in memory and are written with the next flush.
      this.#log.debug({ err: error }, "last use of API keys not written; retrying");
      return;
    }
    // A key that was used again during the write stays for the next flush.
    for (const [id, usedAt] of batch) if (this.#lastUsedAt.get(id) === usedAt) this.#lastUsedAt.delete(id);
  }
}
