// The stages and modes in which plugins run, and the syntax of plugin names.

export const PLUGIN_STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;
export type PluginStage = (typeof PLUGIN_STAGES)[number];

export const PLUGIN_MODES = ["enforce", "shadow"] as const;
type PluginMode = (typeof PLUGIN_MODES)[number];

/** Where the hooks of an entry run: in the process of the gateway, in a worker thread, or in a process of their own. */
export const PLUGIN_ISOLATIONS = ["inline", "worker", "process"] as const;
export type Isolation = (typeof PLUGIN_ISOLATIONS)[number];

/** Plugins whose findings are a matter of degree: an operator should see what they would do before they reject requests. */
const STARTS_IN_SHADOW: ReadonlySet<unknown> = new Set(["prompt_guard"]);

/** Returns the mode of entries that name none. */
export function defaultModeOf(plugin: unknown): PluginMode {
  return STARTS_IN_SHADOW.has(plugin) ? "shadow" : "enforce";
}

export const PLUGIN_NAME = /^[A-Za-z0-9._-]{1,64}$/;
