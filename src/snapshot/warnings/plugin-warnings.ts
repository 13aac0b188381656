// Warnings about entries of required_plugins that have no effect, or not the one that their fields suggest.
import type { Gateway } from "../../model/gateway.ts";
import { isJsonObject } from "../../base/json.ts";
import { nearestName } from "../../base/nearest-name.ts";
import { KEYWORDS } from "../../plugins/tool_policy/schema-keywords.ts";
import { unknownKeywords } from "../../plugins/tool_policy/unknown-keywords.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** Plugins that decide when the request is sent: shadow mode does not run this hook. */
const WITHOUT_SHADOW: ReadonlySet<string> = new Set(["response_cache"]);

export function pluginWarnings({ id: recordId, required_plugins }: Gateway): ConfigurationWarning[] {
  return required_plugins.flatMap(({ name, mode, sample, settings }, index): ConfigurationWarning[] => {
    const at = (field: string) => [{ recordId, path: `required_plugins[${index}].${field}` }];
    if (mode === "shadow" && WITHOUT_SHADOW.has(name)) {
      const message = `${name} keeps and counts nothing in shadow mode; set mode to enforce`;
      return [{ places: at("mode"), message }];
    }
    if (mode === "enforce" && sample < 1) {
      const message = "has no effect, because the plugin runs on all requests with the mode enforce";
      return [{ places: at("sample"), message }];
    }
    return name === "tool_policy" ? ignoredKeywords(settings, at) : [];
  });
}

function ignoredKeywords(
  settings: unknown,
  at: (field: string) => ConfigurationWarning["places"],
): ConfigurationWarning[] {
  const rules = isJsonObject(settings) && Array.isArray(settings["rules"]) ? settings["rules"] : [];
  return rules.flatMap((rule: unknown, index) => {
    const paths = isJsonObject(rule) ? unknownKeywords(rule["when"]) : [];
    return paths.map((path) => {
      const similar = nearestName(path.slice(path.lastIndexOf(".") + 1), KEYWORDS.keys());
      const hint = similar === null ? "" : `; did you mean ${similar}?`;
      const message = `is no keyword of JSON Schema and is ignored${hint}`;
      return { places: at(`settings.rules[${index}].when.${path}`), message };
    });
  });
}
