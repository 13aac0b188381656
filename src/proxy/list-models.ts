// Responds to GET /v1/models, unless a rule matches it, with the models of the client's gateway in OpenAI's format.
import { GatehouseError } from "../base/errors.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import { apiKeyRequired, isAllowed } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";
import { matchRule } from "./match-rule.ts";

const MODELS_PATH = "/v1/models";

/** Whether the request is for the model list. A rule of the gateway, or of any if `gateway` is null, takes precedence. */
export function isModelListRequest(exchange: Exchange, gateway: CompiledGateway | null): boolean {
  if (exchange.path !== MODELS_PATH || exchange.method !== "GET") return false;
  try {
    matchRule(exchange, gateway);
    return false;
  } catch (error) {
    return !(error instanceof GatehouseError) || error.code !== "ambiguous_gateway";
  }
}

export function listModels(
  exchange: Exchange,
  requestGateway: CompiledGateway | null,
  alwaysRequired: boolean,
): Response {
  const gateway = requestGateway ?? onlyGateway(exchange);
  const { apiKey } = exchange;
  exchange.gateway = gateway;
  if (apiKey === null && (alwaysRequired || gateway.gateway.require_api_key)) throw apiKeyRequired();
  const owners = new Map<string, string>();
  for (const rule of gateway.rules) {
    // A rule may require an API key although its gateway does not.
    if (!isAllowed(apiKey, rule) || (apiKey === null && rule.requireApiKey)) continue;
    for (const { models, defaultModel, provider } of rule.upstream.targets) {
      for (const model of [defaultModel, ...(models ?? [])])
        if (model !== null && !owners.has(model) && apiKey?.models?.allows(model) !== false)
          owners.set(model, provider);
    }
  }
  const created = Math.floor(Date.parse(gateway.gateway.created_at) / 1000);
  const data = [...owners].map(([id, owned_by]) => ({ id, object: "model", created, owned_by }));
  return Response.json(
    { object: "list", data },
    {
      headers: { "X-Request-Id": exchange.requestId, "Request-Id": exchange.requestId },
    },
  );
}

function onlyGateway({ snapshot }: Exchange): CompiledGateway {
  if (snapshot.gateways.size > 1) {
    throw new GatehouseError(
      "ambiguous_gateway",
      "There are several gateways. Send the Host or an API key of one of them.",
    );
  }
  if (snapshot.onlyGateway === null)
    throw new GatehouseError("rule_not_found", "There is no gateway yet. Create one with the Admin API.");
  return snapshot.onlyGateway;
}
