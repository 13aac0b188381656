// A plugin attached to a gateway: which, when, in what order. Its settings are judged by the plugin itself.
import { z } from "zod";
import { priorityField } from "./fields.ts";
import { PLUGIN_NAME, PLUGIN_STAGES } from "./plugin-stage.ts";

export const pluginConfigSchema = z
  .strictObject({
    name: z.string().regex(PLUGIN_NAME, "must be 1 to 64 letters, digits, '.', '_' or '-'").meta({
      description: "`rate_limiter`, `code_sanitation`, or the name of a registered custom plugin.",
    }),
    stage: z.enum(PLUGIN_STAGES).meta({ description: "When it runs." }),
    enabled: z.boolean().default(true).meta({ description: "A disabled plugin costs nothing." }),
    priority: priorityField.default(1).meta({ description: "Lower runs first; then as listed." }),
    settings: z.record(z.string(), z.unknown()).default({}).meta({ description: "Judged by the plugin." }),
    on_error: z.enum(["fail", "continue"]).default("fail").meta({
      description: "What happens to the request when the plugin throws or takes longer than 5 s.",
    }),
  })
  .meta({ id: "PluginConfig" });

export type PluginConfig = z.output<typeof pluginConfigSchema>;

/** As it is kept: its counters, blocks and memory hang on an id that it keeps through every change of the list. */
export type StoredPluginConfig = PluginConfig & { readonly id: string };

/**
 * Gives each entry the id of the one it continues: first the entry with the same name, stage and settings, then the next
 * of its name. The list may be reordered, and entries added or taken out, without any of them losing what it counted.
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
