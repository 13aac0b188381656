// Configuration of a plugin of a gateway: its name, stage, and order. The plugin validates its own settings.
import { z } from "zod";
import { priorityField } from "./fields.ts";
import { PLUGIN_NAME, PLUGIN_STAGES } from "./plugin-stage.ts";

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
        "What happens to the request if the plugin throws an error or takes longer than 5 seconds.",
    }),
  })
  .meta({ id: "PluginConfig" });

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
