// Creates plugin instances and keeps each one while its settings stay the same. Also owns the values that plugins keep
// across changes of the configuration.
import { systemClock, type Clock } from "../base/clock.ts";
import { forgetfulMemory, TextMemories } from "../base/text-memories.ts";
import { withTimeout } from "../base/with-timeout.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { PLUGIN_STAGES } from "../model/plugin-stage.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { PluginDefinition, PluginHooks, PluginHost } from "../sdk/index.ts";
import { whenReady } from "../sdk/when-ready.ts";
import {
  isShadowInstance,
  type DecisionListener,
  type InstanceEntry,
  type PluginInstances,
} from "../snapshot/plugin-instances.ts";
import { ShadowReport, type ShadowReportData } from "../telemetry/requests/shadow-report.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { BlockAccess } from "./block-access.ts";
import { orderOf } from "./isolation/isolation-order.ts";
import type { Isolation } from "./isolation/isolation.ts";
import { rejectInlineHooks } from "./isolation/inline-hooks.ts";
import { countersIn, peekingCounters } from "./plugin-counters.ts";
import { ResponseStores } from "./responses/response-stores.ts";
import { ShadowBlocks } from "./shadow-blocks.ts";

/** How long the start waits for a plugin to become ready. After that, the first requests of the plugin wait instead. */
const READY_DEADLINE_MS = 5000;
/** How long a stopping process waits for its plugins. */
const STOP_DEADLINE_MS = 5000;

/** Where the blocks of an instance in shadow mode are kept; plugins cannot use a symbol as a name. */
const BLOCKS = Symbol("blocks");

/** Of an isolated instance whose hooks are not known yet; never called. */
const ORDERED_HOOKS: PluginHooks = Object.fromEntries(PLUGIN_STAGES.map((stage) => [stage, () => undefined]));

const INLINE: InstanceEntry = { isolation: "inline", settings: {} };

interface Instance {
  readonly definition: PluginDefinition;
  /** The settings as JSON, to detect changes. */
  readonly settings: string;
  readonly hooks: PluginHooks;
  /** Never rejects. */
  readonly ready: Promise<void>;
}

/** Values that a plugin stored with `keep`. They outlive changes of its settings. */
class KeptValues {
  readonly #values = new Map<string | symbol, unknown>();

  keep<T>(name: string | symbol, make: () => T): T {
    if (!this.#values.has(name)) this.#values.set(name, make());
    return this.#values.get(name) as T;
  }

  /** Returns the kept value, or one that is not kept. */
  peek<T>(name: string, make: () => T): T {
    return this.#values.has(name) ? this.keep(name, make) : make();
  }
}

/** The plugins of one gateway, by instance id. */
class GatewayPlugins {
  readonly instances = new Map<string, Instance>();
  readonly #kept = new Map<string, KeptValues>();
  readonly shadowReports = new Map<string, ShadowReport>();

  keptValues(instanceId: string): KeptValues {
    const known = this.#kept.get(instanceId) ?? new KeptValues();
    this.#kept.set(instanceId, known);
    return known;
  }
}

export class PluginHosts implements PluginInstances {
  readonly #ledger: Ledger;
  readonly #blocks: BlockAccess;
  readonly #log: Log;
  readonly #offLoop: OffLoop;
  readonly #clock: Clock;
  readonly #responses: ResponseStores;
  readonly #isolation: Isolation | null;
  readonly #textMemories = new TextMemories();
  /** By gateway id, so that deleting a gateway does not search the instances of all others. */
  readonly #gateways = new Map<string, GatewayPlugins>();

  constructor(
    ledger: Ledger,
    blocks: BlockAccess,
    log: Log,
    offLoop: OffLoop,
    clock: Clock = systemClock,
    responses: ResponseStores = new ResponseStores(clock, null),
    isolation: Isolation | null = null,
  ) {
    this.#isolation = isolation;
    this.#responses = responses;
    this.#offLoop = offLoop;
    this.#ledger = ledger;
    this.#blocks = blocks;
    this.#log = log;
    this.#clock = clock;
  }

