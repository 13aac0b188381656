// The model that is sent to a target.
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { BodyFields } from "./request-body.ts";

/** As `modelFor`, also for bodies that are no JSON object. */
export function sentModel(fields: BodyFields, target: CompiledTarget): string | null {
  if (fields.isObject) return modelFor(fields, target);
  return fields.formModel === null ? fields.model : (target.forcedModel ?? fields.model);
}

/** Returns the model of a virtual model's target; else the requested model if the target serves it, else the target's default model; null without a JSON object. */
export function modelFor(
  { isObject, model: requested }: BodyFields,
  { models, defaultModel, forcedModel }: CompiledTarget,
): string | null {
  if (!isObject) return null;
  if (forcedModel !== null) return forcedModel;
  if (requested !== null && (models === null || models.has(requested))) return requested;
  return defaultModel ?? requested;
}
