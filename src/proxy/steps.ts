// The steps of a request before the upstream attempt, in order. The request handler and explain run the same list; what
// differs between them is in StepParts.
import { GatehouseError } from "../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import { rejectInvalidHost } from "../http/host-field.ts";
import type { IncomingBody } from "../http/incoming-body.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { requireAllowedModel } from "./allowed-models.ts";
import type { ClientAddressPart } from "./attempt.ts";
import { authenticate } from "./authenticate.ts";
import { preflightResponse } from "./cors.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { Exchange } from "./exchange.ts";
import { requireInspectedBody, requireInspectedSocket } from "./guarded-uploads.ts";
import { estimateWithoutEndpoint } from "./estimate-tokens.ts";
import { reserveBudgets, type ClaimParts } from "./limits/reserve-claims.ts";
import { describeModels, isModelListRequest, isRead, listModels } from "./list-models.ts";
import { matchedGateway, matchedRule, matchRule, type Matched } from "./match-rule.ts";
import type { LazyMcp } from "./mcp/load-mcp.ts";
import { acceptMcpToken, checkMcpRequest, readMcpMessages } from "./mcp/mcp-steps.ts";
import { respondWithResourceMetadata, type ResourceParts } from "./mcp/resource-metadata.ts";
import { asksForTokenCount, endpointOf, requireAllowedBody, requireAllowedEndpoint } from "./operation.ts";
import { ClientHandshake } from "./realtime/client-handshake.ts";
import { fieldsOfQuery } from "./realtime/handshake-query.ts";
import {
  rejectForeignOrigin,
  requestsWebSocket,
  ruleForRejection,
  servesWebSocket,
  upgradeRequired,
} from "./realtime/upgrade.ts";
import { bodyLimitsFor, startRequestBody, takeRequestBody, type UploadLimits } from "./read-body.ts";
import { scanReplacedBody } from "./scan-body.ts";
import { gatewayOfHost, resolveGateway } from "./resolve-gateway.ts";
import { finishPlugins, type FinalRequestPart } from "./reuse/run-final-request.ts";
import type { IdSeal } from "./stored-ids/id-seal.ts";
import { resolveVirtualModel, selectTargets } from "./virtual-models/resolve-model.ts";
import { openRequestIds } from "./stored-ids/open-request-ids.ts";

export interface StepParts
  extends UploadLimits, ClaimParts, ClientAddressPart, FinalRequestPart, ResourceParts {
  readonly idSeal: IdSeal;
  readonly mcp: LazyMcp;
  readonly requireApiKey: boolean;
  /** The gateway of a request that has no Host header. Explain sets the gateway in question; when serving it is null. */
  readonly gatewayWithoutHost: CompiledGateway | null;
  /** The API key that an explained request is assumed to have sent; when serving it is null. */
  readonly assumedKeyId: string | null;
  /** Called when the rule is known. Serving starts telemetry and body capture here. */
  readonly onRuleMatched: (exchange: Exchange, gateway: CompiledGateway, rule: CompiledRule) => void;
  /** Called when the client may use the rule. Serving limits concurrency, and watches for a disconnect and the total timeout. */
  readonly onAuthenticated: (exchange: Exchange, rule: CompiledRule) => void;
  /** Runs the before_body hooks of plugins if the body is still arriving. Returns the response of a plugin, or null. */
  readonly runBeforeBody: (exchange: Exchange) => OutgoingResponse | null;
  /** Called if the gateway has a game day. Serving finds out whether it affects the request. */
  readonly enterGameDay: (exchange: Exchange) => ValueOrPromise<null>;
  /** Runs the pre_request plugins. Returns the response of a plugin, or null. Explain runs them without side effects. */
  readonly runPreRequest: (exchange: Exchange, chain: PluginChain) => ValueOrPromise<OutgoingResponse | null>;
}

/**
 * Returns a response that ends the request, or null to continue with the next step. Throws to end the request with an
 * error. Returns a promise only if it has to wait.
 */
type Step = (exchange: Exchange, parts: StepParts) => ValueOrPromise<OutgoingResponse | null>;

export const STEPS: readonly Step[] = [
  checkHostAndPath,
  requireConfiguration,
  respondToPreflight,
  respondWithResourceMetadata,
  readHandshake,
  findGateway,
  rejectUpgrade,
  respondWithModelList,
  findRule,
  acceptMcpToken,
  checkApiKey,
  checkMcpRequest,
  findOperation,
  checkHandshake,
  startBody,
  finishBody,
  readMcpMessages,
  checkOperation,
  checkModel,
  requireInspectedBody,
  findGameDay,
  runPlugins,
  scanBodyOfPlugin,
  // Plugins may have replaced the body.
  readMcpMessages,
  checkOperationOfPlugin,
  findVirtualModel,
  openStoredIds,
  selectVirtualTargets,
  finishPlugins,
  respondWithTokenEstimate,
  // Last: the model and the body are those that are sent. Without plugins with limits, budgets are reserved only here.
  reserveBudgets,
];