  getInstance(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    entry: InstanceEntry = INLINE,
    isStrict = false,
  ): PluginHooks {
    if (entry.isolation !== "inline" && this.#isolation !== null) {
      const host = this.#hostFor(instanceId, definition.name);
      return this.#isolation.hooksFor(
        orderOf(gatewayIdOf(instanceId), instanceId, definition, entry, host),
        isStrict,
      );
    }
    const text = JSON.stringify(settings);
    const { instances } = this.#pluginsOf(instanceId);
    const known = instances.get(instanceId);
    if (known?.definition === definition && known.settings === text) return known.hooks;
    const created = definition.create(settings, this.#hostFor(instanceId, definition.name));
    if (typeof created !== "object" || created === null)
      throw new Error("create() must return an object of hooks");
    // Without isolates, as when a document is checked, the plugin is only created.
    if (entry.isolation !== "inline") rejectInlineHooks(created);
    const hooks = whenReady(created);
    const ready = this.#untilReady(definition.name, hooks);
    instances.set(instanceId, { definition, settings: text, hooks, ready });
    return hooks;
  }

  /** Resolves when all plugins are ready, or after the deadline, so that requests do not have to wait for them. */
  async ready(): Promise<void> {
    const all = [...this.#gateways.values()].flatMap(({ instances }) => [...instances.values()]);
    await Promise.all(all.map((instance) => instance.ready));
  }

  /** Calls the `stop` hooks of all plugins. Resolves when they have ended, or after the deadline; never rejects. */
  async stop(): Promise<void> {
    const all = [...this.#gateways.values()].flatMap(({ instances }) => [...instances.values()]);
    await Promise.all([this.#isolation?.stop(), ...all.map((instance) => this.#stopInstance(instance))]);
  }

  createForExplanation(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    listener: DecisionListener,
    entry: InstanceEntry = INLINE,
  ): PluginHooks {
    const host = this.#explainingHost(instanceId, definition, listener);
    return entry.isolation === "inline" || this.#isolation === null
      ? whenReady(definition.create(settings, host))
      : this.#isolation.explainHooks(orderOf(gatewayIdOf(instanceId), instanceId, definition, entry, host));
  }

  #explainingHost(instanceId: string, definition: PluginDefinition, listener: DecisionListener): PluginHost {
    const host = this.#hostFor(instanceId, definition.name);
    return {
      ...host,
      isExplaining: true,
      counters: peekingCounters(host.counters, listener),
      knownRefusal: () => null,
      blocks: {
        has: (type, subject) => host.blocks.has(type, subject),
        add: (block) => this.#blocksOf(instanceId).canAdd(instanceId, block),
      },
      keep: (name, make) => this.#pluginsOf(instanceId).keptValues(instanceId).peek(name, make),
      textMemory: () => forgetfulMemory,
      log: () => undefined,
    };
  }

  /** Instances for a write: an isolated plugin that crashes when it is created is a problem of the configuration. */
  get strict(): PluginInstances {
    return {
      getInstance: (id, definition, settings, entry) =>
        this.getInstance(id, definition, settings, entry, true),
      createForExplanation: (...args) => this.createForExplanation(...args),
      shadowReport: (id) => this.shadowReport(id),
    };
  }

  /** Instances for a compilation that only finds out which isolated instances are missing, and orders these. */
  get ordering(): PluginInstances {
    return {
      ...this.strict,
      getInstance: (id, definition, settings, entry = INLINE) => {
        if (entry.isolation === "inline") return this.getInstance(id, definition, settings, entry);
        const host = this.#hostFor(id, definition.name);
        this.#isolation?.order(orderOf(gatewayIdOf(id), id, definition, entry, host));
        return ORDERED_HOOKS;
      },
    };
  }

  get lacksIsolated(): boolean {
    return this.#isolation?.isIncomplete ?? false;
  }

  /** Starts the isolated instances that were ordered. */
  async startIsolated(): Promise<void> {
    await this.#isolation?.start();
  }

  /** Ends the isolates that the active chain of a gateway does not use. */
  retainIsolated(gatewayId: string, isUsed: (hooks: PluginHooks) => boolean): void {
    this.#isolation?.retain(gatewayId, isUsed);
  }

  shadowReport(instanceId: string): ShadowReport {
    const { shadowReports } = this.#pluginsOf(instanceId);
    const known = shadowReports.get(instanceId) ?? new ShadowReport();
    shadowReports.set(instanceId, known);
    return known;
  }

  /** Returns what is known of an instance in shadow mode; null if it has not run in this process. */
  readShadow(instanceId: string): ShadowReportData | null {
    return this.#gateways.get(gatewayIdOf(instanceId))?.shadowReports.get(instanceId)?.data ?? null;
  }

  /** Releases the instances of a deleted gateway and what they kept. */
  releaseGateway(gatewayId: string): void {
    this.#isolation?.retain(gatewayId, () => false);
    this.#gateways.delete(gatewayId);
    this.#textMemories.release(gatewayId);
    this.#responses.releaseGateway(gatewayId);
  }

  #pluginsOf(instanceId: string): GatewayPlugins {
    const gatewayId = gatewayIdOf(instanceId);
    const known = this.#gateways.get(gatewayId) ?? new GatewayPlugins();
    this.#gateways.set(gatewayId, known);
    return known;
  }

  async #untilReady(plugin: string, { ready }: PluginHooks): Promise<void> {
    if (ready === undefined) return;
    try {
      const onTimeout = () => new Error(`The plugin was not ready within ${READY_DEADLINE_MS} ms.`);
      await withTimeout(READY_DEADLINE_MS, ready, onTimeout, this.#clock);
    } catch (error) {
      this.#log.warn({ plugin, err: error }, "plugin not ready; requests that use it wait or fail");
    }
  }

  async #stopInstance({ definition: { name: plugin }, hooks }: Instance): Promise<void> {
    if (hooks.stop === undefined) return;
    try {
      const onTimeout = () => new Error(`The plugin did not stop within ${STOP_DEADLINE_MS} ms.`);
      const stopped = Promise.try(() => hooks.stop?.());
      await withTimeout(STOP_DEADLINE_MS, stopped, onTimeout, this.#clock);
    } catch (error) {
      this.#log.warn({ plugin, err: error }, "plugin failed to stop; what it has not written is lost");
    }
  }

  #blocksOf(instanceId: string): BlockAccess {
    if (!isShadowInstance(instanceId)) return this.#blocks;
    const kept = this.#pluginsOf(instanceId).keptValues(instanceId);
    return kept.keep(BLOCKS, () => new ShadowBlocks(this.#clock));
  }

  #hostFor(instanceId: string, plugin: string): PluginHost {
    return {
      instanceId,
      isExplaining: false,
      counters: countersIn(this.#ledger, gatewayIdOf(instanceId)),
      knownRefusal: (claims) => {
        const refusal = this.#ledger.knownRefusal(claims);
        return refusal && { ...refusal, isReserved: false };
      },
      blocks: {
        has: (type, subject) => this.#blocksOf(instanceId).has(instanceId, type, subject),
        add: (block, counterKey) => this.#blocksOf(instanceId).add(instanceId, block, counterKey),
      },
      runOffLoop: (module, input, options) =>
        this.#offLoop.run(module, input, { ...options, tenant: gatewayIdOf(instanceId) }),
      keep: (name, make) => this.#pluginsOf(instanceId).keptValues(instanceId).keep(name, make),
      textMemory: (version = "") => {
        // Random: another instance has other settings, or other code.
        const name = `${instanceId} ${crypto.randomUUID()} ${version}`;
        return this.#textMemories.open({ owner: gatewayIdOf(instanceId), name });
      },
      openResponses: (limits) => this.#responses.open(gatewayIdOf(instanceId), instanceId, limits),
      log: (level, message, fields = {}) => this.#log[level]({ plugin, ...fields }, message),
    };
  }
}

/** An instance id consists of the ids of its gateway and of its entry in `required_plugins`. */
export function gatewayIdOf(instanceId: string): string {
  return instanceId.slice(0, instanceId.indexOf("/"));
}
