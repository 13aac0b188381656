// Warnings about virtual models that no rule serves, or that have a target without effect.
import type { Service } from "../../model/service.ts";
import type { Upstream } from "../../model/upstream.ts";
import type { VirtualModel } from "../../model/virtual-model.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** `services` are those that rules lead to. */
export function modelWarnings(
  model: VirtualModel,
  upstreams: readonly Upstream[],
  services: readonly Service[],
): ConfigurationWarning[] {
  const { id: recordId, name, targets, strategy, sticky, fallback_on, fallback } = model;
  const warnings: ConfigurationWarning[] = [];
  const warn = (path: string, message: string) => warnings.push({ places: [{ recordId, path }], message });
  const places = targets.map((target, index) => ({ ...target, path: `targets[${index}].model` }));
  const { canary, mirror } = model;
  if (canary !== null) places.push({ ...canary.target, weight: 1, path: "canary.target.model" });
  if (mirror !== null) places.push({ ...mirror.target, weight: 1, path: "mirror.target.model" });
  for (const { upstream: upstreamId, model: sent, path } of places) {
    const upstream = upstreams.find(({ id }) => id === upstreamId);
    const served = sent ?? (name.endsWith("*") ? null : name);
    if (upstream !== undefined && served !== null && !serves(upstream, served))
      warn(path, `no target of the upstream "${upstream.name}" serves the model "${served}"`);
  }
  if (targets.every(({ weight }) => weight === 0))
    warn(
      "targets",
      "no target gets requests, because all have the weight 0; give one of them a higher weight",
    );
  else if (services.length > 0 && !services.some((service) => reaches(service, model)))
    warn(
      "targets",
      "no rule serves this name: no service with a rule leads to one of its upstreams or has virtual_models: any",
    );
  if (sticky && strategy !== "weighted" && strategy !== "cache-affinity")
    warn("sticky", `has no effect with the strategy ${strategy}`);
  if (fallback.length > 0 && fallback_on.length === 0)
    warn("fallback_on", "is empty, so that fallback is never used");
  for (const [kind, further] of Object.entries({ canary, mirror })) {
    if (further === null || further.share === 0 || services.length === 0) continue;
    const isReached = services.some((service) => reaches(service, { targets: [further.target] }));
    if (!isReached)
      warn(
        `${kind}.target.upstream`,
        `no rule uses the ${kind}: no service with a rule leads to its upstream or has virtual_models: any`,
      );
  }
  const { reason } = canary?.rolled_back ?? {};
  if (reason !== undefined) warn("canary.share", `the gateway has switched the canary off: ${reason}`);
  return warnings;
}

function serves({ targets }: Upstream, model: string): boolean {
  return targets.some(
    ({ models, default_model }) => models.length === 0 || models.includes(model) || default_model === model,
  );
}

function reaches(
  { upstream_id, virtual_models }: Service,
  { targets }: { readonly targets: readonly { readonly upstream: string }[] },
): boolean {
  return virtual_models === "any" || targets.some(({ upstream }) => upstream === upstream_id);
}
