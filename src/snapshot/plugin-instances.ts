// What compiling a plugin chain needs of the plugin instances, which outlive snapshots (runtime/plugin-hosts.ts).
import type { StoredPluginConfig } from "../model/plugin-config.ts";
import type { Decision, Limit, PluginDefinition, PluginHooks } from "../sdk/index.ts";
import type { ShadowReport } from "../telemetry/requests/shadow-report.ts";

/** Called with every rate limit decision that a plugin requests while a request is explained. */
export type DecisionListener = (limits: readonly Limit[], decision: Decision) => void;

export type InstanceEntry = Pick<StoredPluginConfig, "isolation" | "settings">;

export interface PluginInstances {
  /**
   * Returns the hooks for these settings. An instance is kept while its definition and settings stay the same. `entry` says where it runs
   * (default: inline) and has the settings as they are configured.
   */
  getInstance(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    entry?: InstanceEntry,
  ): PluginHooks;
  /** Returns hooks for one explanation: they read real state, and their effects are discarded. */
  createForExplanation(
    instanceId: string,
    definition: PluginDefinition,
    settings: unknown,
    listener: DecisionListener,
    entry?: InstanceEntry,
  ): PluginHooks;
  /** Returns the report of an instance in shadow mode. */
  shadowReport(instanceId: string): ShadowReport;
}

/** `shadow`: an entry in shadow mode; `next`: the next version of the plugin of an entry. */
export type ShadowKind = "shadow" | "next";

const SHADOW_ID = /\.(?:shadow|next)$/;

/** Returns the id of the instance that runs in shadow mode for an entry, whose counters and state are its own. */
export function shadowInstanceId(gatewayId: string, entryId: string, kind: ShadowKind): string {
  return `${gatewayId}/${entryId}.${kind}`;
}

export function isShadowInstance(instanceId: string): boolean {
  return SHADOW_ID.test(instanceId);
}
