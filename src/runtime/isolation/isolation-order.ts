// What isolates are created from, and what is known of them.
import type { Clock } from "../../base/clock.ts";
import type { Isolation } from "../../model/plugin-stage.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import type { PluginDefinition, PluginHost } from "../../sdk/index.ts";
import { isShadowInstance, type InstanceEntry } from "../../snapshot/plugin-instances.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { PluginUser } from "./plugin-user.ts";

/** An instance of a plugin that an entry needs. */
export interface IsolationOrder {
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly definition: PluginDefinition;
  /** As they are configured. */
  readonly settings: unknown;
  readonly isolation: Exclude<Isolation, "inline">;
  readonly isShadow: boolean;
  readonly host: PluginHost;
}

export interface IsolationContext {
  readonly registry: PluginRegistry;
  readonly user: PluginUser | null;
  readonly memoryBytes: number;
  readonly log: Log;
  readonly clock: Clock;
}

export function orderOf(
  gatewayId: string,
  instanceId: string,
  definition: PluginDefinition,
  { isolation, settings }: InstanceEntry,
  host: PluginHost,
): IsolationOrder {
  const kind = isolation === "worker" ? isolation : "process";
  const isShadow = isShadowInstance(instanceId);
  return { gatewayId, instanceId, definition, settings, isolation: kind, isShadow, host };
}

/** Restarts of isolates, by plugin and isolation. */
export interface RestartCount {
  readonly plugin: string;
  readonly isolation: string;
  readonly count: number;
}
