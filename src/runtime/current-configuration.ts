// The configuration in force: writes go through here, so that what is acknowledged is durable, compiled and in force.
import { createYielder } from "../base/yield-turns.ts";
import { PriceTable } from "../usage/price-table.ts";
import { NO_GATEWAY } from "../store/store.ts";
import type {
  Change,
  ConsistentView,
  GatewayParts,
  Reader,
  Store,
  Transaction,
  StoredBlock,
  WriteOptions,
  Written,
} from "../store/store.ts";
import type { PluginHosts } from "./plugin-hosts.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { compileApiKey, compileGateway } from "../snapshot/compile.ts";
import type { CompileContext, CompiledApiKey, CompiledGateway } from "../snapshot/compile.ts";
import {
  BUILTIN_PRICE_TABLE,
  changeSnapshot,
  EMPTY_SNAPSHOT,
  NO_CHANGES,
  type Snapshot,
  type SnapshotChanges,
} from "../snapshot/snapshot.ts";

/** What compiling needs, with the plugin instances that are released when their gateway is deleted. */
export interface ConfigurationContext extends CompileContext {
  readonly instances: PluginHosts;
}

export class CurrentConfiguration {
  snapshot: Snapshot = EMPTY_SNAPSHOT;
  readonly store: Store;
  readonly #context: ConfigurationContext;
  readonly #health: Health;
  readonly #log: Log;
  #refreshing: Promise<void> | null = null;

  constructor(store: Store, context: ConfigurationContext, health: Health, log: Log) {
    this.store = store;
    this.#context = context;
    this.#health = health;
    this.#log = log;
  }

  /** Runs one write. It resolves when the write is durable and in force here; it throws when it does not compile. */
  async write<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<T> {
    return (await this.commit(work, options)).value;
  }

  /** The same, telling the revision as well. */
  async commit<T>(
    work: (transaction: Transaction) => Promise<T>,
    options?: WriteOptions,
  ): Promise<Written<T>> {
    let changes = NO_CHANGES;
    const written = await this.#compileWithin(work, options, (compiled) => (changes = compiled));
    // Only now: an undone write mends nothing.
    for (const id of changes.gateways.keys()) this.#health.failedGateways.delete(id);
    if (written.changes.length > 0 && written.revision === this.snapshot.revision + 1) {
      this.#swap(changeSnapshot(this.snapshot, written.revision, changes), changes);
    } else {
      // Another node wrote in between: take over its changes and ours together.
      while (this.snapshot.revision < written.revision) await this.refresh();
    }
    return written;
  }

  /** Does all that a write does up to its commit, and then undoes it. */
  async dryRun<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<T> {
    const undone = new Error("undone on purpose");
    let tried: { value: T } | undefined;
    const worked = async (transaction: Transaction) => void (tried = { value: await work(transaction) });
    const undo = () => {
      throw undone;
    };
    try {
      await this.#compileWithin(worked, options, undo);
    } catch (error) {
      if (error === undone && tried !== undefined) return tried.value;
      throw error;
    }
    throw undone;
  }

