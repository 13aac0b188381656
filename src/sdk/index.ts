// The public plugin contract: what a plugin, built-in or custom, declares about itself.
import { z } from "zod";
import type { PluginStage } from "../model/plugin-config.ts";

export { z };
export type { PluginStage };

export interface PluginDefinition<Settings = unknown> {
  /** 1 to 64 letters, digits, `.`, `_` or `-`: the name that `required_plugins` uses. */
  readonly name: string;
  readonly description: string;
  readonly stages: readonly PluginStage[];
  /** Judges the `settings` of a plugin configuration; refuses what it does not know. */
  readonly settings: z.ZodType<Settings>;
}

/** Gives a definition its type from its settings schema. */
export function definePlugin<Settings>(definition: PluginDefinition<Settings>): PluginDefinition<Settings> {
  return definition;
}
