// The models that a request to a target names: in the body, and in the path and the query, where some providers read them instead.
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { Exchange } from "./exchange.ts";
import { sentModel } from "./model-for.ts";
import { takesDefaultModel } from "./operation.ts";
import { modelInQueryFor, queryFor } from "./realtime/handshake-query.ts";
import { pathFor } from "./request-endpoint.ts";
import { ignoresModelOfBody, mayNameModel, modelsInPath, modelsInQuery } from "./request-target-models.ts";

/** Requests with these methods do not run a model. WebSocket handshakes, which are GET requests, have to be checked first. */
export const METHODS_WITHOUT_MODEL: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** Returns everything in the request to a target that a provider may read as a model. The last ones are the further models of the body. */
export function modelsNamedIn(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): unknown[] {
  const { fields, handshake } = exchange;
  const path = pathFor(exchange, rule, target);
  const model = sentModel(fields, target);
  const named: unknown[] = modelsInUrl(exchange, rule, target, path);
  if (model !== null && handshake === null && !ignoresModelOfBody(path)) named.push(model);
  return [...named, ...fields.furtherModels];
}

/** Returns the models that the path and the query name. */
export function modelsNamedInUrl(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): string[] {
  return modelsInUrl(exchange, rule, target, pathFor(exchange, rule, target));
}

/**
 * Returns the model that a target runs: that of the body or, if the body names none, the only one in the path and the query. Null if it is
 * not known.
 */
export function modelRunBy(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): string | null {
  const { fields, handshake, sentQuery } = exchange;
  if (handshake !== null) return modelInQueryFor(sentQuery, target);
  const isSent = fields.model !== null || takesDefaultModel(exchange, rule, target);
  return (isSent ? sentModel(fields, target) : null) ?? onlyModelInUrl(exchange, rule, target);
}

/** Returns null if path and query name no model, or several. */
export function onlyModelInUrl(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
): string | null {
  const path = pathFor(exchange, rule, target);
  if (exchange.sentQuery === "" && !mayNameModel(target.baseUrl + path)) return null;
  const [model = null, ...others] = modelsInUrl(exchange, rule, target, path);
  return others.every((other) => other === model) ? model : null;
}

function modelsInUrl(
  { sentQuery, handshake }: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  path: string,
): string[] {
  const query = handshake === null ? sentQuery : queryFor(sentQuery, target);
  return [...modelsSentByClient(path, rule, target), ...modelsInQuery(query)];
}

/** Returns the models in the part of the path that the client chooses. */
function modelsSentByClient(path: string, { rule }: CompiledRule, target: CompiledTarget): string[] {
  if (target.path !== null && !rule.strip_path) return [];
  const basePath = target.baseUrl.replace(/^\w+:\/\/[^/]*/, "");
  return modelsInPath(basePath + path, basePath.length + (target.path ?? "").length);
}
