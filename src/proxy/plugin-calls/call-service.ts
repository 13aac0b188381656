// Sends a request of a plugin to a service of its gateway: as a request of its own, which runs no plugins. Loaded with the first call.
import { GatehouseError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import type { ClientRequest } from "../../http/server/client-request.ts";
import { ServiceCallError, type ServiceRequest, type ServiceResponse } from "../../sdk/index.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Observation } from "../../telemetry/observation.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import { readWholeBody } from "../../upstream/read-whole-body.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { tapResponse } from "../../usage/usage-tap.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import { attempt, prepareTranslations, translationTasks, type AttemptParts } from "../attempt.ts";
import { healthResultOf } from "../balancer-report.ts";
import type { PlanParts } from "../budgets/plan-budgets.ts";
import type { Reservations } from "../budgets/reservations.ts";
import { reserveForGateway } from "../budgets/reserve-for-gateway.ts";
import { Exchange } from "../exchange.ts";
import { HeadersView } from "../header-views.ts";
import { finishHedge } from "../hedging/unused-attempt.ts";
import { observeRule } from "../observe-rule.ts";
import { endpointOf, requireAllowedBody, requireAllowedEndpoint } from "../operation.ts";
import { checkBytes, checkHeaderName, checkHeaderValue } from "../plugin-values.ts";
import { addToTotals, hasUsage, settleReceived } from "../record-usage.ts";
import { scanBody } from "../scan-body.ts";
import type { TargetResponse } from "../target-response.ts";
import { translateWholeBody } from "../translate-response.ts";
import { parseJson } from "../translate-whole.ts";
import { isLarge } from "../translations.ts";
import { settleWithoutResponse } from "../usage-without-response.ts";
import { attemptRoute, routeTranslationTasks } from "../virtual-models/attempt-route.ts";
import { finishRoute, type CanaryPart } from "../virtual-models/finish-route.ts";
import { resolveVirtualModel, selectTargets } from "../virtual-models/resolve-model.ts";
import { ruleOfService } from "./service-rule.ts";

const DEFAULT_PATH = "/v1/chat/completions";
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

export interface ServiceCallParts extends AttemptParts, PlanParts, CanaryPart {
  readonly observation: Observation;
  readonly reservations: Reservations;
  readonly usageTotals: UsageTotals;
  readonly maxBodyBytes: number;
}

interface ServiceCall {
  /** The request on which the plugin runs. */
  readonly caller: Exchange;
  readonly service: string;
  readonly request: ServiceRequest;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Rejects with a ServiceCallError if there is no response. */
export async function callService(call: ServiceCall, parts: ServiceCallParts): Promise<ServiceResponse> {
  const { caller, signal, timeoutMs } = call;
  const exchange = await exchangeFor(call, parts);
  const abort = () => exchange.abort(new UpstreamError("abandoned"));
  let hasTimedOut = false;
  const timer = caller.clock.setTimeout(() => {
    hasTimedOut = true;
    abort();
  }, timeoutMs);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  let outcome: Outcome = "failed";
  try {
    const response = await receive(exchange, await send(exchange, parts), parts);
    outcome = "complete";
    return response;
  } catch (error) {
    if (signal.aborted) throw new ServiceCallError("aborted", "the call was aborted", error);
    if (hasTimedOut) throw new ServiceCallError("timeout", `no response within ${timeoutMs} ms`, error);
    throw toCallError(error);
  } finally {
    signal.removeEventListener("abort", abort);
    timer.close();
    record(exchange, caller, outcome, parts);
  }
}

function toCallError(error: unknown): unknown {
  if (error instanceof GatehouseError)
    return new ServiceCallError(error.status < 500 ? "invalid" : "unavailable", error.message, error);
  if (error instanceof UpstreamError)
    return new ServiceCallError("unavailable", `no target responded: ${error.kind}`, error);
  return error;
}

async function exchangeFor(
  { caller, service, request }: ServiceCall,
  parts: ServiceCallParts,
): Promise<Exchange> {
  const { gateway, snapshot, clock } = caller;
  if (gateway === null) throw new Error("the request has no gateway");
  const rule = ruleOfService(gateway, service);
  try {
    const exchange = new Exchange(new CallRequest(request), snapshot, newId(), clock);
    if (exchange.pathProblem !== null) throw new ServiceCallError("invalid", exchange.pathProblem);
    exchange.clientAddress = parts.clientAddress(caller);
    exchange.gateway = gateway;
    exchange.rule = rule;
    exchange.endpoint = endpointOf(exchange, rule);
    requireAllowedEndpoint(exchange, rule);
    const { body: given } = request;
    const isRaw = typeof given === "string" || given instanceof Uint8Array;
    const bytes = checkBytes("a body", isRaw ? given : JSON.stringify(given), parts.maxBodyBytes);
    const source = { bytes, isJson: true, contentType: "application/json", isTraced: false };
    exchange.setBody(await scanBody(source, parts.offLoop));
    requireAllowedBody(exchange, rule);
    if (exchange.fields.wantsStream)
      throw new ServiceCallError("invalid", "a plugin cannot read a stream; leave out `stream`");
    return exchange;
  } catch (error) {
    throw toCallError(error);
  }
}

async function send(exchange: Exchange, parts: ServiceCallParts): Promise<TargetResponse> {
  const rule = ruleOf(exchange);
  if (rule.virtualModels !== null) resolveVirtualModel(exchange, rule);
  const { route, body, gateway } = exchange;
  if (route !== null) await selectTargets(exchange, route, parts);
  if (!(await reserveForGateway(exchange, ruleOf(exchange), parts)))
    throw new ServiceCallError("budget", "a budget of the gateway has not enough left for the call");
  if (isLarge(body)) {
    const tasks =
      route === null ? translationTasks(exchange, ruleOf(exchange)) : routeTranslationTasks(exchange, route);
    await prepareTranslations(exchange, body, tasks, parts);
  }
  if (exchange.isOver || gateway === null) throw new UpstreamError("abandoned");
  if (route !== null) return attemptRoute(exchange, route, parts);
  exchange.observed = observeRule(parts.observation, gateway, rule);
  return attempt(exchange, rule, exchange.observed, parts);
}

/** Resolving a virtual model replaces the rule. */
function ruleOf({ rule }: Exchange): CompiledRule {
  if (rule === null) throw new Error("the call has no rule");
  return rule;
}

async function receive(
  exchange: Exchange,
  response: TargetResponse,
  parts: ServiceCallParts,
): Promise<ServiceResponse> {
  exchange.response = response;
  const { reader, translation, isStream, upstreamResponse, target, report } = response;
  const { status } = upstreamResponse;
  const tap = tapResponse(response);
  try {
    let body: Uint8Array | string =
      (reader === null ? response.body : await readWholeBody(reader, MAX_RESPONSE_BYTES)) ?? "";
    if (typeof body !== "string") {
      if (tap !== null) body = await tap.pushWhole(body);
      if (translation !== null)
        body = await translateWholeBody(
          translation,
          target,
          exchange,
          { body, isStream, status },
          parts.offLoop,
        );
    }
    settleReceived(exchange, response, tap, true, parts);
    report.end(healthResultOf(status), exchange.clock.now());
    const bytes = Buffer.from(body);
    const text = bytes.toString();
    return {
      status,
      headers: new HeadersView(upstreamResponse.headers),
      text,
      json: parseJson(bytes) ?? (text === "null" ? null : undefined),
    };
  } catch (error) {
    settleReceived(exchange, response, tap, false, parts);
    reader?.cancel();
    report.end(exchange.isOver ? "neutral" : "failed", exchange.clock.now());
    throw error;
  }
}

/** The client is not billed: the usage has its rule, but neither its API key nor its labels. */
function record(
  exchange: Exchange,
  { gateway, rule }: Exchange,
  outcome: Outcome,
  parts: ServiceCallParts,
): void {
  const { reservations, usageTotals } = parts;
  const failed = exchange.attempts === 0 ? null : settleWithoutResponse(exchange, parts);
  const { response, usage, costNanos, route, hedge, reserved } = exchange;
  const sent = response?.report.facts ?? failed;
  if (sent !== null && hasUsage(exchange)) {
    const call = { model: sent.model, provider: sent.target.provider, purpose: "plugin" } as const;
    addToTotals({ gateway, rule, apiKey: null }, call, usage, costNanos, usageTotals);
  }
  if (route !== null) finishRoute(exchange, route, outcome, exchange.clock.now(), parts);
  if (reserved !== null) reservations.settle(exchange, reserved, exchange.clock.now());
  if (hedge !== null) finishHedge(exchange, hedge, reservations, usageTotals);
  exchange.finished = true;
  exchange.release();
}

/** The request of a plugin, in the place of one that a listener received. */
class CallRequest implements ClientRequest {
  readonly method = "POST";
  readonly target: string;
  readonly headers = new HeaderFields();
  readonly peerAddress = "";
  readonly isDisconnected = false;
  disconnectListener = null;

  constructor({ path = DEFAULT_PATH, headers = {} }: ServiceRequest) {
    if (!path.startsWith("/"))
      throw new ServiceCallError("invalid", `the path must start with "/", got "${path}"`);
    this.target = path;
    for (const [name, value] of Object.entries(headers))
      this.headers.set(checkHeaderName(name), checkHeaderValue(value));
    this.headers.set("content-type", "application/json");
    // The plugin gets text.
    this.headers.set("accept-encoding", "identity");
  }

  readBody(): null {
    return null;
  }
}
