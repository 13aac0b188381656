// Checks the plugins attached to a gateway: each is registered, supports its stage and accepts its settings.
import type { ErrorDetail } from "../base/errors.ts";
import type { PluginConfig } from "../model/plugin-config.ts";
import { check, unknownNameMessage } from "../model/validate.ts";
import type { PluginRegistry } from "../plugins/registry.ts";

export function pluginFaults(configs: readonly PluginConfig[], registry: PluginRegistry): ErrorDetail[] {
  return configs.flatMap((config, index) => faultsOf(config, `required_plugins[${index}]`, registry));
}

function faultsOf(config: PluginConfig, path: string, registry: PluginRegistry): ErrorDetail[] {
  const plugin = registry.get(config.name)?.definition;
  if (plugin === undefined) {
    return [{ path: `${path}.name`, message: unknownNameMessage(config.name, registry.keys(), "plugin") }];
  }
  const faults: ErrorDetail[] = [];
  if (!plugin.stages.includes(config.stage)) {
    const message = `${plugin.name} does not support this stage; give ${plugin.stages.join(" or ")}`;
    faults.push({ path: `${path}.stage`, message });
  }
  const settings = check(plugin.settings, config.settings);
  if (!settings.ok) {
    for (const { path: field, message } of settings.details) {
      faults.push({ path: field === "" ? `${path}.settings` : `${path}.settings.${field}`, message });
    }
  }
  return faults;
}
