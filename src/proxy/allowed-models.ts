// Checks that an API key with `models` uses only these: the model that the client names, and everything in the request to a
// target that a provider may read as the model.
import { GatehouseError } from "../base/errors.ts";
import type { Candidates, CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { ModelAllowList } from "../snapshot/model-allow-list.ts";
import type { Exchange } from "./exchange.ts";
import { METHODS_WITHOUT_MODEL, modelsNamedIn } from "./named-models.ts";

const MAX_SHOWN_LENGTH = 255;

/** Throws if the key may not use the model that the client names, or if servers may disagree on that model. */
export function requireAllowedModel({ fields }: Exchange, allowed: ModelAllowList): void {
  const { model, modelProblem } = fields;
  if (modelProblem !== null) throw new GatehouseError(modelProblem.code, modelProblem.message);
  if (model !== null && !allowed.allows(model)) throw modelNotAllowed(model);
}

/** Returns the candidates whose request uses only allowed models. Throws if there is none. */
export function allowedCandidates(
  exchange: Exchange,
  rule: CompiledRule,
  { preferred, fallback }: Candidates,
  allowed: ModelAllowList,
): Candidates {
  const refusals: GatehouseError[] = [];
  const isAllowed = (index: number) => {
    const target = rule.upstream.targets[index];
    const refusal = target === undefined ? null : modelRefusal(exchange, rule, target, allowed);
    if (refusal !== null) refusals.push(refusal);
    return refusal === null;
  };
  const candidates = { preferred: preferred.filter(isAllowed), fallback: fallback.filter(isAllowed) };
  const [first] = refusals;
  if (first !== undefined && refusals.length === preferred.length + fallback.length) throw first;
  return candidates;
}

/** Returns why the request must not be sent to the target; null if it may. */
export function modelRefusal(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  allowed: ModelAllowList,
): GatehouseError | null {
  const { fields, body, method, handshake } = exchange;
  const { modelProblem, furtherModels } = fields;
  if (modelProblem !== null) return new GatehouseError(modelProblem.code, modelProblem.message);
  const named = modelsNamedIn(exchange, rule, target);
  const runsModel = body !== null || handshake !== null || !METHODS_WITHOUT_MODEL.has(method);
  if (named.length === furtherModels.length && runsModel) return modelUnknown();
  for (const each of named)
    if (typeof each !== "string" || !allowed.allows(each)) return modelNotAllowed(each);
  return null;
}

function modelNotAllowed(model: unknown): GatehouseError {
  const message =
    typeof model === "string"
      ? `This API key may not use the model "${model.slice(0, MAX_SHOWN_LENGTH)}".`
      : "This API key may use only some models, and the fields models and fallbacks must be lists of them.";
  return new GatehouseError("model_not_allowed", message);
}

function modelUnknown(): GatehouseError {
  return new GatehouseError(
    "model_not_allowed",
    "This API key may use only some models, and the request does not name a model that the gateway can check.",
  );
}
