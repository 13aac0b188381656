// Blocks: in force here the moment a plugin asks for one, then written, so that they last and reach every node.
import { newId } from "../base/ids.ts";
import type { StoredBlock } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import { gatewayIdOf, type BlockAccess } from "./plugin-hosts.ts";

const RETRY_MS = 1000;
/** While the store is away. Whoever is not noted any more is only limited, not blocked. */
const MAX_PENDING = 10_000;

class AlreadyBlocked extends Error {}

export class Blocks implements BlockAccess {
  readonly #current: () => CurrentConfiguration;
  readonly #log: Log;
  readonly #pending = new Map<string, StoredBlock>();
  readonly #retry: Timer;

  /** The configuration is asked for late: it is made after the plugins that need blocks. */
  constructor(current: () => CurrentConfiguration, log: Log) {
    this.#current = current;
    this.#log = log;
    this.#retry = setInterval(() => {
      for (const block of this.#pending.values()) void this.#write(block);
    }, RETRY_MS);
    this.#retry.unref();
  }

  has(instanceId: string, type: string, subject: string): boolean {
    const { blocksByName } = this.#current().snapshot;
    // Mostly nobody is blocked, and then no name needs to be made.
    if (blocksByName.size === 0 && this.#pending.size === 0) return false;
    const name = blockName(instanceId, type, subject);
    return blocksByName.get(name) !== undefined || this.#pending.has(name);
  }

  add(instanceId: string, type: string, subject: string, counterKey: string): void {
    const name = blockName(instanceId, type, subject);
    if (this.has(instanceId, type, subject) || this.#pending.size >= MAX_PENDING) return;
    const now = new Date().toISOString();
    const gateway_id = gatewayIdOf(instanceId);
    const times = { created_at: now, updated_at: now };
    const block = { id: newId(), gateway_id, name, type, subject, counter_key: counterKey, ...times };
    this.#pending.set(name, block);
    this.#log.warn({ gateway_id, type, subject }, "blocked for good");
    void this.#write(block);
  }

  stop(): void {
    clearInterval(this.#retry);
  }

  async #write(block: StoredBlock): Promise<void> {
    try {
      await this.#current().write(async (transaction) => {
        const { count } = await transaction.list("blocks", { name: block.name, limit: 1, offset: 0 });
        if (count > 0) throw new AlreadyBlocked();
        await transaction.insert("blocks", block);
      });
    } catch (error) {
      if (error instanceof AlreadyBlocked)
        await this.#current()
          .refresh()
          .catch(() => undefined);
      else {
        this.#log.debug({ err: error }, "a block could not be written yet");
        return;
      }
    }
    this.#pending.delete(block.name);
  }
}

function blockName(instanceId: string, type: string, subject: string): string {
  return `${instanceId}:${type}:${subject}`;
}
