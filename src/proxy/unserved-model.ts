// The error for a model that no target serves, with the most similar names that the caller may use at this rule.
import { GatehouseError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-name.ts";
import { shorten } from "../base/shorten.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { Exchange } from "./exchange.ts";
import { modelsOfRule } from "./list-models.ts";
import type { ModelProblem } from "./model-problems.ts";

const MAX_NAMES = 3;
/** Comparing a name takes microseconds, and clients may send unknown names at any rate. */
const MAX_COMPARED = 500;

export function unservedModel({ apiKey, fields }: Exchange, rule: CompiledRule): GatehouseError {
  const model = fields.model ?? "";
  const usable = modelsOfRule(rule, apiKey).slice(0, MAX_COMPARED);
  const names = nearestNames(model, usable, MAX_NAMES).map((name) => `"${shorten(name)}"`);
  const hint = names.length === 0 ? "" : ` Did you mean ${names.join(" or ")}?`;
  return new GatehouseError("model_not_found", `No target serves the model "${shorten(model)}".${hint}`);
}

/** Returns why the model of the request has to be known and is not; null if it is known, or does not matter. */
export function unknownModelProblem(
  { fields: { modelProblem }, endpoint }: Exchange,
  { requiresModel, requiresReadableModel }: CompiledUpstream,
): ModelProblem | null {
  if (modelProblem === null || requiresModel) return modelProblem;
  // Files to store may look like JSON, and name no model.
  const mayRunModel = modelProblem.mayNameModel && endpoint?.operation !== "files";
  return requiresReadableModel && mayRunModel ? modelProblem : null;
}
