// What compiling a plugin chain needs of the plugin instances, which outlive snapshots (runtime/plugin-hosts.ts).
import type { Decision, Limit, PluginDefinition, PluginHooks } from "../sdk/index.ts";

/** Called with every rate limit decision that a plugin requests while a request is explained. */
export type DecisionListener = (limits: readonly Limit[], decision: Decision) => void;

export interface PluginInstances {
  /** Returns the hooks for these settings. An instance is kept while its definition and settings stay the same. */
  getInstance(instanceId: string, definition: PluginDefinition, settings: unknown): PluginHooks;
  /** Returns hooks for one explanation: they read real state, and their effects are discarded. */
  createForExplanation(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    listener: DecisionListener,
  ): PluginHooks;
}
