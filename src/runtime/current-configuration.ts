// The active configuration of this process. All writes go through it: an acknowledged write is durable, compiled, and
// active. It also loads what other nodes have written.
import type { BalancePlan } from "../balance/balance-plan.ts";
import { createYielder, nextTurn } from "../base/yield-turns.ts";
import { PriceTable } from "../usage/price-table.ts";
import { NO_GATEWAY } from "../store/store.ts";
import type { GatewayParts } from "../kinds/kind.ts";
import type {
  Change,
  ConsistentView,
  Reader,
  Store,
  Transaction,
  WriteOptions,
  Written,
} from "../store/store.ts";
import type { PluginHosts } from "./plugin-hosts.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Target } from "../model/target.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import { compileTarget, findTargetProblems, type CompiledTarget } from "../snapshot/compile-upstream.ts";
import { usesHooks } from "../snapshot/plugin-chain-hooks.ts";
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
import { IsolatesMissing, writeWithIsolates } from "./write-with-isolates.ts";

/** What compiling needs, including the plugin instances, which are released when their gateway is deleted. */
export interface ConfigurationContext extends CompileContext {
  readonly instances: PluginHosts;
}

type Work<T> = (transaction: Transaction) => Promise<T>;

/** Number of changed records from which loading and compiling them takes a turn of the event loop each. */
const LARGE_CHANGE = 1000;

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

  /** Compiles a target that need not be stored. Throws a CompileError with paths relative to the target. */
  compileTarget(gatewayId: string, target: Target): CompiledTarget {
    const { credentials } = this.#context;
    const problems = findTargetProblems(target, credentials);
    if (problems.length > 0) throw new CompileError("upstreams", target.id, problems);
    return compileTarget(target, 0, gatewayId, credentials);
  }

  /** Runs one write. Resolves when it is durable and active in this process; rejects if the result does not compile. */
  async write<T>(work: Work<T>, options?: WriteOptions): Promise<T> {
    return (await this.commit(work, options)).value;
  }

  /** Like `write`, but also returns the revision and what changed. */
  async commit<T>(work: Work<T>, options?: WriteOptions): Promise<Written<T>> {
    let changes = NO_CHANGES;
    const written = await this.#compileAndCommit(work, options, (compiled) => (changes = compiled));
    // Only after the commit: a write that is rolled back fixes no gateway.
    for (const id of changes.gateways.keys()) this.#health.failedGateways.delete(id);
    if (written.changes.length > 0 && written.revision === this.snapshot.revision + 1) {
      this.#activate(changeSnapshot(this.snapshot, written.revision, changes), changes);
    } else {
      // Another node wrote in between: load its changes together with those of this write.
      while (this.snapshot.revision < written.revision) await this.refresh();
    }
    return written;
  }

  /** Runs and compiles a write, then rolls it back. Rejects if the write would. */
  async dryRun<T>(work: Work<T>, options?: WriteOptions): Promise<T> {
    const rollback = new Error("dry run");
    let result: { value: T } | undefined;
    const keepResult = async (transaction: Transaction) => void (result = { value: await work(transaction) });
    try {
      await this.#compileAndCommit(keepResult, options, () => {
        throw rollback;
      });
    } catch (error) {
      if (error === rollback && result !== undefined) return result.value;
      throw error;
    }
    throw rollback;
  }

  /** Compiles what the transaction changed before it commits. The transaction is rolled back if `onCompiled` throws. */
  async #compileAndCommit<T>(
    work: Work<T>,
    options: WriteOptions | undefined,
    onCompiled: (changes: SnapshotChanges) => void,
  ): Promise<Written<T>> {
    let touched: readonly Change[] = [];
    try {
      const context = { ...this.#context, instances: this.#context.instances.strict };
      const compile = (_id: string, parts: GatewayParts | null) =>
        parts === null ? null : compileGateway(parts, context);
      return await writeWithIsolates((mayWait, newId) => {
        const run = async (transaction: Transaction) => {
          const value = await work(transaction);
          touched = transaction.changes;
          onCompiled(await this.#loadChanged(transaction, touched, compile, mayWait));
          return value;
        };
        return this.store.write(run, { ...options, newId });
      });
    } catch (error) {
      // Without this, plugin instances of a gateway whose creation was rolled back would never be released.
      for (const { gatewayId } of touched) {
        const active = this.snapshot.gateways.get(gatewayId);
        if (active === undefined) this.#context.instances.releaseGateway(gatewayId);
        else this.#retainIsolated(active);
      }
      throw error;
    }
  }

  /** Loads what other nodes have written, or everything the first time. Concurrent calls share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshNow().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #refreshNow(): Promise<void> {
    const known = this.snapshot.revision;
    const revision = await this.store.revision();
    if (revision === this.snapshot.revision) return;
    // Compare with the revision that was active before the query: a write of this process may have become active since.
    const isDatabaseRestored = revision < known;
    await this.store.view(async (view) => {
      const from = this.snapshot;
      if (!isDatabaseRestored && view.revision <= from.revision) return;
      const changed = from.revision < 0 ? null : await view.changesAfter(from.revision);
      const changes =
        changed === null
          ? await this.#loadAll(view)
          : await this.#loadChanged(view, changed, (id, parts) => this.#compileOrDelete(id, parts));
      // A write of this process may have become active meanwhile. Its snapshot is then newer than this view.
      if (view.revision <= this.snapshot.revision && changed !== null) return;
      const base = changed === null ? EMPTY_SNAPSHOT : this.snapshot;
      this.#activate(changeSnapshot(base, view.revision, changes), changes);
    });
  }

  async #loadAll(view: ConsistentView): Promise<SnapshotChanges> {
    const gateways = new Map<string, CompiledGateway | null>();
    const all = await view.allGatewayParts();
    await this.#startIsolated(all);
    for (const parts of all) {
      const compiled = this.#compileOrKeepActive(parts);
      if (compiled !== null) gateways.set(parts.gateway.id, compiled);
    }
    const apiKeys = new Map((await view.allApiKeys()).map((key) => [key.id, compileApiKey(key)]));
    return { gateways, apiKeys, prices: await loadPrices(view) };
  }

  async #loadChanged(
    reader: Reader,
    changed: readonly Change[],
    compile: (gatewayId: string, parts: GatewayParts | null) => CompiledGateway | null,
    mayWait = true,
  ): Promise<SnapshotChanges> {
    const changedParts = new Map<string, GatewayParts | null>();
    const gateways = new Map<string, CompiledGateway | null>();
    const apiKeys = new Map<string, CompiledApiKey | null>();
    let prices: PriceTable | null = null;
    const yieldTurn = createYielder();
    for (const { gatewayId, apiKeyId } of changed) {
      await yieldTurn();
      if (apiKeyId !== null) apiKeys.set(apiKeyId, await loadApiKey(reader, apiKeyId));
      else if (gatewayId === NO_GATEWAY) prices = await loadPrices(reader);
      else changedParts.set(gatewayId, await reader.gatewayParts(gatewayId));
    }
    const starting = this.#startIsolated([...changedParts.values()].filter((parts) => parts !== null));
    if (starting !== null && !mayWait) throw new IsolatesMissing(starting);
    await starting;
    for (const [id, parts] of changedParts) {
      await (changed.length > LARGE_CHANGE ? nextTurn() : yieldTurn());
      gateways.set(id, compile(id, parts));
    }
    if (changed.length > LARGE_CHANGE) await nextTurn();
    return { gateways, apiKeys, ...(prices !== null && { prices }) };
  }

  /** Starts the threads and processes of plugins that are not started yet, because compiling does not wait. Null if there are none. */
  #startIsolated(all: readonly GatewayParts[]): Promise<void> | null {
    const isolated = all.filter(({ gateway }) =>
      gateway.required_plugins.some(({ isolation, enabled }) => enabled && isolation !== "inline"),
    );
    for (const parts of isolated) {
      try {
        compileGateway(parts, { ...this.#context, instances: this.#context.instances.ordering });
      } catch {
        // Compiling again, after the start, reports the problems.
      }
    }
    const { instances } = this.#context;
    return instances.lacksIsolated ? instances.startIsolated() : null;
  }

  #retainIsolated({ id, chain }: CompiledGateway): void {
    this.#context.instances.retainIsolated(id, (hooks) => chain !== null && usesHooks(chain, hooks));
  }

  #compileOrDelete(gatewayId: string, parts: GatewayParts | null): CompiledGateway | null {
    if (parts !== null) return this.#compileOrKeepActive(parts);
    this.#health.failedGateways.delete(gatewayId);
    return null;
  }

  /**
   * Returns the active version if the stored one does not compile in this process, e.g. because another node has
   * plugins that this one lacks.
   */
  #compileOrKeepActive(parts: GatewayParts): CompiledGateway | null {
    const { id, name } = parts.gateway;
    try {
      const compiled = compileGateway(parts, this.#context);
      this.#health.failedGateways.delete(id);
      return compiled;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const active = this.snapshot.gateways.get(id) ?? null;
      const fields = { gateway_id: id, gateway: name, reason };
      if (active !== null) this.#log.error(fields, "gateway failed to compile; keeping the previous version");
      else this.#log.error(fields, "gateway failed to compile; not serving it");
      this.#health.failedGateways.set(id, reason);
      return active;
    }
  }

  /** Compiles the gateways that use a plugin again. A gateway that the new version rejects keeps the old version. */
  async recompilePlugin(name: string): Promise<void> {
    const isUsedBy = ({ gateway }: CompiledGateway) =>
      gateway.required_plugins.some((plugin) => plugin.name === name);
    await this.#startIsolated(
      [...this.snapshot.gateways.values()].filter(isUsedBy).map(({ parts }) => parts),
    );
    const gateways = new Map<string, CompiledGateway | null>();
    for (const each of this.snapshot.gateways.values())
      if (isUsedBy(each)) gateways.set(each.id, this.#compileOrKeepActive(each.parts));
    const changes = { ...NO_CHANGES, gateways };
    if (gateways.size > 0)
      this.#activate(changeSnapshot(this.snapshot, this.snapshot.revision, changes), changes);
  }

  #activate(snapshot: Snapshot, { gateways }: SnapshotChanges): void {
    const before = this.snapshot;
    this.snapshot = snapshot;
    for (const [id, gateway] of gateways) {
      this.#activateBalancing(before.gateways.get(id), gateway);
      if (gateway === null) this.#context.instances.releaseGateway(id);
      else this.#retainIsolated(gateway);
    }
    this.#health.revision = snapshot.revision;
  }

  /** Balancing state outlives snapshots: that of remaining upstreams is kept, that of removed ones is dropped. */
  #activateBalancing(before: CompiledGateway | undefined, after: CompiledGateway | null): void {
    const { balance } = this.#context;
    const remaining = new Set(plansOf(after).map(({ upstreamId }) => upstreamId));
    for (const plan of plansOf(after)) balance.activate(plan);
    for (const { upstreamId } of plansOf(before)) if (!remaining.has(upstreamId)) balance.forget(upstreamId);
  }
}

async function loadApiKey(reader: Reader, id: string): Promise<CompiledApiKey | null> {
  const key = await reader.get("api_keys", id);
  return key === null ? null : compileApiKey(key);
}

async function loadPrices(reader: Reader): Promise<PriceTable> {
  const stored = await reader.prices();
  return stored === null ? BUILTIN_PRICE_TABLE : new PriceTable(stored.prices, BUILTIN_PRICE_TABLE);
}

function plansOf(gateway: CompiledGateway | null | undefined): readonly BalancePlan[] {
  const upstreams = gateway?.upstreams.map(({ plan }) => plan) ?? [];
  return [...upstreams, ...(gateway?.virtualModels?.plans ?? [])];
}
