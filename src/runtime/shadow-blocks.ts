// The blocks of a plugin in shadow mode: in memory, and apart from the stored ones, which reject requests.
import type { Clock } from "../base/clock.ts";
import type { Block } from "../sdk/host.ts";
import type { BlockAccess } from "./block-access.ts";

/** The oldest block is dropped for a new one. */
const MAX_BLOCKS = 1000;

export class ShadowBlocks implements BlockAccess {
  readonly #clock: Clock;
  /** When each block expires; in the order in which they were added. */
  readonly #blocks = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(_instanceId: string, type: string, subject: string): boolean {
    const key = keyOf(type, subject);
    const expiresAt = this.#blocks.get(key);
    if (expiresAt === undefined) return false;
    if (expiresAt > this.#clock.now()) return true;
    this.#blocks.delete(key);
    return false;
  }

  add(_instanceId: string, { type, subject, durationMs }: Block): boolean {
    const key = keyOf(type, subject);
    this.#blocks.delete(key);
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined && this.#blocks.size >= MAX_BLOCKS) this.#blocks.delete(oldest);
    this.#blocks.set(key, durationMs === undefined ? Infinity : this.#clock.now() + durationMs);
    return true;
  }

  canAdd(): boolean {
    return true;
  }
}

function keyOf(type: string, subject: string): string {
  return JSON.stringify([type, subject]);
}
