// When API keys were last used: noted in memory by every request, written to the store every two seconds.
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";

const FLUSH_MS = 2000;
/** One transaction must not hold up the writes of others for long. */
const MAX_BATCH = 1000;

export class KeyUsage {
  readonly #store: Store;
  readonly #log: Log;
  readonly #uses = new Map<string, number>();
  readonly #timer: Timer;
  #flushing: Promise<void> = Promise.resolve();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#timer = setInterval(() => {
      this.#flushing = this.#flushing.then(() => this.#flush());
    }, FLUSH_MS);
    this.#timer.unref();
  }

  /** Bounded by the number of keys: only keys that exist are ever recorded. */
  readonly record = (apiKeyId: string): void => {
    this.#uses.set(apiKeyId, Date.now());
  };

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flushing;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = [...this.#uses].slice(0, MAX_BATCH);
    if (batch.length === 0) return;
    try {
      await this.#store.recordKeyUses(
        new Map(batch.map(([id, usedAt]) => [id, new Date(usedAt).toISOString()])),
      );
    } catch (error) {
      // They stay noted, and are written when the store is back.
      this.#log.debug({ err: error }, "the uses of API keys could not be written");
      return;
    }
    for (const [id, usedAt] of batch) if (this.#uses.get(id) === usedAt) this.#uses.delete(id);
  }
}
