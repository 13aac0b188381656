// Blocks of rate limit keys: effective in this process as soon as a plugin requests one, then written to the store, which
// makes them durable and shares them with all nodes.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { newId } from "../base/ids.ts";
import type { StoredBlock } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { gatewayIdOf, type BlockAccess } from "./plugin-hosts.ts";

const RETRY_MS = 1000;
/** Limits memory while the store is unavailable. Further subjects are only rate limited, not blocked. */
const MAX_PENDING = 10_000;

class AlreadyBlocked extends Error {}

export class Blocks implements BlockAccess {
  readonly #current: () => CurrentConfiguration;
  readonly #log: Log;
  /** Blocks that are not in the store yet, by name. */
  readonly #pending = new Map<string, StoredBlock>();
  readonly #clock: Clock;
  readonly #retry: ClockTimer;

  /** `current` is a function because the configuration is created after the plugin hosts, which need the blocks. */
  constructor(current: () => CurrentConfiguration, log: Log, clock: Clock) {
    this.#current = current;
    this.#log = log;
    this.#clock = clock;
    this.#retry = clock.setInterval(() => {
      for (const block of this.#pending.values()) void this.#write(block);
    }, RETRY_MS);
    this.#retry.unref();
  }

  has(instanceId: string, type: string, subject: string): boolean {
    const { blocksByName } = this.#current().snapshot;
    // Usually nothing is blocked. Building the name is avoided then, as every request gets here.
    if (blocksByName.size === 0 && this.#pending.size === 0) return false;
    const name = blockName(instanceId, type, subject);
    return blocksByName.get(name) !== undefined || this.#pending.has(name);
  }

  add(instanceId: string, type: string, subject: string, counterKey: string): void {
    const name = blockName(instanceId, type, subject);
    if (this.has(instanceId, type, subject) || this.#pending.size >= MAX_PENDING) return;
    const now = new Date(this.#clock.unixNow()).toISOString();
    const gateway_id = gatewayIdOf(instanceId);
    const times = { created_at: now, updated_at: now };
    const block = { id: newId(), gateway_id, name, type, subject, counter_key: counterKey, ...times };
    this.#pending.set(name, block);
    this.#log.warn({ gateway_id, type, subject }, "rate limit key blocked permanently");
    void this.#write(block);
  }

  stop(): void {
    this.#retry.close();
  }

  async #write(block: StoredBlock): Promise<void> {
    try {
      await this.#current().write(async (transaction) => {
        const { count } = await transaction.list("blocks", { name: block.name, limit: 1, offset: 0 });
        if (count > 0) throw new AlreadyBlocked();
        await transaction.insert("blocks", block);
      });
    } catch (error) {
      if (!(error instanceof AlreadyBlocked)) {
        this.#log.debug({ err: error }, "block not written; retrying");
        return;
      }
      // Another node wrote the block: load it before it is dropped here.
      await this.#current()
        .refresh()
        .catch(() => undefined);
    }
    this.#pending.delete(block.name);
  }
}

function blockName(instanceId: string, type: string, subject: string): string {
  return `${instanceId}:${type}:${subject}`;
}
