// Explains a request without doing anything: it walks the steps of handle.ts as far as the provider's door, counts
// nothing, calls nobody, and tells what each step said.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { Explain, Explanation } from "../model/explanation.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { Health } from "../telemetry/health.ts";
import { NO_LOG } from "../telemetry/log/log.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import { Observation } from "../telemetry/observation.ts";
import { requiresKey, authenticate } from "../proxy/authenticate.ts";
import { createClientAddress } from "../proxy/client-address.ts";
import { createClientCredentials } from "../proxy/client-credential.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { explainPlugins, type ExplainedChain } from "./explain-plugins.ts";
import { exchangeFor } from "./explain-request.ts";
import { explainRules } from "./explain-rules.ts";
import { explainTargets, type ExplainedAttempt } from "./explain-targets.ts";
import { toGatehouseError } from "../proxy/fail.ts";
import type { DataPlaneParts } from "../proxy/handle.ts";
import { isModelListRequest, listModels } from "../proxy/list-models.ts";
import { matchRule } from "../proxy/match-rule.ts";
import { beginRequestBody, bodyNeedsOf, takeRequestBody } from "../proxy/read-body.ts";
import { rejectInvalidHost, resolveGateway } from "../proxy/resolve-gateway.ts";
import { respondToReservedPath } from "../proxy/server.ts";

export type ExplainParts = Omit<
  DataPlaneParts,
  "recordKeyUse" | "usageTotals" | "inFlight" | "observation" | "upstreamPool" | "isDraining"
> & { readonly health: Health };

export function createExplain(parts: ExplainParts): Explain {
  // What fails in an explanation is told in the explanation, and what it counts is forgotten.
  const log = NO_LOG;
  const stepParts = {
    log,
    observation: new Observation(new Metrics(), log, { requestLogSize: 0, tracer: null }),
    maxBodyBytes: parts.maxBodyBytes,
    clientCredentials: createClientCredentials(parts.secret),
    clientAddress: createClientAddress(parts.trustedProxies),
  };

  return async (gatewayId, asked) => {
    const { snapshot } = parts.current;
    const meant = snapshot.gateways.get(gatewayId);
    if (meant === undefined) return null;
    const exchange = exchangeFor(asked, snapshot);
    exchange.gateway = meant;
    const walked: Walked = { chain: null, attempt: null, end: null };
    try {
      walked.end = await walk(exchange, meant, walked);
    } catch (error) {
      walked.end = toGatehouseError(error, exchange.requestId, parts.log);
    }
    return tell(exchange, walked);
  };

  /** The order is that of handle.ts. Resolves to what the gateway itself would answer, or null. */
  async function walk(exchange: Exchange, meant: CompiledGateway, walked: Walked): Promise<Response | null> {
    const { request } = exchange;
    const reserved = respondToReservedPath(request, exchange.path, parts.health);
    if (reserved !== null) return reserved;
    rejectInvalidHost(request.headers.get("host"));
    const resolved = resolveGateway(exchange, parts.baseDomain);
    // Nobody sends a request without a Host; whoever leaves it out here means this gateway.
    const named = resolved ?? (request.headers.has("host") ? null : meant);
    if (named !== null) exchange.gateway = named;
    if (isModelListRequest(exchange, named)) return listModels(exchange, named, parts.requireApiKey);
    const { gateway, rule } = matchRule(exchange, named);
    exchange.gateway = gateway;
    exchange.rule = rule;
    authenticate(exchange.apiKey, rule, parts.requireApiKey);
    const body = await beginRequestBody(exchange, parts.maxBodyBytes)?.received();
    if (body !== undefined) takeRequestBody(exchange, body, bodyNeedsOf(gateway, rule));
    walked.chain = await explainPlugins(exchange, gateway.chain, stepParts, true);
    if (walked.chain.end instanceof GatehouseError) throw walked.chain.end;
    if (walked.chain.end !== null) return walked.chain.end;
    walked.attempt = explainTargets(exchange, rule, stepParts);
    if (walked.attempt.fault !== null) throw walked.attempt.fault;
    return null;
  }

  async function tell(exchange: Exchange, { chain, attempt, end }: Walked): Promise<Explanation> {
    const { rule, gateway } = exchange;
    const error = end instanceof GatehouseError ? end : null;
    const notRun = await explainPlugins(exchange, gateway?.chain ?? null, stepParts, false);
    return {
      gateway: gateway === null ? null : { id: gateway.id, name: gateway.gateway.name },
      rule: rule === null ? null : { id: rule.id, name: rule.rule.name, path: rule.rule.path },
      rules: gateway === null ? [] : explainRules(exchange, gateway, rule, error),
      authentication: explainAuthentication(exchange, parts.requireApiKey, error),
      plugins: (chain ?? notRun).plugins,
      limits: chain?.limits ?? [],
      targets: attempt?.targets ?? [],
      upstream_request: attempt?.request ?? null,
      answer: end === null ? null : await answerOf(end),
    };
  }
}

/** How far the request came. */
interface Walked {
  chain: ExplainedChain | null;
  attempt: ExplainedAttempt | null;
  /** What the gateway itself would answer. */
  end: Response | GatehouseError | null;
}

const DENIALS: readonly string[] = ["invalid_api_key", "api_key_required", "rule_not_allowed"];

function explainAuthentication(
  { apiKey, rule, gateway }: Exchange,
  alwaysRequired: boolean,
  error: GatehouseError | null,
): Explanation["authentication"] {
  const required =
    rule === null
      ? alwaysRequired || gateway?.gateway.require_api_key === true
      : requiresKey(rule, alwaysRequired);
  const api_key = apiKey === null ? null : { id: apiKey.id, name: apiKey.name };
  if (error !== null && DENIALS.includes(error.code))
    return { required, api_key, verdict: "denied", reason: error.message };
  const reason =
    rule === null
      ? "no rule was reached that could ask for a key"
      : apiKey === null
        ? "no API key is asked for"
        : "the API key is valid for this rule";
  return { required, api_key, verdict: "allowed", reason };
}

async function answerOf(end: Response | GatehouseError): Promise<NonNullable<Explanation["answer"]>> {
  if (end instanceof GatehouseError) return { status: end.status, code: end.code, error: end.message };
  const body: unknown = await end.json().catch(() => null);
  const { code, error } = isJsonObject(body) ? body : {};
  return {
    status: end.status,
    code: typeof code === "string" ? code : null,
    error: typeof error === "string" ? error : null,
  };
}
