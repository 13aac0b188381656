// Makes garbage collections rarer while bodies are freed without the collector: the runtime counts their bytes as allocated since the last
// collection, also after they were freed, and would collect after every 20 bodies of 1 MB. See decision 0137.
import type { Clock, ClockTimer } from "../base/clock.ts";

/**
 * The reserve for each byte of a body, on average. A request allocates about 10 kB besides its body, and 16 MB are live in a process that only
 * forwards requests: with this reserve, the other garbage between two collections is as much as without bodies.
 */
export const RESERVE_PER_BYTE = 1600;
export const MAX_RESERVE_BYTES = 128 * 1024 * 1024;
/** The reserve is kept while at least so many bytes are freed in each period. */
export const MIN_FREED_BYTES = 32 * 1024 * 1024;
export const PERIOD_MS = 2000;

export class CollectionReserve {
  readonly #clock: Clock;
  /**
   * Counts as live memory, by which the runtime decides how much may be allocated until the next collection: 90 % of it (decision 0001). It is
   * never written, so the system provides no memory for it. Null before it is needed for the first time.
   */
  #reserve: ArrayBuffer | null = null;
  /** Bytes and bodies that were freed in this period; without a reserve, since it was given up. */
  #freedBytes = 0;
  #freedBodies = 0;
  #timer: ClockTimer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes that count as live memory. */
  get bytes(): number {
    return this.#reserve?.byteLength ?? 0;
  }

  /** Call when the memory of a body was freed. */
  onFreed(bytes: number): void {
    this.#freedBytes += bytes;
    this.#freedBodies++;
    if (this.#timer === null && this.#freedBytes >= MIN_FREED_BYTES) this.#renew();
  }

  #renew(): void {
    const bytesPerBody = this.#freedBytes / this.#freedBodies;
    if (!this.#resize(Math.min(MAX_RESERVE_BYTES, Math.round(bytesPerBody * RESERVE_PER_BYTE)))) return;
    this.#freedBytes = this.#freedBodies = 0;
    this.#timer = this.#clock.setTimeout(() => this.#endPeriod(), PERIOD_MS);
    this.#timer.unref();
  }

  #endPeriod(): void {
    this.#timer = null;
    if (this.#freedBytes >= MIN_FREED_BYTES) {
      this.#renew();
      return;
    }
    this.#freedBytes = this.#freedBodies = 0;
    this.#resize(0);
  }

  /** Returns false where the system has no address space for the reserve. */
  #resize(bytes: number): boolean {
    try {
      this.#reserve ??= new ArrayBuffer(0, { maxByteLength: MAX_RESERVE_BYTES });
      this.#reserve.resize(bytes);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}
