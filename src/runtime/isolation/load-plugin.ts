// Loads the plugin of an isolate: a built-in one by its name, a custom one from its bundled source.
import { importBundle } from "../../plugins/import-bundle.ts";
import { PluginRegistry } from "../../plugins/registry.ts";
import type { PluginDefinition } from "../../sdk/index.ts";

export async function loadPlugin(
  builtin: string | null,
  source: Uint8Array | undefined,
): Promise<PluginDefinition> {
  if (builtin !== null) {
    const definition = new PluginRegistry().get(builtin);
    if (definition === undefined) throw new Error(`there is no built-in plugin "${builtin}"`);
    return definition;
  }
  // The gateway has loaded the same source and validated the definition.
  return (await importBundle(Buffer.from(source ?? []).toString())) as PluginDefinition;
}
