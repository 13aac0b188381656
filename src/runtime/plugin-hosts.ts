// Creates plugin instances and keeps each one while its settings stay the same. Also owns the values that plugins keep
// across changes of the configuration.
import { systemClock, type Clock } from "../base/clock.ts";
import { forgetfulMemory, TextMemories } from "../base/text-memories.ts";
import { withTimeout } from "../base/with-timeout.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { Block } from "../sdk/host.ts";
import type { Counters, PluginDefinition, PluginHooks, PluginHost } from "../sdk/index.ts";
import { whenReady } from "../sdk/when-ready.ts";
import type { DecisionListener, PluginInstances } from "../snapshot/plugin-instances.ts";
import type { Log } from "../telemetry/log/log.ts";
import { countersIn } from "./plugin-counters.ts";

/** How long the start waits for a plugin to become ready. After that, the first requests of the plugin wait instead. */
const READY_DEADLINE_MS = 5000;

/** Blocks as plugins use them; see blocks.ts. */
export interface BlockAccess {
  has(instanceId: string, type: string, subject: string): boolean;
  /** Returns whether the subject is blocked. */
  add(instanceId: string, block: Block, counterKey: string): boolean;
  /** Returns what `add` would return, without blocking the subject. */
  canAdd(instanceId: string, block: Block): boolean;
}

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
  readonly #values = new Map<string, unknown>();

  keep<T>(name: string, make: () => T): T {
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
  readonly #textMemories = new TextMemories();
  /** By gateway id, so that deleting a gateway does not search the instances of all others. */
  readonly #gateways = new Map<string, GatewayPlugins>();

  constructor(ledger: Ledger, blocks: BlockAccess, log: Log, offLoop: OffLoop, clock: Clock = systemClock) {
    this.#offLoop = offLoop;
    this.#ledger = ledger;
    this.#blocks = blocks;
    this.#log = log;
    this.#clock = clock;
  }

  getInstance(instanceId: string, definition: PluginDefinition, settings: unknown): PluginHooks {
    const text = JSON.stringify(settings);
    const { instances } = this.#pluginsOf(instanceId);
    const known = instances.get(instanceId);
    if (known?.definition === definition && known.settings === text) return known.hooks;
    const created = definition.create(settings, this.#hostFor(instanceId, definition.name));
    if (typeof created !== "object" || created === null)
      throw new Error("create() must return an object of hooks");
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

  createForExplanation(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    listener: DecisionListener,
  ): PluginHooks {
    const host = this.#hostFor(instanceId, definition.name);
    const hooks = definition.create(settings, {
      ...host,
      isExplaining: true,
      counters: peekingCounters(host.counters, listener),
      knownRefusal: () => null,
      blocks: {
        has: (type, subject) => host.blocks.has(type, subject),
        add: (block) => this.#blocks.canAdd(instanceId, block),
      },
      keep: (name, make) => this.#pluginsOf(instanceId).keptValues(instanceId).peek(name, make),
      textMemory: () => forgetfulMemory,
      log: () => undefined,
    });
    return whenReady(hooks);
  }

  /** Releases the instances of a deleted gateway and what they kept. */
  releaseGateway(gatewayId: string): void {
    this.#gateways.delete(gatewayId);
    this.#textMemories.release(gatewayId);
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

  #hostFor(instanceId: string, plugin: string): PluginHost {
    return {
      instanceId,
      isExplaining: false,
      counters: countersIn(this.#ledger, gatewayIdOf(instanceId)),
      knownRefusal: (claims) => {
        const refusal = this.#ledger.knownRefusal(claims);
        return refusal === null ? null : { ...refusal, isReserved: false };
      },
      blocks: {
        has: (type, subject) => this.#blocks.has(instanceId, type, subject),
        add: (block, counterKey) => this.#blocks.add(instanceId, block, counterKey),
      },
      runOffLoop: this.#offLoop.run.bind(this.#offLoop),
      keep: (name, make) => this.#pluginsOf(instanceId).keptValues(instanceId).keep(name, make),
      textMemory: (version = "") => {
        // Random: another instance has other settings, or other code.
        const name = `${instanceId} ${crypto.randomUUID()} ${version}`;
        return this.#textMemories.open({ owner: gatewayIdOf(instanceId), name });
      },
      log: (level, message, fields = {}) => this.#log[level]({ plugin, ...fields }, message),
    };
  }
}

/** An instance id consists of the id of its gateway and the id of its entry in `required_plugins`. */
export function gatewayIdOf(instanceId: string): string {
  return instanceId.slice(0, instanceId.indexOf("/"));
}

/** Counters that decide as the real ones would, without counting the request. */
function peekingCounters(counters: Counters, listener: DecisionListener): Counters {
  const peek: Counters["admit"] = async (limits, policy) => {
    const decision = await counters.peek(limits, policy);
    listener(limits, decision);
    return decision;
  };
  return {
    admit: peek,
    peek,
    knownRejection: () => null,
    clear: () => undefined,
  };
}