function checkHostAndPath({ request, pathProblem }: Exchange): null {
  rejectInvalidHost(request.headers.get("host"));
  if (pathProblem !== null) throw new GatehouseError("invalid_path", pathProblem);
  return null;
}

function requireConfiguration({ snapshot }: Exchange): null {
  if (snapshot.revision < 0) throw new GatehouseError("not_ready", "The configuration is not loaded yet.");
  return null;
}

/** Before the gateway is found: a preflight request has no API key. */
function respondToPreflight(exchange: Exchange, { baseDomain }: StepParts): OutgoingResponse | null {
  if (exchange.method !== "OPTIONS" || exchange.snapshot.gatewaysByCors.size === 0) return null;
  return preflightResponse(exchange, gatewayOfHost(exchange, baseDomain));
}

/** Before the gateway is found: a WebSocket may have its API key in the handshake. */
function readHandshake(exchange: Exchange): null {
  if (requestsWebSocket(exchange)) exchange.handshake = new ClientHandshake(exchange.request.headers);
  return null;
}

/** Sets the gateway even if no rule of it matches later: the request is counted for this gateway. */
function findGateway(exchange: Exchange, parts: StepParts): null {
  const { baseDomain, gatewayWithoutHost, assumedKeyId } = parts;
  const hasHost = gatewayWithoutHost === null || exchange.request.headers.has("host");
  exchange.gateway =
    resolveGateway(exchange, baseDomain, assumedKeyId) ?? (hasHost ? null : gatewayWithoutHost);
  return null;
}

/** Before the rule is matched: the rule of an HTTP endpoint may not allow GET, and clients fall back to HTTP only on 426. */
function rejectUpgrade(exchange: Exchange, parts: StepParts): null {
  if (exchange.handshake === null || servesWebSocket(exchange)) return null;
  const matched = ruleForRejection(exchange);
  if (matched !== null) useRule(exchange, matched, parts);
  throw upgradeRequired();
}

function respondWithModelList(exchange: Exchange, { requireApiKey }: StepParts): OutgoingResponse | null {
  const { gateway } = exchange;
  return isModelListRequest(exchange, gateway) ? listModels(exchange, gateway, requireApiKey) : null;
}

function findRule(exchange: Exchange, parts: StepParts): null {
  useRule(exchange, matchRule(exchange, exchange.gateway), parts);
  return null;
}

function useRule(exchange: Exchange, { gateway, rule }: Matched, parts: StepParts): void {
  exchange.gateway = gateway;
  exchange.rule = rule;
  parts.onRuleMatched(exchange, gateway, rule);
}

function checkApiKey(exchange: Exchange, parts: StepParts): null {
  const rule = matchedRule(exchange);
  authenticate(exchange.apiKey, rule, parts.requireApiKey);
  parts.onAuthenticated(exchange, rule);
  return null;
}

/** Responds to requests for models: the key decides which they are, and the targets need not list them. */
function findOperation(exchange: Exchange): OutgoingResponse | null {
  const rule = matchedRule(exchange);
  const endpoint = endpointOf(exchange, rule);
  exchange.endpoint = endpoint;
  if (endpoint === null) return null;
  requireAllowedEndpoint(exchange, rule);
  const isModels = endpoint.operation === "models" && isRead(exchange.method);
  return isModels ? describeModels(exchange, matchedGateway(exchange), endpoint.tail) : null;
}

/** A realtime endpoint runs a model, like those whose requests have a body. */
function checkOperation(exchange: Exchange): null {
  if (exchange.handshake === null) requireAllowedBody(exchange, matchedRule(exchange));
  return null;
}

/** The query of a handshake names the model, as the body of other requests does. */
function checkHandshake(exchange: Exchange): null {
  const { handshake, sentQuery } = exchange;
  if (handshake === null) return null;
  handshake.check();
  rejectForeignOrigin(exchange);
  requireInspectedSocket(matchedRule(exchange));
  exchange.fields = fieldsOfQuery(sentQuery);
  return null;
}

function startBody(exchange: Exchange, parts: StepParts): null {
  startRequestBody(exchange, matchedRule(exchange), bodyLimitsFor(exchange, parts));
  return null;
}

