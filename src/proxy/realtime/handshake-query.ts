// The model in the query of a WebSocket handshake: for routing, and as it is sent to a target.
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import { NO_FIELDS, type BodyFields } from "../request-body.ts";
import { isModelParameter, modelsInQuery } from "../request-target-models.ts";
import { modelFor } from "../model-for.ts";
import { SEVERAL_IN_QUERY } from "../model-problems.ts";

/** Returns the fields that routing reads, as if the request had a body with this model. */
export function fieldsOfQuery(query: string): BodyFields {
  const [model = null, ...others] = modelsInQuery(query);
  if (model === null) return NO_FIELDS;
  const isAmbiguous = others.some((other) => other !== model);
  return {
    ...NO_FIELDS,
    model,
    modelProblem: isAmbiguous ? SEVERAL_IN_QUERY : null,
  };
}

/** The model that a target gets with this query: the requested one if the target serves it, else its default model. */
export function modelInQueryFor(query: string, target: CompiledTarget): string | null {
  const [model = null] = modelsInQuery(query);
  return modelFor({ ...NO_FIELDS, isObject: true, model }, target);
}

/** Returns the query for a target: all parameters that name a model name the one that the target gets. */
export function queryFor(query: string, target: CompiledTarget): string {
  const named = modelsInQuery(query);
  const model = modelInQueryFor(query, target);
  if (model === null || (named.length > 0 && named.every((each) => each === model))) return query;
  if (named.length === 0) return `${query === "" ? "?" : `${query}&`}model=${encodeURIComponent(model)}`;
  const parameters = query.slice(1).split("&");
  const replaced = parameters.map((parameter) => {
    const [name = ""] = parameter.split("=");
    return isModelParameter(name) ? `${name}=${encodeURIComponent(model)}` : parameter;
  });
  return `?${replaced.join("&")}`;
}
