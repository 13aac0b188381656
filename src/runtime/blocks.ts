// Blocks of rate limit keys: effective in this process as soon as a plugin requests one, then written to the store, which
// makes them durable and shares them with all nodes. They are not part of the configuration and create no revision.
import { createHash } from "node:crypto";
import type { Clock, ClockTimer } from "../base/clock.ts";
import { newId } from "../base/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Block as RequestedBlock } from "../sdk/host.ts";
import type { AuditOrigin } from "../store/audit.ts";
import type { Block, RemovedBlocks } from "../store/blocks.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { BlockTable, groupOf } from "./block-table.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import type { BlockAccess } from "./block-access.ts";
import { gatewayIdOf } from "./plugin-hosts.ts";

/** How often blocks that could not be written are retried, and expired ones are removed. */
const UPKEEP_MS = 1000;
/** Limits the duration of a transaction, because it keeps other nodes from writing. */
const MAX_BATCH = 100;

interface PendingBlock {
  readonly block: Block;
  readonly expiresAt: number;
}

interface Refusals {
  readonly gatewayId: string;
  readonly type: string;
  count: number;
}

export class Blocks implements BlockAccess {
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #maxPerType: number;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #upkeep: ClockTimer;
  readonly #stored = new BlockTable();
  /** The change up to which blocks are loaded; -1 before they are. */
  #sequence = -1;
  /** Blocks that are not in the store yet, by name, and their number by gateway and type. */
  readonly #pending = new Map<string, PendingBlock>();
  readonly #pendingCounts = new Map<string, number>();
  readonly #refusals = new Map<string, Refusals>();
  #refreshing: Promise<void> | null = null;
  #writing: Promise<void> | null = null;