  /** Compiles what the transaction changed before it commits. */
  async #compileWithin<T>(
    work: (transaction: Transaction) => Promise<T>,
    options: WriteOptions | undefined,
    onCompiled: (changes: SnapshotChanges) => void,
  ): Promise<Written<T>> {
    let touched: readonly Change[] = [];
    try {
      return await this.store.write(async (transaction) => {
        const value = await work(transaction);
        touched = transaction.changes;
        onCompiled(await this.#loadChanged(transaction, touched, (_, parts) => this.#compileOrThrow(parts)));
        return value;
      }, options);
    } catch (error) {
      // Plugin instances of a gateway that never came to be would be held for good.
      for (const { gatewayId } of touched)
        if (this.snapshot.gateways.get(gatewayId) === undefined)
          this.#context.instances.releaseGateway(gatewayId);
      throw error;
    }
  }

  /** Takes over whatever other nodes have written; loads everything the first time. Calls at once share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshNow().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #refreshNow(): Promise<void> {
    const known = this.snapshot.revision;
    const revision = await this.store.revision();
    if (revision === this.snapshot.revision) return;
    // Only a revision below one that was in force before it was read means that the database was put back.
    const putBack = revision < known;
    await this.store.view(async (view) => {
      const from = this.snapshot;
      if (!putBack && view.revision <= from.revision) return;
      const changed = from.revision < 0 ? null : await view.changesAfter(from.revision);
      const changes =
        changed === null
          ? await this.#loadAll(view)
          : await this.#loadChanged(view, changed, (id, parts) => this.#takeOver(id, parts));
      // A write of this process may have come into force meanwhile, and then knows more than this view.
      if (view.revision <= this.snapshot.revision && changed !== null) return;
      this.#swap(
        changeSnapshot(changed === null ? EMPTY_SNAPSHOT : this.snapshot, view.revision, changes),
        changes,
      );
    });
  }

  async #loadAll(view: ConsistentView): Promise<SnapshotChanges> {
    const gateways = new Map<string, CompiledGateway | null>();
    for (const parts of await view.allGatewayParts()) {
      const compiled = this.#compileOrKeep(parts);
      if (compiled !== null) gateways.set(parts.gateway.id, compiled);
    }
    const apiKeys = new Map((await view.allApiKeys()).map((key) => [key.id, compileApiKey(key)]));
    const blocks = new Map((await view.allBlocks()).map((block) => [block.id, block]));
    return { gateways, apiKeys, blocks, prices: await loadPrices(view) };
  }

  async #loadChanged(
    reader: Reader,
    changed: readonly Change[],
    compile: (gatewayId: string, parts: GatewayParts | null) => CompiledGateway | null,
  ): Promise<SnapshotChanges> {
    const gateways = new Map<string, CompiledGateway | null>();
    const apiKeys = new Map<string, CompiledApiKey | null>();
    const blocks = new Map<string, StoredBlock | null>();
    let prices: PriceTable | null = null;
    const turn = createYielder();
    for (const { gatewayId, apiKeyId, blockId } of changed) {
      await turn();
      if (apiKeyId !== null) apiKeys.set(apiKeyId, await loadApiKey(reader, apiKeyId));
      else if (blockId !== null) blocks.set(blockId, await reader.get("blocks", blockId));
      else if (gatewayId === NO_GATEWAY) prices = await loadPrices(reader);
      else gateways.set(gatewayId, compile(gatewayId, await reader.gatewayParts(gatewayId)));
    }
    return { gateways, apiKeys, blocks, ...(prices !== null && { prices }) };
  }

  #compileOrThrow(parts: GatewayParts | null): CompiledGateway | null {
    return parts === null ? null : compileGateway(parts, this.#context);
  }

  #takeOver(gatewayId: string, parts: GatewayParts | null): CompiledGateway | null {
    if (parts !== null) return this.#compileOrKeep(parts);
    this.#health.failedGateways.delete(gatewayId);
    return null;
  }

  /** A gateway of another node's making that does not compile here: the last good one stays in force. */
  #compileOrKeep(parts: GatewayParts): CompiledGateway | null {
    const { id, name } = parts.gateway;
    try {
      const compiled = compileGateway(parts, this.#context);
      this.#health.failedGateways.delete(id);
      return compiled;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error(
        { gateway_id: id, gateway: name, reason },
        "a stored gateway does not compile; it is not in force",
      );
      this.#health.failedGateways.set(id, reason);
      return this.snapshot.gateways.get(id) ?? null;
    }
  }

  /** Compiles the gateways that use a plugin anew. One that its new version refuses keeps the version it has. */
  recompilePlugin(name: string): void {
    const gateways = new Map<string, CompiledGateway | null>();
    for (const { id, gateway, parts } of this.snapshot.gateways.values()) {
      if (gateway.required_plugins.some((plugin) => plugin.name === name))
        gateways.set(id, this.#compileOrKeep(parts));
    }
    const changes = { ...NO_CHANGES, gateways };
    if (gateways.size > 0)
      this.#swap(changeSnapshot(this.snapshot, this.snapshot.revision, changes), changes);
  }

  #swap(snapshot: Snapshot, { gateways, blocks }: SnapshotChanges): void {
    const before = this.snapshot;
    this.snapshot = snapshot;
    for (const [id, block] of blocks) {
      const lifted = block === null ? before.blocks.get(id) : undefined;
      if (lifted !== undefined) this.#context.instances.clearCounter(lifted.counter_key);
    }
    for (const [id, gateway] of gateways) {
      this.#settleBalance(before.gateways.get(id), gateway);
      if (gateway === null) this.#context.instances.releaseGateway(id);
    }
    this.#health.revision = snapshot.revision;
  }

  /** Balancing state outlives snapshots: what the new one names stays, the rest is let go. */
  #settleBalance(before: CompiledGateway | undefined, after: CompiledGateway | null): void {
    const { balance } = this.#context;
    const kept = new Set(after?.upstreams.map((upstream) => upstream.id));
    for (const upstream of after?.upstreams ?? []) balance.activate(upstream.plan);
    for (const { id } of before?.upstreams ?? []) if (!kept.has(id)) balance.forget(id);
  }
}

async function loadApiKey(reader: Reader, id: string): Promise<CompiledApiKey | null> {
  const key = await reader.get("api_keys", id);
  return key === null ? null : compileApiKey(key);
}

async function loadPrices(reader: Reader): Promise<PriceTable> {
  const stored = await reader.prices();
  return stored === null ? BUILTIN_PRICE_TABLE : new PriceTable(stored.prices);
}
