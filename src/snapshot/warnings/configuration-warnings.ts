// Warnings about the records of one gateway that are legal but probably wrong.
import type { ErrorDetail } from "../../base/errors.ts";
import type { Upstream } from "../../model/upstream.ts";
import type { DocumentParts } from "../../kinds/kind.ts";
import { budgetWarnings, type CountedKey } from "./budget-warnings.ts";
import { keyWarnings, type KeyGrants } from "./key-warnings.ts";
import { mcpRules, mcpWarnings } from "./mcp-warnings.ts";
import { modelWarnings } from "./model-warnings.ts";
import { pluginWarnings } from "./plugin-warnings.ts";
import { routedRules, usedTargets } from "./routed-rule.ts";
import { patternsWithPost, ruleWarnings, unguardedWarnings, unreachableRules } from "./rule-warnings.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** How many warnings a response or a command reports. */
const MAX_WARNINGS = 100;

/**
 * Returns the warnings about the records of a gateway and these of its API keys. `counted` are all its active
 * keys, for the warnings about budgets; null if they are not known.
 */
export function configurationWarnings(
  parts: DocumentParts,
  keys: readonly KeyGrants[],
  counted: readonly CountedKey[] | null,
): ConfigurationWarning[] {
  const rules = routedRules(parts);
  const unreachable = unreachableRules(rules);
  const reachable = rules.filter(({ rule }) => !unreachable.has(rule.id));
  const withPost = patternsWithPost(rules);
  const services = [...new Set(rules.map(({ service }) => service))];
  return [
    ...pluginWarnings(parts.gateway),
    ...parts.upstreams.flatMap(upstreamWarnings),
    ...rules.flatMap((rule) => ruleWarnings(rule, withPost, unreachable.get(rule.rule.id) ?? null)),
    ...parts.rules.flatMap(unguardedWarnings),
    ...parts.models.flatMap((model) => modelWarnings(model, parts.upstreams, services)),
    ...budgetWarnings(parts, counted),
    ...mcpWarnings(parts, keys),
    ...keyWarnings(keys, reachable, new Set(mcpRules(parts).map(({ id }) => id))),
  ];
}

/** The schema requires a target, so an upstream without one is an upstream whose targets get no requests. */
function upstreamWarnings(upstream: Upstream): ConfigurationWarning[] {
  if (usedTargets(upstream).length > 0) return [];
  const message = "no target gets requests, because all have the weight 0; give one of them a higher weight";
  return [{ places: [{ recordId: upstream.id, path: "targets" }], message }];
}

/** Returns the warnings that concern one record, with paths in this record. */
export function warningsAbout(recordId: string, warnings: readonly ConfigurationWarning[]): ErrorDetail[] {
  const found = warnings.flatMap(({ places, message }) => {
    const place = places.find((each) => each.recordId === recordId);
    return place === undefined ? [] : [{ path: place.path, message }];
  });
  return limited(found);
}

/** Returns the warnings with paths in a document. Warnings about records that are not in the document are left out. */
export function warningsInDocument(
  warnings: readonly ConfigurationWarning[],
  placeOf: (recordId: string) => string | undefined,
): ErrorDetail[] {
  const found = warnings.flatMap(({ places, message }) => {
    for (const { recordId, path } of places) {
      const place = placeOf(recordId);
      if (place !== undefined) return [{ path: `${place}.${documentField(path)}`, message }];
    }
    return [];
  });
  return limited(found);
}

/** Documents refer to records by name. */
function documentField(path: string): string {
  if (path === "mcp_server_ids") return "mcp_servers";
  return path === "upstream_id" ? "upstream" : path;
}

function limited(warnings: readonly ErrorDetail[]): ErrorDetail[] {
  const left = warnings.length - MAX_WARNINGS;
  if (left <= 0) return [...warnings];
  return [...warnings.slice(0, MAX_WARNINGS), { path: "", message: `${left} more warnings are not shown` }];
}