  constructor(store: Store, ledger: Ledger, maxPerType: number, log: Log, clock: Clock) {
    this.#store = store;
    this.#ledger = ledger;
    this.#maxPerType = maxPerType;
    this.#log = log;
    this.#clock = clock;
    this.#upkeep = clock.setInterval(() => {
      this.#removeExpired();
      this.#write();
    }, UPKEEP_MS);
    this.#upkeep.unref();
  }

  has(instanceId: string, type: string, subject: string): boolean {
    // Usually nothing is blocked. Building the name is avoided then, as every request gets here.
    if (this.#stored.size === 0 && this.#pending.size === 0) return false;
    return this.#isBlocked(blockName(instanceId, type, subject));
  }

  #isBlocked(name: string): boolean {
    const expiresAt = this.#pending.get(name)?.expiresAt ?? this.#stored.expiryOf(name);
    return expiresAt === Infinity || (expiresAt !== undefined && expiresAt > this.#clock.unixNow());
  }

  canAdd(instanceId: string, { type, subject }: RequestedBlock): boolean {
    return this.has(instanceId, type, subject) || this.#hasRoom(gatewayIdOf(instanceId), type);
  }

  #hasRoom(gatewayId: string, type: string): boolean {
    const pending = this.#pendingCounts.get(groupOf(gatewayId, type)) ?? 0;
    return this.#stored.countOf(gatewayId, type) + pending < this.#maxPerType;
  }

  add(instanceId: string, { type, subject, durationMs }: RequestedBlock, counterKey: string): boolean {
    const name = blockName(instanceId, type, subject);
    if (this.#isBlocked(name)) return true;
    const gateway_id = gatewayIdOf(instanceId);
    if (!this.#hasRoom(gateway_id, type)) {
      this.#refuse(gateway_id, type);
      return false;
    }
    const now = this.#clock.unixNow();
    const expiresAt = durationMs === undefined ? Infinity : now + durationMs;
    const expires_at = durationMs === undefined ? null : new Date(expiresAt).toISOString();
    const created_at = new Date(now).toISOString();
    const subjectFields = { name, type, subject, counter_key: counterKey };
    const block = { id: newId(), gateway_id, ...subjectFields, created_at, expires_at };
    this.#forgetPending(name);
    this.#pending.set(name, { block, expiresAt });
    this.#countPending(block, 1);
    if (expires_at === null)
      this.#log.warn({ gateway_id, type, subject }, "rate limit key blocked permanently");
    else this.#log.warn({ gateway_id, type, subject, expires_at }, "rate limit key blocked");
    this.#write();
    return true;
  }

  #refuse(gatewayId: string, type: string): void {
    const group = groupOf(gatewayId, type);
    const refusals = this.#refusals.get(group) ?? { gatewayId, type, count: 0 };
    this.#refusals.set(group, refusals);
    if (refusals.count === 0)
      this.#log.error(
        { gateway_id: gatewayId, type, max_blocks: this.#maxPerType },
        "blocks refused: gateway has reached MAX_BLOCKS",
      );
    refusals.count++;
  }

  /** How often a block was refused because of the bound, by gateway and type. Those of deleted gateways are dropped. */
  refusals(isGateway: (id: string) => boolean): Refusals[] {
    for (const [group, { gatewayId }] of this.#refusals)
      if (!isGateway(gatewayId)) this.#refusals.delete(group);
    return [...this.#refusals.values()];
  }

  /**
   * Removes one block of a gateway, or all of them if `id` is null, and clears their counters. Resolves when the removal is
   * durable and in effect in this process. With `origin`, the audit log says who did it.
   */
  async remove(gatewayId: string, id: string | null, origin?: AuditOrigin): Promise<RemovedBlocks> {
    const removed = await this.#store.removeBlocks(gatewayId, id, origin);
    const { blocks, sequence } = removed;
    // First, and all at once: a client that sends many requests would be blocked again before its counter is cleared.
    await Promise.all(
      blocks.map(async ({ counter_key: key }) => this.#ledger.clear(gatewayId, { kind: "requests", key })),
    );
    while (this.#sequence < sequence) await this.refresh();
    for (const { name } of blocks) this.#forgetPending(name);
    return removed;
  }

  /** Loads what changed in the store. Concurrent calls share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshNow().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #refreshNow(): Promise<void> {
    if ((await this.#store.blockSequence()) === this.#sequence) return;
    const changes = await this.#store.blockChangesAfter(this.#sequence);
    this.#sequence = changes.sequence;
    for (const { gateway_id, counter_key } of this.#stored.apply(changes, this.#clock.unixNow()))
      // A ledger that is not shared has to be cleared by every process.
      if (this.#ledger.state.state === "none")
        void this.#ledger.clear(gateway_id, { kind: "requests", key: counter_key });
  }

  stop(): void {
    this.#upkeep.close();
  }

  #removeExpired(): void {
    const now = this.#clock.unixNow();
    for (const [name, { expiresAt }] of this.#pending) if (expiresAt <= now) this.#forgetPending(name);
    if (!this.#stored.hasExpired(now)) return;
    const removal = this.#store.removeExpiredBlocks(new Date(now).toISOString());
    void removal
      .then(() => this.refresh())
      .catch((error: unknown) => this.#log.debug({ err: error }, "expired blocks not removed; retrying"));
  }

  #write(): void {
    if (this.#pending.size === 0) return;
    this.#writing ??= this.#writeNow().finally(() => (this.#writing = null));
  }

  async #writeNow(): Promise<void> {
    try {
      while (this.#pending.size > 0) {
        const batch = [...this.#pending.values()].slice(0, MAX_BATCH).map(({ block }) => block);
        const now = new Date(this.#clock.unixNow()).toISOString();
        await this.#store.addBlocks(batch, this.#maxPerType, now);
        // They are loaded before they are dropped here, so that there is no moment without the block.
        await this.refresh();
        for (const { name, id } of batch)
          if (this.#pending.get(name)?.block.id === id) this.#forgetPending(name);
      }
    } catch (error) {
      this.#log.debug({ err: error }, "block not written; retrying");
    }
  }

  #forgetPending(name: string): void {
    const known = this.#pending.get(name);
    if (known === undefined) return;
    this.#pending.delete(name);
    this.#countPending(known.block, -1);
  }

  #countPending({ gateway_id, type }: Block, change: number): void {
    const group = groupOf(gateway_id, type);
    const count = (this.#pendingCounts.get(group) ?? 0) + change;
    if (count === 0) this.#pendingCounts.delete(group);
    else this.#pendingCounts.set(group, count);
  }
}

/** A subject with characters that PostgreSQL cannot store (U+0000, unpaired surrogates) is named by its hash. */
function blockName(instanceId: string, type: string, subject: string): string {
  const name = `${instanceId}:${type}:${subject}`;
  if (!name.includes("\0") && name.isWellFormed()) return name;
  const hash = createHash("sha256").update(JSON.stringify(name)).digest("base64url");
  return `${instanceId}:sha256:${hash}`;
}

export function collectBlocks(metrics: Metrics, blocks: Blocks, current: CurrentConfiguration): void {
  metrics.onCollect(() => {
    metrics.clear("gatehouse_blocks_refused_total");
    const { gateways } = current.snapshot;
    for (const { gatewayId, type, count } of blocks.refusals((id) => gateways.get(id) !== undefined)) {
      const gateway = gateways.get(gatewayId)?.gateway.name ?? "";
      metrics.number("gatehouse_blocks_refused_total", { gateway, type }).add(count);
    }
  });
}
