// The models that upstreams serve, as far as their targets list them.
import type { Target } from "../../model/target.ts";
import type { Upstream } from "../../model/upstream.ts";
import { usedTargets } from "./routed-rule.ts";

/** The models that the targets of an upstream serve. */
export interface ServedModels {
  /** Whether a target serves every model. */
  readonly all: boolean;
  readonly names: ReadonlySet<string>;
  /** Models that replace those that no target serves. */
  readonly substitutes: readonly string[];
}

export function servedModels(upstream: Upstream): ServedModels {
  const targets = usedTargets(upstream).map(({ target }) => target);
  const defaults = targets.flatMap(({ default_model }) => default_model ?? []);
  const replaces = ({ path }: Target) =>
    upstream.model_routing === null ? path !== null : upstream.model_routing !== "require";
  return {
    all: targets.some(({ models }) => models.length === 0),
    names: new Set([...targets.flatMap(({ models }) => models), ...defaults]),
    substitutes: targets.filter(replaces).flatMap(({ default_model }) => default_model ?? []),
  };
}

/** Whether an exact name, or a prefix that ends in `*`, matches one of the names. */
export function matchesAny(pattern: string, names: ReadonlySet<string>): boolean {
  if (!pattern.endsWith("*")) return names.has(pattern);
  const prefix = pattern.slice(0, -1);
  for (const name of names) if (name.startsWith(prefix)) return true;
  return false;
}
