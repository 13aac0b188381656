// Which hooks a plugin chain uses.
import { PLUGIN_STAGES } from "../model/plugin-stage.ts";
import type { PluginHooks } from "../sdk/index.ts";
import type { PluginChain } from "./plugin-chain.ts";

/** Returns whether a chain calls these hooks, for requests or in shadow mode. */
export function usesHooks(chain: PluginChain, hooks: PluginHooks): boolean {
  return PLUGIN_STAGES.some((stage) =>
    [...(chain[stage] ?? []), ...(chain.shadows?.[stage] ?? [])].some((link) => link.hooks === hooks),
  );
}
