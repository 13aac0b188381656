// The stages in which plugins run, and the syntax of plugin names.

export const PLUGIN_STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;
export type PluginStage = (typeof PLUGIN_STAGES)[number];

export const PLUGIN_NAME = /^[A-Za-z0-9._-]{1,64}$/;
