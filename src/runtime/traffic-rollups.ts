// Writes the traffic of this process to the store as rollups, in the background, and reads those of all processes.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { TrafficBatch, TrafficQuery, TrafficStore } from "../store/sql-traffic.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Observation } from "../telemetry/observation.ts";
import type { TrafficSecond } from "../telemetry/requests/second-ring.ts";
import { mergePoints } from "../telemetry/requests/traffic.ts";

const FLUSH_INTERVAL_MS = 10_000;
/** A batch that an available store keeps rejecting is dropped after this many attempts, so that later ones are written. */
const MAX_REJECTIONS = 10;

export class TrafficRollups {
  readonly #store: TrafficStore;
  readonly #observation: Pick<Observation, "flush" | "traffic">;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #timer: ClockTimer;
  readonly #writer = newId();
  /** The first second that is in no batch yet. Later ones stay in the memory of `traffic`, which keeps ten minutes. */
  #next: number;
  /** After a failure it is retried unchanged, because the store may have committed it; the store recognizes its number. */
  #batch: TrafficBatch | null = null;
  #lastBatchNumber = 0;
  #rejections = 0;
  #flushing: Promise<void> | null = null;

  constructor(
    store: TrafficStore,
    observation: Pick<Observation, "flush" | "traffic">,
    log: Log,
    clock: Clock,
  ) {
    this.#store = store;
    this.#observation = observation;
    this.#log = log;
    this.#clock = clock;
    this.#next = this.#now();
    this.#timer = clock.setInterval(() => void this.flush(), FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Resolves when the seconds that are over are written, or the attempt to write them failed. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushThrough(this.#now() - 1).finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  async stop(): Promise<void> {
    this.#timer.close();
    await this.#flushing;
    await this.#flushThrough(this.#now());
  }

  /** Returns the rollups of all processes, which include what this process has counted up to the last second. */
  async read(query: TrafficQuery): Promise<readonly TrafficSecond[]> {
    await this.flush();
    return this.#store.read(query);
  }

  #now(): number {
    return Math.floor(this.#clock.unixNow() / 1000);
  }

  async #flushThrough(last: number): Promise<void> {
    this.#observation.flush();
    while ((this.#batch ??= this.#nextBatch(last)) !== null) {
      try {
        await this.#store.add(this.#batch);
      } catch (error) {
        if (!this.#dropsBatch(error)) return;
      }
      this.#batch = null;
      this.#rejections = 0;
    }
  }

  #nextBatch(last: number): TrafficBatch | null {
    if (last < this.#next) return null;
    const seconds = this.#observation.traffic.readAll(this.#next, last);
    this.#next = last + 1;
    if (seconds.size === 0) return null;
    const minutes = new Map([...seconds].map(([gatewayId, points]) => [gatewayId, toMinutes(points)]));
    return { writer: this.#writer, number: ++this.#lastBatchNumber, minutes, now: this.#now() };
  }

  /** Returns whether the batch is dropped. While the store is unavailable, it is not. */
  #dropsBatch(error: unknown): boolean {
    const isUnavailable = error instanceof GatehouseError && error.code === "store_unavailable";
    if (isUnavailable || ++this.#rejections < MAX_REJECTIONS) {
      this.#log.debug({ err: error }, "traffic not written; retrying");
      return false;
    }
    this.#log.error({ err: error }, "traffic lost: store rejected it repeatedly");
    return true;
  }
}

function toMinutes(seconds: readonly TrafficSecond[]): TrafficSecond[] {
  return mergePoints([seconds.map((point) => ({ ...point, second: point.second - (point.second % 60) }))]);
}
