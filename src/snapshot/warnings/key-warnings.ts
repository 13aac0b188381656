// Warnings about API keys: keys that can reach no rule, and allowed models that no target serves.
import type { StoredApiKey } from "../../kinds/kind.ts";
import { ModelAllowList } from "../model-allow-list.ts";
import type { RoutedRule } from "./routed-rule.ts";
import { matchesAny, servedModels, type ServedModels } from "./served-models.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** What an API key is valid for. */
export type KeyGrants = Pick<StoredApiKey, "id" | "policies" | "models" | "tools">;

/** `rules` are those that requests can reach, and `mcpRules` the ids of those that lead to MCP servers. */
export function keyWarnings(
  keys: readonly KeyGrants[],
  rules: readonly RoutedRule[],
  mcpRules: ReadonlySet<string>,
): ConfigurationWarning[] {
  if (keys.length === 0) return [];
  const served = new Map<string, ServedModels>();
  for (const { upstream } of rules)
    if (!served.has(upstream.id)) served.set(upstream.id, servedModels(upstream));
  const upstreamsOfAll = [...served.values()];
  const upstreamByRule = new Map(rules.map(({ rule, upstream }) => [rule.id, upstream.id]));
  return keys.flatMap((key) => {
    const { id, policies, models } = key;
    const granted = new Set(policies.flatMap((ruleId) => upstreamByRule.get(ruleId) ?? []));
    const reachesMcp =
      policies.length === 0 ? mcpRules.size > 0 : policies.some((each) => mcpRules.has(each));
    if (policies.length === 0 ? rules.length === 0 : granted.size === 0) {
      if (reachesMcp) return [];
      const message =
        policies.length === 0
          ? "the key can reach no rule: the gateway has no active rule"
          : "the key can reach no rule: none of these rules is active and matches requests";
      return [{ places: [{ recordId: id, path: "policies" }], message }];
    }
    if (models === null) return [];
    const upstreams =
      policies.length === 0
        ? upstreamsOfAll
        : [...granted].flatMap((upstreamId) => served.get(upstreamId) ?? []);
    return modelWarnings(id, models, upstreams);
  });
}

function modelWarnings(
  recordId: string,
  models: readonly string[],
  upstreams: readonly ServedModels[],
): ConfigurationWarning[] {
  if (upstreams.some(({ all }) => all)) return [];
  const allowed = new ModelAllowList(models);
  const isReplaced = upstreams.some(({ substitutes }) => substitutes.some((model) => allowed.allows(model)));
  if (isReplaced) return [];
  return models.flatMap((pattern, index) => {
    const isServed = upstreams.some(({ names }) => matchesAny(pattern, names));
    const message = `no target that the key can reach serves "${pattern}"`;
    return isServed ? [] : [{ places: [{ recordId, path: `models[${index}]` }], message }];
  });
}
