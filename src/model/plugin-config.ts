// Configuration of a plugin of a gateway: its name, stage, and order. The plugin validates its own settings.
import { z } from "zod";
import { isJsonObject } from "../base/json.ts";
import { priorityField } from "./fields.ts";
import {
  defaultModeOf,
  PLUGIN_ISOLATIONS,
  PLUGIN_MODES,
  PLUGIN_NAME,
  PLUGIN_STAGES,
} from "./plugin-stage.ts";

export const pluginConfigSchema = z
  .strictObject({
    name: z.string().regex(PLUGIN_NAME, "must be 1 to 64 letters, digits, '.', '_' or '-'").meta({
      description: "`rate_limiter`, `code_sanitation`, or the name of a registered custom plugin.",
    }),
    stage: z.enum(PLUGIN_STAGES).meta({ description: "When the plugin runs." }),
    enabled: z.boolean().default(true).meta({ description: "A disabled plugin does not run." }),
    priority: priorityField.default(1).meta({
      description: "Plugins with a lower number run first; with equal numbers, in the order of the list.",
    }),
    settings: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ description: "Settings of the plugin. The plugin validates them." }),
    on_error: z.enum(["fail", "continue"]).default("fail").meta({
      description:
        "What happens to the request if the plugin throws an error or takes longer than 5 seconds. A plugin that inspects texts, and whose worker or process does not run its hook to the end, fails the request in any case.",
    }),
    mode: z.enum(PLUGIN_MODES).default("enforce").meta({
      description:
        "`shadow`: the plugin runs on a copy of each request. What it would do is recorded and has no effect. The default of `prompt_guard` is `shadow`.",
    }),
    sample: z.number().min(0).max(1).default(1).meta({
      description: "In shadow mode, the share of the requests on which the plugin runs: 0 to 1.",
    }),
    isolation: z.enum(PLUGIN_ISOLATIONS).default("inline").meta({
      description:
        "Where the hooks run. `inline`: in the process of the gateway. `worker`: in a worker thread. `process`: in a process without environment variables and with a memory limit. An endless loop or a crash in a worker or process affects no other request.",
    }),
  })
  .meta({ id: "PluginConfig" });

/** A default cannot depend on another field, so the mode is added before the list is validated. */
export const pluginListSchema = z.preprocess(
  (list) => (Array.isArray(list) ? list.map(withMode) : list),
  z.array(pluginConfigSchema).max(64, "must not contain more than 64 plugins"),
);

function withMode(entry: unknown): unknown {
  if (!isJsonObject(entry) || Object.hasOwn(entry, "mode") || defaultModeOf(entry["name"]) === "enforce")
    return entry;
  return { ...entry, mode: "shadow" };
}

export type PluginConfig = z.output<typeof pluginConfigSchema>;

/** A stored entry. Its counters, blocks, and state belong to its id, which does not change when the list changes. */
export type StoredPluginConfig = PluginConfig & { readonly id: string };

/**
 * Assigns ids to a changed list. An entry keeps the id of the previous entry with the same name, stage, and settings, or
 * else of the next unassigned one with its name. So entries keep their counters when the list is reordered, or when
 * entries are added or removed.
 */
export function withPluginIds(
  next: readonly PluginConfig[],
  before: readonly StoredPluginConfig[],
  newId: () => string,
): StoredPluginConfig[] {
  const free = new Set(before);
  const take = (isSame: (entry: StoredPluginConfig) => boolean): string | undefined => {
    const found = [...free].find(isSame);
    if (found !== undefined) free.delete(found);
    return found?.id;
  };
  const exact = next.map(({ name, stage, settings }) =>
    take((entry) => entry.name === name && entry.stage === stage && Bun.deepEquals(entry.settings, settings)),
  );
  return next.map((config, index) => ({
    id: exact[index] ?? take((entry) => entry.name === config.name) ?? newId(),
    ...config,
  }));
}
