// The operation of a request to a rule whose targets have no `path`: what it is, and whether the rule allows it.
import { GatehouseError } from "../base/errors.ts";
import { shorten } from "../base/shorten.ts";
import {
  endpointIn,
  operationSpelledIn,
  permissionFor,
  type Endpoint,
  type Operation,
} from "../formats/operations.ts";
import { HUB_FORMAT } from "../formats/format-names.ts";
import type { Candidates, CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { modelFor } from "./model-for.ts";
import type { Exchange } from "./exchange.ts";
import { apiOfFiles, hasOwnApi, modelOfBatch } from "./upload-candidates.ts";
import { isStoredAt, type StoredAt } from "./stored-ids/stored-at.ts";

/** Returns what the path names; null if it names no operation, or if no target of the rule needs to know. */
export function endpointOf({ sentPath }: Exchange, rule: CompiledRule): Endpoint | null {
  if (!rule.upstream.hasEndpoints) return null;
  return sentPath === rule.rule.path ? rule.endpoint : endpointIn(sentPath);
}

/** Throws if the rule does not allow what the path names. */
export function requireAllowedEndpoint({ endpoint, method }: Exchange, { operations }: CompiledRule): void {
  const permission = endpoint === null ? null : permissionFor(endpoint, method);
  if (permission !== null && !operations.has(permission)) throw operationNotAllowed(permission);
}

/** Call when the body has been read. Throws if the request names no operation, is no chat request, and the rule forbids such. */
export function requireAllowedBody(exchange: Exchange, rule: CompiledRule): void {
  if (!isOther(exchange, rule)) return;
  if (!rule.operations.has("other")) throw operationNotAllowed("other");
  // Its ids would not be checked, and neither would be its own permission.
  const spelled = operationSpelledIn(exchange.sentPath);
  if (spelled !== null && STORING.has(spelled))
    throw new GatehouseError(
      "operation_not_allowed",
      `The path is not exactly that of the operation "${spelled}". Send it in lower case, and without encoded characters or further slashes.`,
    );
}

/** Operations with objects that are stored in the provider's account. */
const STORING: ReadonlySet<Operation> = new Set(["files", "batches", "responses", "fine_tuning", "models"]);

/** Operations whose requests have no model, so that providers reject one, or whose model is not one to run. */
const WITHOUT_MODEL: ReadonlySet<Operation> = new Set(["files", "batches", "fine_tuning", "other"]);

/** Whether the default model of the target is added to a request that names none. At a target with a path of its own, it always is. */
export function takesDefaultModel(
  exchange: Exchange,
  rule: CompiledRule,
  { endpoints }: Pick<CompiledTarget, "endpoints">,
): boolean {
  return endpoints === null || !WITHOUT_MODEL.has(operationWithIds(exchange, rule));
}

/** Whether a request is for an endpoint that the gateway does not know. */
export function isOther({ endpoint, fields }: Exchange, { upstream, pathKind }: CompiledRule): boolean {
  return endpoint === null && upstream.hasEndpoints && pathKind === "prefix" && !fields.hasMessages;
}

/** Returns the operation that decides where the ids of stored objects are in the request. */
export function operationWithIds(exchange: Exchange, rule: CompiledRule): Operation {
  if (exchange.endpoint !== null) return exchange.endpoint.operation;
  return isOther(exchange, rule) ? "other" : "chat";
}

function operationNotAllowed(operation: Operation): GatehouseError {
  return new GatehouseError(
    "operation_not_allowed",
    `The rule does not allow the operation "${operation}". Add it to the rule's operations, or use another path.`,
  );
}

/** Returns the candidates that have the objects that the request names. Throws if none of them does. */
export function storingCandidates(
  rule: CompiledRule,
  candidates: Candidates,
  storedAt: StoredAt,
): Candidates {
  const { targets } = rule.upstream;
  const storing = filterCandidates(candidates, (index) => isStoredAt(storedAt, targets[index]));
  if (isEmpty(storing))
    throw new GatehouseError(
      "model_not_found",
      "The target that has the stored objects of the request does not serve its model.",
    );
  return storing;
}

/** Returns the candidates that serve the operation of the request. Throws if there is none. */
export function servingCandidates(
  exchange: Exchange,
  rule: CompiledRule,
  candidates: Candidates,
): Candidates {
  const { endpoint } = exchange;
  if (endpoint === null) return candidates;
  const serving = candidatesWith(exchange, endpoint, rule, candidates);
  if (isEmpty(serving)) {
    // A rule for one path is not for a whole API. It leads to the chat endpoint.
    if (rule.pathKind !== "prefix") return candidates;
    throw operationNotSupported(endpoint, rule);
  }
  if (endpoint.operation === "embeddings") return sameModelCandidates(exchange, rule, serving);
  const isStored = endpoint.operation === "files" || endpoint.operation === "batches";
  return isStored && exchange.storedAt === null ? batchCandidates(exchange, rule, serving) : serving;
}

const CREATE_BATCH: Endpoint = {
  operation: "batches",
  format: HUB_FORMAT,
  tail: "/batches",
  model: null,
  wantsStream: null,
};

/** Returns the candidates that can run a batch whose first model is known, if there are any. */
function batchCandidates(exchange: Exchange, { upstream }: CompiledRule, candidates: Candidates): Candidates {
  const model = modelOfBatch(exchange);
  if (model === null) return candidates;
  const running = filterCandidates(candidates, (index) => {
    const target = upstream.targets[index];
    if (target === undefined || target.models?.has(model) === false) return false;
    return (
      target.endpoints === null ||
      exchange.endpoint?.operation === "batches" ||
      target.endpoints.has(CREATE_BATCH)
    );
  });
  return isEmpty(running) ? candidates : running;
}

/** Whether the gateway estimates the number of tokens if no target counts them. */
export function asksForTokenCount({ endpoint, method }: Exchange): boolean {
  return endpoint?.operation === "count_tokens" && method === "POST";
}

/** Whether any of the targets with these indexes serves the endpoint. */
export function isServedBy(indexes: readonly number[], endpoint: Endpoint, rule: CompiledRule): boolean {
  return indexes.some((index) => allHave(endpoint, rule, [index]));
}

/** Returns the candidates that have the endpoint, or a `path` for all requests: mostly all of them, which needs no closure. */
function candidatesWith(
  exchange: Exchange,
  endpoint: Endpoint,
  rule: CompiledRule,
  candidates: Candidates,
): Candidates {
  const { preferred, fallback } = candidates;
  if (endpoint.operation === "files") return fileCandidates(exchange, endpoint, rule, candidates);
  if (allHave(endpoint, rule, preferred) && allHave(endpoint, rule, fallback)) return candidates;
  return filterCandidates(candidates, (index) => allHave(endpoint, rule, [index]));
}

/**
 * Files of an upstream whose targets all have another API go there, as long as the paths are the same, which those of
 * Gemini are not.
 */
function fileCandidates(
  exchange: Exchange,
  endpoint: Endpoint,
  rule: CompiledRule,
  candidates: Candidates,
): Candidates {
  const { targets } = rule.upstream;
  const own = filterCandidates(candidates, (index) => {
    const target = targets[index];
    return target !== undefined && hasOwnApi(exchange, endpoint, target);
  });
  if (!isEmpty(own) || apiOfFiles(exchange) === "gemini") return own;
  return filterCandidates(candidates, (index) => allHave(endpoint, rule, [index]));
}

function allHave(endpoint: Endpoint, { upstream }: CompiledRule, indexes: readonly number[]): boolean {
  for (const index of indexes) {
    const endpoints = upstream.targets[index]?.endpoints ?? null;
    if (endpoints !== null && !endpoints.has(endpoint)) return false;
  }
  return true;
}

/** Vectors of different models cannot be compared, so no target may replace the model of an embedding request. */
function sameModelCandidates({ fields }: Exchange, rule: CompiledRule, candidates: Candidates): Candidates {
  if (!fields.isObject) return candidates;
  const { targets } = rule.upstream;
  const modelAt = (index: number) => {
    const target = targets[index];
    return target === undefined ? null : modelFor(fields, target);
  };
  const first = candidates.preferred[0] ?? candidates.fallback[0] ?? 0;
  const model = targets[first]?.forcedModel ?? fields.model ?? modelAt(first);
  const same = filterCandidates(candidates, (index) => modelAt(index) === model);
  if (isEmpty(same))
    throw new GatehouseError(
      "model_not_found",
      `No target serves the model "${shorten(model ?? "")}", and the model of an embedding request is never replaced.`,
    );
  return same;
}

/** Returns the same object if all are kept, which is the normal case. */
function filterCandidates(candidates: Candidates, isKept: (index: number) => boolean): Candidates {
  const { preferred, fallback } = candidates;
  if (preferred.every(isKept) && fallback.every(isKept)) return candidates;
  return { preferred: preferred.filter(isKept), fallback: fallback.filter(isKept) };
}

function isEmpty({ preferred, fallback }: Candidates): boolean {
  return preferred.length === 0 && fallback.length === 0;
}

function operationNotSupported({ operation }: Endpoint, { upstream }: CompiledRule): GatehouseError {
  const providers = [...new Set(upstream.targets.map(({ provider }) => provider))].join(", ");
  return new GatehouseError(
    "operation_not_supported",
    `No target of upstream "${upstream.name}" supports the operation "${operation}" (providers: ${providers}).`,
  );
}
