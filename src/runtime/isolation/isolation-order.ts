// What isolates are created from, and what is known of them.
import type { Clock } from "../../base/clock.ts";
import type { Isolation } from "../../model/plugin-stage.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import type { PluginDefinition, PluginHost } from "../../sdk/index.ts";
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

/** Restarts of isolates, by plugin and isolation. */
export interface RestartCount {
  readonly plugin: string;
  readonly isolation: string;
  readonly count: number;
}
