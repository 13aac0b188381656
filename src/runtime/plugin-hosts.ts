// Makes plugin instances and keeps them while their settings stay the same; holds what must outlive configurations.
import { withTimeout } from "../base/with-timeout.ts";
import type { Counters } from "../counters/counters.ts";
import type { PluginDefinition, PluginHooks, PluginHost } from "../sdk/index.ts";
import { whenReady } from "../sdk/when-ready.ts";
import type { DecisionListener, PluginInstances } from "../snapshot/plugin-instances.ts";
import type { Log } from "../telemetry/log/log.ts";

/** A plugin that takes longer to be ready lets its first requests wait instead of the start. */
const READY_DEADLINE_MS = 5000;

/** Blocks as plugins see them; see blocks.ts. */
export interface BlockAccess {
  has(instanceId: string, type: string, subject: string): boolean;
  add(instanceId: string, type: string, subject: string, counterKey: string): void;
}

interface Instance {
  readonly definition: PluginDefinition;
  readonly settings: string;
  readonly hooks: PluginHooks;
  /** Never rejects. */
  readonly ready: Promise<void>;
}

/** The plugins of one gateway, by instance id. */
class GatewayPlugins {
  readonly instances = new Map<string, Instance>();
  /** What instances stored with `keep`. It outlives changes of their settings. */
  readonly kept = new Map<string, Map<string, unknown>>();
}

export class PluginHosts implements PluginInstances {
  readonly #counters: Counters;
  readonly #blocks: BlockAccess;
  readonly #log: Log;
  readonly #readyDeadlineMs: number;
  /** By gateway id, so that deleting a gateway does not search the instances of all others. */
  readonly #gateways = new Map<string, GatewayPlugins>();

  constructor(counters: Counters, blocks: BlockAccess, log: Log, readyDeadlineMs = READY_DEADLINE_MS) {
    this.#counters = counters;
    this.#blocks = blocks;
    this.#log = log;
    this.#readyDeadlineMs = readyDeadlineMs;
  }

  /** The hooks for these settings. A change elsewhere in the gateway leaves the instance as it is. */
  getInstance(instanceId: string, definition: PluginDefinition, settings: unknown): PluginHooks {
    const text = JSON.stringify(settings);
    const { instances } = this.#pluginsOf(instanceId);
    const known = instances.get(instanceId);
    if (known?.definition === definition && known.settings === text) return known.hooks;
    const made = definition.create(settings, this.#hostFor(instanceId, definition.name));
    if (typeof made !== "object" || made === null) throw new Error("create() must return an object of hooks");
    const hooks = whenReady(made);
    const ready = this.#untilReady(definition.name, hooks);
    instances.set(instanceId, { definition, settings: text, hooks, ready });
    return hooks;
  }

  /** Waits until the plugins can be called, so that no request has to; none holds up the start for longer than bounded. */
  async ready(): Promise<void> {
    const all = [...this.#gateways.values()].flatMap(({ instances }) => [...instances.values()]);
    await Promise.all(all.map((instance) => instance.ready));
  }

  /** Hooks for one explanation: they see what the real ones see, and whatever they do to it comes to nothing. */
  createForExplanation(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    listener: DecisionListener,
  ): PluginHooks {
    const host = this.#hostFor(instanceId, definition.name);
    const kept = this.#gateways.get(gatewayIdOf(instanceId))?.kept.get(instanceId);
    const hooks = definition.create(settings, {
      ...host,
      isExplaining: true,
      counters: lookingCounters(this.#counters, listener),
      blocks: { has: (type, subject) => host.blocks.has(type, subject), add: () => undefined },
      keep: <T>(name: string, make: () => T) => (kept?.has(name) === true ? (kept.get(name) as T) : make()),
      log: () => undefined,
    });
    return whenReady(hooks);
  }

  /** A block was lifted, here or elsewhere: counters that are not shared are cleared by each process for itself. */
  clearCounter(counterKey: string): void {
    if (this.#counters.state.state === "none") void this.#counters.clear(counterKey);
  }

  /** Releases the instances of a deleted gateway and what they kept. */
  releaseGateway(gatewayId: string): void {
    this.#gateways.delete(gatewayId);
  }

  #pluginsOf(instanceId: string): GatewayPlugins {
    const gatewayId = gatewayIdOf(instanceId);
    const known = this.#gateways.get(gatewayId);
    if (known !== undefined) return known;
    const made = new GatewayPlugins();
    this.#gateways.set(gatewayId, made);
    return made;
  }

  async #untilReady(plugin: string, { ready }: PluginHooks): Promise<void> {
    if (ready === undefined) return;
    try {
      const late = () => new Error(`it was not within ${this.#readyDeadlineMs} ms`);
      await withTimeout(this.#readyDeadlineMs, ready, late);
    } catch (error) {
      this.#log.warn({ plugin, err: error }, "a plugin is not ready; its requests wait or fail");
    }
  }

  #hostFor(instanceId: string, plugin: string): PluginHost {
    return {
      instanceId,
      isExplaining: false,
      counters: this.#counters,
      blocks: {
        has: (type, subject) => this.#blocks.has(instanceId, type, subject),
        add: ({ type, subject }, counterKey) => this.#blocks.add(instanceId, type, subject, counterKey),
      },
      keep: <T>(name: string, make: () => T): T => {
        const plugins = this.#pluginsOf(instanceId);
        const kept = plugins.kept.get(instanceId) ?? new Map<string, unknown>();
        plugins.kept.set(instanceId, kept);
        if (!kept.has(name)) kept.set(name, make());
        return kept.get(name) as T;
      },
      log: (level, message, fields = {}) => this.#log[level]({ plugin, ...fields }, message),
    };
  }
}

/** An instance id is the id of its gateway and the id of its entry in `required_plugins`. */
export function gatewayIdOf(instanceId: string): string {
  return instanceId.slice(0, instanceId.indexOf("/"));
}

/** Counters that foretell instead of counting. */
function lookingCounters(counters: Counters, listener: DecisionListener): Counters {
  const look: Counters["admit"] = async (limits, policy) => {
    const decision = await counters.peek(limits, policy);
    listener(limits, decision);
    return decision;
  };
  return {
    admit: look,
    peek: look,
    clear: () => undefined,
    state: counters.state,
    close: () => Promise.resolve(),
  };
}