function finishBody(exchange: Exchange, parts: StepParts): ValueOrPromise<OutgoingResponse | null> {
  const { incomingBody, upload } = exchange;
  if (upload !== null) {
    exchange.bodyMs = exchange.clock.now() - exchange.startedAt;
    return parts.runBeforeBody(exchange);
  }
  // Most bodies arrive together with the request headers.
  if (incomingBody === null || incomingBody.isComplete) return useBody(exchange, parts);
  return parts.runBeforeBody(exchange) ?? waitForBody(exchange, incomingBody, parts);
}

async function waitForBody(exchange: Exchange, incomingBody: IncomingBody, parts: StepParts): Promise<null> {
  const body = incomingBody.received();
  const { totalTimeout } = exchange;
  await (totalTimeout === null ? body : Promise.race([body, totalTimeout]));
  return useBody(exchange, parts);
}

function useBody(exchange: Exchange, { offLoop }: StepParts): ValueOrPromise<null> {
  if (exchange.isClientDisconnected) throw new UpstreamError("client_left");
  const body = exchange.incomingBody?.take() ?? null;
  // Captured before it is validated: an operator wants to see the body that was rejected.
  exchange.bodies?.takeRequest(body);
  const taken = body === null ? undefined : takeRequestBody(exchange, body, matchedRule(exchange), offLoop);
  exchange.bodyMs = exchange.clock.now() - exchange.startedAt;
  return isPromise(taken) ? taken.then(() => null) : null;
}

/** The model that is sent to a target is checked when the target is chosen: it may be another one. */
function checkModel(exchange: Exchange): null {
  const allowed = exchange.apiKey?.models ?? null;
  if (allowed !== null && exchange.mcp === null) requireAllowedModel(exchange, allowed);
  return null;
}

/** Before limits are reserved: a fault may be that Redis is unavailable. */
function findGameDay(exchange: Exchange, parts: StepParts): ValueOrPromise<null> {
  const hasGameDay = exchange.gateway !== null && exchange.gateway.gameDays !== null;
  return hasGameDay ? parts.enterGameDay(exchange) : null;
}

function runPlugins(exchange: Exchange, parts: StepParts): ValueOrPromise<OutgoingResponse | null> {
  const chain = exchange.gateway?.chain ?? null;
  if (chain === null || (chain.pre_request === null && chain.shadows === null)) return null;
  return parts.runPreRequest(exchange, chain);
}

function scanBodyOfPlugin(exchange: Exchange, parts: StepParts): ValueOrPromise<null> {
  const { body, path, sentPath } = exchange;
  if (sentPath !== path) {
    exchange.endpoint = endpointOf(exchange, matchedRule(exchange));
    if (exchange.upload !== null) return collectUpload(exchange, parts);
    // The path may name the model.
    if (body !== null) exchange.setBody(body);
  }
  return body === null || !body.isUnscanned ? null : scanReplacedBody(exchange, body, parts.offLoop);
}

/** Reads a body that was to be forwarded: a plugin has changed the path, and the operation of the new one may need the body. */
function collectUpload(exchange: Exchange, parts: StepParts): ValueOrPromise<null> {
  const body = exchange.request.readBody(bodyLimitsFor(exchange, parts));
  exchange.upload = null;
  exchange.incomingBody = body;
  return body === null ? null : waitForBody(exchange, body, parts);
}

/** Plugins may have changed path and body. */
function checkOperationOfPlugin(exchange: Exchange): null {
  if (exchange.sentPath !== exchange.path) requireAllowedEndpoint(exchange, matchedRule(exchange));
  return checkOperation(exchange);
}

/** After the plugins, which may have changed the model. */
function findVirtualModel(exchange: Exchange): null {
  const rule = matchedRule(exchange);
  if (rule.virtualModels !== null) resolveVirtualModel(exchange, rule);
  return null;
}

/** After the ids of stored objects are known, which decide about the targets. */
function selectVirtualTargets(exchange: Exchange, parts: StepParts): ValueOrPromise<null> {
  return exchange.route === null ? null : selectTargets(exchange, exchange.route, parts);
}

/** After the plugins, which see the ids of the client. */
function openStoredIds(exchange: Exchange, parts: StepParts): ValueOrPromise<null> {
  return openRequestIds(exchange, matchedRule(exchange), parts);
}

/** After the plugins, so that limits apply and the body is the one that would be sent. */
function respondWithTokenEstimate(
  exchange: Exchange,
  { offLoop, budgetAccounts }: StepParts,
): ValueOrPromise<OutgoingResponse | null> {
  if (!asksForTokenCount(exchange)) return null;
  return estimateWithoutEndpoint(exchange, matchedRule(exchange), { offLoop, budgetAccounts });
}
