// A value that expires (a token, temporary keys): fetched once for all requests, and again in the background before it expires.
import type { Clock } from "../../base/clock.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";

export interface FetchedValue<T> {
  readonly value: T;
  /** Counted from the start of the fetch. */
  readonly lifetimeMs: number;
}

/** The remaining lifetime at which a value is fetched again: this time, or this share of the lifetime if that is less. */
const REFRESH_MS = 5 * 60_000;
const REFRESH_SHARE = 0.2;
/** A value that expires while its request is on the way is of no use. The limits are as above. */
const MARGIN_MS = 10_000;
const MARGIN_SHARE = 0.05;
/** After a failed fetch no further one starts for this time, which doubles with each failure. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;

interface CurrentValue<T> {
  readonly value: T;
  readonly refreshAt: number;
  readonly expiresAt: number;
}

export class RefreshedValue<T> {
  readonly #clock: Clock;
  readonly #fetch: () => Promise<FetchedValue<T>>;
  #current: CurrentValue<T> | null = null;
  #pending: Promise<T> | null = null;
  #failures = 0;
  #error: unknown = null;
  #retryAt = -Infinity;

  constructor(clock: Clock, fetch: () => Promise<FetchedValue<T>>) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** Returns a promise only if the value has to be fetched first. It rejects as the fetch did. */
  get(now: number): ValueOrPromise<T> {
    const current = this.#current;
    const mayFetch = this.#pending === null && now >= this.#retryAt;
    if (current !== null && now < current.expiresAt) {
      // The failure of this fetch is reported only if the value expires before another one succeeds.
      if (now >= current.refreshAt && mayFetch) this.#refresh().catch(() => undefined);
      return current.value;
    }
    if (this.#pending !== null) return this.#pending;
    // The error of the last fetch, which all requests get until the next one.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    return mayFetch ? this.#refresh() : Promise.reject(this.#error);
  }

  #refresh(): Promise<T> {
    this.#pending = this.#run();
    return this.#pending;
  }

  async #run(): Promise<T> {
    const startedAt = this.#clock.now();
    try {
      const { value, lifetimeMs } = await this.#fetch();
      const expiresAt = startedAt + lifetimeMs;
      this.#current = {
        value,
        refreshAt: expiresAt - Math.min(REFRESH_MS, lifetimeMs * REFRESH_SHARE),
        expiresAt: expiresAt - Math.min(MARGIN_MS, lifetimeMs * MARGIN_SHARE),
      };
      this.#failures = 0;
      this.#error = null;
      return value;
    } catch (error) {
      this.#error = error;
      this.#retryAt = this.#clock.now() + Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS);
      throw error;
    } finally {
      this.#pending = null;
    }
  }
}
