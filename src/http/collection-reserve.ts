// Makes garbage collections rarer while large bodies are freed without the collector: the runtime counts their bytes as allocated since the
// last collection, also after they were freed, and would collect after every 20 bodies of 1 MB. See decision 0137.
import type { Clock, ClockTimer } from "../base/clock.ts";

/**
 * Counts as live memory, by which the runtime decides how much may be allocated until the next collection: 90 % of it (decision 0001). It is never
 * written, so the system provides no memory for it.
 */
export const RESERVE_BYTES = 128 * 1024 * 1024;
/** The reserve is kept while at least so many bytes are freed in each period. */
export const MIN_FREED_BYTES = 32 * 1024 * 1024;
export const PERIOD_MS = 2000;

export class CollectionReserve {
  readonly #clock: Clock;
  /** Null before it is needed for the first time. */
  #reserve: ArrayBuffer | null = null;
  /** Bytes that were freed in this period; without a reserve, since it was given up. */
  #freedBytes = 0;
  #timer: ClockTimer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes that count as live memory. */
  get bytes(): number {
    return this.#reserve?.byteLength ?? 0;
  }

  /** Call when the memory of a large body was freed. */
  onFreed(bytes: number): void {
    this.#freedBytes += bytes;
    if (this.#timer === null && this.#freedBytes >= MIN_FREED_BYTES) this.#renew();
  }

  #renew(): void {
    if (!this.#resize(RESERVE_BYTES)) return;
    this.#freedBytes = 0;
    this.#timer = this.#clock.setTimeout(() => this.#endPeriod(), PERIOD_MS);
    this.#timer.unref();
  }

  #endPeriod(): void {
    this.#timer = null;
    if (this.#freedBytes >= MIN_FREED_BYTES) {
      this.#renew();
      return;
    }
    this.#freedBytes = 0;
    this.#resize(0);
  }

  /** Returns false where the system has no address space for the reserve. */
  #resize(bytes: number): boolean {
    try {
      this.#reserve ??= new ArrayBuffer(0, { maxByteLength: RESERVE_BYTES });
      this.#reserve.resize(bytes);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}
