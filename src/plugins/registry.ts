// The plugins a configuration may name.
import type { PluginDefinition } from "../sdk/index.ts";
import { codeSanitation } from "./code_sanitation/plugin.ts";
import { rateLimiter } from "./rate_limiter/plugin.ts";

export interface RegisteredPlugin {
  readonly definition: PluginDefinition;
  readonly builtin: boolean;
}

/** By name, in the order they are listed. */
export type PluginRegistry = ReadonlyMap<string, RegisteredPlugin>;

export function builtinPlugins(): PluginRegistry {
  const definitions: readonly PluginDefinition[] = [rateLimiter, codeSanitation];
  return new Map(definitions.map((definition) => [definition.name, { definition, builtin: true }]));
}
