// Makes plugin instances and keeps them while their settings stay the same; holds what must outlive configurations.
import type { Counters, Decision, Limit } from "../counters/counters.ts";
import type { PluginDefinition, PluginHooks, PluginHost } from "../sdk/index.ts";
import type { Log } from "../telemetry/log.ts";

/** Blocks as plugins see them; see blocks.ts. */
export interface BlockAccess {
  has(instanceId: string, type: string, subject: string): boolean;
  add(instanceId: string, type: string, subject: string, counterKey: string): void;
}

/** Is told of every decision that a plugin asked for while it was explained. */
export type DecisionWatch = (limits: readonly Limit[], decision: Decision) => void;

interface Instance {
  readonly definition: PluginDefinition;
  readonly settings: string;
  readonly hooks: PluginHooks;
}

export class PluginHosts {
  readonly #counters: Counters;
  readonly #blocks: BlockAccess;
  readonly #log: Log;
  readonly #instances = new Map<string, Instance>();
  readonly #kept = new Map<string, Map<string, unknown>>();

  constructor(counters: Counters, blocks: BlockAccess, log: Log) {
    this.#counters = counters;
    this.#blocks = blocks;
    this.#log = log;
  }

  /** The hooks for these settings. A change elsewhere in the gateway leaves the instance as it is. */
  instance(instanceId: string, definition: PluginDefinition, settings: unknown): PluginHooks {
    const text = JSON.stringify(settings);
    const known = this.#instances.get(instanceId);
    if (known?.definition === definition && known.settings === text) return known.hooks;
    const hooks = definition.create(settings, this.#hostFor(instanceId, definition.name));
    if (typeof hooks !== "object" || hooks === null)
      throw new Error("create() must return an object of hooks");
    this.#instances.set(instanceId, { definition, settings: text, hooks });
    return hooks;
  }

  /** Hooks for one explanation: they see what the real ones see, and whatever they do to it comes to nothing. */
  explaining(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    watch: DecisionWatch,
  ): PluginHooks {
    const host = this.#hostFor(instanceId, definition.name);
    const kept = this.#kept.get(instanceId);
    return definition.create(settings, {
      ...host,
      isExplaining: true,
      counters: lookingCounters(this.#counters, watch),
      blocks: { has: (type, subject) => host.blocks.has(type, subject), add: () => undefined },
      keep: <T>(name: string, make: () => T) => (kept?.has(name) === true ? (kept.get(name) as T) : make()),
      log: () => undefined,
    });
  }

  /** A block was lifted, here or elsewhere: counters that are not shared are cleared by each process for itself. */
  forgetCount(counterKey: string): void {
    if (this.#counters.state.state === "none") void this.#counters.clear(counterKey);
  }

  /** A gateway is gone: so are its instances and what they kept. */
  forgetGateway(gatewayId: string): void {
    for (const held of [this.#instances, this.#kept]) {
      for (const id of held.keys()) if (id.startsWith(`${gatewayId}/`)) held.delete(id);
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
        const kept = this.#kept.get(instanceId) ?? new Map<string, unknown>();
        this.#kept.set(instanceId, kept);
        if (!kept.has(name)) kept.set(name, make());
        return kept.get(name) as T;
      },
      log: (level, message, fields = {}) => this.#log[level]({ plugin, ...fields }, message),
    };
  }
}

/** Counters that foretell instead of counting. */
function lookingCounters(counters: Counters, watch: DecisionWatch): Counters {
  const look: Counters["admit"] = async (limits, policy) => {
    const decision = await counters.peek(limits, policy);
    watch(limits, decision);
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
