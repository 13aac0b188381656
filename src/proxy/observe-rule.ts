// Looks up the telemetry of a compiled rule, and creates it from the names in the configuration the first time.
import { otelProviderName } from "../formats/otel-provider-name.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Observation } from "../telemetry/observation.ts";
import type {
  ObservedRoutes,
  ObservedRule,
  RouteNames,
  TargetNames,
} from "../telemetry/metrics/observed-route.ts";

export function observeRule(
  { routes }: Observation,
  gateway: CompiledGateway,
  compiled: CompiledRule,
): ObservedRule {
  return routes.findRule(compiled) ?? addRule(routes, gateway, compiled);
}

function addRule(routes: ObservedRoutes, { gateway }: CompiledGateway, compiled: CompiledRule): ObservedRule {
  const { rule, upstream } = compiled;
  const { id, name, path } = rule;
  const names: RouteNames = { gateway: gateway.name, rule: { id, name, path }, upstream: upstream.name };
  return routes.addRule(compiled, names, upstream.targets.map(namesOf));
}

function namesOf({ id, provider, baseUrl, path, models, defaultModel }: CompiledTarget): TargetNames {
  const declared = [...(models ?? []), ...(defaultModel === null ? [] : [defaultModel])];
  return { id, provider, semanticName: otelProviderName(provider), baseUrl, path, models: declared };
}
