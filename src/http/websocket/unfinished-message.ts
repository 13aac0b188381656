// The bytes of a message of which a part has not arrived. They count in the memory budget of bodies: a peer that never finishes its
// messages must not take the memory that others need.
import type { Clock } from "../../base/clock.ts";
import { SMALL_BODY_BYTES, type ArrivingBody, type BodyBudget } from "../body-budget.ts";
import { ChunkCollector } from "../chunk-collector.ts";

/** The memory for unfinished messages, and the clock by which they stall. */
export interface MessageMemory {
  readonly budget: BodyBudget;
  readonly clock: Clock;
}

export class UnfinishedMessage implements ArrivingBody {
  progressAt = 0;
  readonly #memory: MessageMemory;
  readonly #chunks = new ChunkCollector();
  readonly #onRefused: () => void;
  #counted = 0;

  /** `onRefused` is called if the message has stalled, and other bodies need its memory. */
  constructor(memory: MessageMemory, onRefused: () => void) {
    this.#memory = memory;
    this.#onRefused = onRefused;
  }

  get size(): number {
    return this.#chunks.size;
  }

  /** Throws a GatehouseError if the budget has no room. */
  add(part: Uint8Array): void {
    const { budget, clock } = this.#memory;
    this.progressAt = clock.now();
    budget.progressed(this);
    if (this.size + part.length <= SMALL_BODY_BYTES) budget.takeSmall(part.length);
    else budget.takeLarge(this, part.length);
    this.#counted += part.length;
    this.#chunks.add(part);
  }

  /** Returns all bytes and forgets them. */
  take(): Uint8Array {
    this.#release();
    return this.#chunks.take();
  }

  clear(): void {
    this.#release();
    this.#chunks.clear();
  }

  refuse(): void {
    this.clear();
    this.#onRefused();
  }

  #release(): void {
    const { budget } = this.#memory;
    budget.ended(this);
    budget.release(this.#counted);
    this.#counted = 0;
  }
}
