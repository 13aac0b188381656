// Handles one request of the data plane: runs STEPS, makes the upstream attempt, relays its response. Owns the only
// try/catch around them.
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { ClientRequest } from "../http/server/client-request.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { BudgetBook } from "../runtime/budget-book.ts";
import type { CanaryWatch } from "../runtime/canary-watch.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { GameDays } from "../runtime/game-days/game-days.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Observation } from "../telemetry/observation.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { SilentServers } from "../mcp/silent-servers.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import { rejectByKnownBudgets } from "./budgets/known-refusals.ts";
import { Reservations } from "./budgets/reservations.ts";
import { attempt, prepareTranslations, translationTasks } from "./attempt.ts";
import { beginCapture, captureMaskedRequest, captureUpstreamResponse } from "./capture-bodies.ts";
import { addCorsHeaders } from "./cors.ts";
import { Exchange } from "./exchange.ts";
import { toGatehouseError } from "./fail.ts";
import { finish } from "./finish.ts";
import type { DrainedCalls } from "./drained-calls.ts";
import { enterGameDay } from "./enter-game-day.ts";
import { earlyStream, type EarlyParts } from "./hedging/early-stream.ts";
import type { OpenMirrors } from "./mirroring/open-mirrors.ts";
import type { MirrorParts } from "./mirroring/mirror-parts.ts";
import { relayMirrored } from "./mirroring/relay-mirrored.ts";
import { observeRule } from "./observe-rule.ts";
import type { ShadowParts } from "./shadow/shadow-pre-request.ts";
import type { InFlightLimits } from "./in-flight-limits.ts";
import { LazyMcp } from "./mcp/load-mcp.ts";
import { serveMcpService } from "./mcp/mcp-steps.ts";
import type { ResourceParts } from "./mcp/resource-metadata.ts";
import { OwnCredentials } from "./own-credentials.ts";
import { createCallService } from "./plugin-calls/begin-call.ts";
import { createRepeatedLimits } from "./limits/repeated-limits.ts";
import { afterDecisions, requireDecisions } from "./held-decisions.ts";
import { openSocket } from "./realtime/open-socket.ts";
import type { OpenSockets } from "./realtime/open-sockets.ts";
import type { SocketParts } from "./realtime/socket-relay.ts";
import { relay } from "./relay.ts";
import { respondWithError, respondWithoutUpstream } from "./respond.ts";
import { INLINE_RUNNERS } from "./inline-runners.ts";
import type { TargetResponse } from "./target-response.ts";
import { isLarge } from "./translations.ts";
import { STEPS, type StepParts } from "./steps.ts";
import { IdSeal } from "./stored-ids/id-seal.ts";
import { attemptRoute, routeTranslationTasks } from "./virtual-models/attempt-route.ts";

export interface DataPlaneParts extends ResourceParts, ShadowParts {
  readonly clock: Clock;
  readonly deadlines: CoarseDeadlines;
  readonly current: CurrentConfiguration;
  readonly log: Log;
  readonly secret: string;
  readonly requireApiKey: boolean;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  readonly bodyBudget: BodyBudget;
  readonly offLoop: OffLoop;
  readonly clientAddress: (exchange: Exchange) => string;
  readonly recordKeyUse: (apiKeyId: string, unixNow: number) => void;
  readonly inFlight: InFlightLimits;
  readonly isDraining: () => boolean;
  readonly observation: Observation;
  readonly usageTotals: UsageTotals;
  readonly budgetBook: BudgetBook;
  readonly upstreamPool: UpstreamPool;
  readonly sockets: OpenSockets;
  readonly gameDays: GameDays;
  readonly canaries: CanaryWatch;
  readonly toolPins: ToolPins;
  readonly silentServers: SilentServers;
  readonly mirrors: OpenMirrors;
  readonly drainedCalls: DrainedCalls;
}

type ServingParts = StepParts & MirrorParts & SocketParts & ShadowParts;

export type DataPlane = (request: ClientRequest) => Promise<OutgoingResponse>;

export function createDataPlane(parts: DataPlaneParts): DataPlane {
  const { current, inFlight, observation, clock } = parts;
  const servingParts = createServingParts(parts);
  // Created once: a rejection must cost almost nothing when thousands of requests are rejected.
  const overloaded = new GatehouseError(
    "overloaded",
    `This process has ${inFlight.total} requests in flight (MAX_IN_FLIGHT). Retry later.`,
    { headers: { "Retry-After": "1", "Server-Timing": "total;dur=0.0" } },
  );
  return (request) => {
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    const { snapshot } = current;
    const mayBeCrossOrigin = snapshot.gatewaysByCors.size > 0;
    if (!inFlight.enter()) {
      const response = OutgoingResponse.error(overloaded, requestId);
      if (mayBeCrossOrigin && request.headers.has("origin"))
        addCorsHeaders(response, new Exchange(request, snapshot, requestId, clock));
      return Promise.resolve(response);
    }
    const exchange = new Exchange(request, snapshot, requestId, clock);
    observation.started();
    if (observation.tracer !== null) exchange.trace = observation.tracer.begin(request.headers);
    if (mayBeCrossOrigin || parts.isDraining())
      return handleWithHeaders(exchange, servingParts, mayBeCrossOrigin, parts.isDraining());
    return handle(exchange, servingParts);
  };
}

function createServingParts(parts: DataPlaneParts): ServingParts {
  const { observation, budgetBook } = parts;
  const reservations = new Reservations(budgetBook);
  let runFinal: ServingParts["runFinalRequest"] | null = null;
  let callService: ServingParts["callService"] = null;
  const servingParts: ServingParts = {
    log: parts.log,
    observation,
    recordKeyUse: parts.recordKeyUse,
    inFlight: parts.inFlight,
    shadowTurns: parts.shadowTurns,
    usageTotals: parts.usageTotals,
    reservations,
    budgetAccounts: budgetBook,
    reserveInLedger: (exchange, claims) => reservations.reserve(exchange, claims),
    repeatedLimits: createRepeatedLimits(budgetBook),
    onBudgetsDecided: (...decision) => reservations.decided(...decision),
    onBudgetRefusal: (exchange, budget) => reservations.countRefusal(exchange, budget),
    upstreamPool: parts.upstreamPool,
    sockets: parts.sockets,
    gameDays: parts.gameDays,
    enterGameDay: (exchange) => enterGameDay(exchange, parts),
    canaries: parts.canaries,
    mirrors: parts.mirrors,
    current: parts.current,
    baseDomain: parts.baseDomain,
    publicUrl: parts.publicUrl,
    requireApiKey: parts.requireApiKey,
    maxBodyBytes: parts.maxBodyBytes,
    maxUploadBytes: parts.maxUploadBytes,
    bodyBudget: parts.bodyBudget,
    offLoop: parts.offLoop,
    deadlines: parts.deadlines,
    ownCredentials: new OwnCredentials(parts.secret),
    idSeal: new IdSeal(parts.secret),
    mcp: createMcp(parts),
    clientAddress: parts.clientAddress,
    gatewayWithoutHost: null,
    assumedKeyId: null,
    onRuleMatched: (exchange, gateway, rule) => {
      exchange.observed = observeRule(observation, gateway, rule);
      if (gateway.gateway.log_bodies && observation.recordsBodies) beginCapture(exchange);
    },
    onAuthenticated: (exchange, rule) => {
      exchange.authMs = exchange.clock.now() - exchange.startedAt;
      parts.inFlight.admit(exchange);
      watchClientAndTotalTime(exchange, rule, parts);
    },
    runBeforeBody: (exchange) => {
      const links = exchange.gateway?.chain?.beforeBody ?? [];
      const response = INLINE_RUNNERS.before_body(exchange, links, servingParts);
      if (response === null) rejectByKnownBudgets(exchange, servingParts);
      return response;
    },
    runFinalRequest: (...run) => (runFinal ??= INLINE_RUNNERS.final_request(servingParts))(...run),
    runPreRequest: (exchange, chain) => INLINE_RUNNERS.pre_request(exchange, chain, servingParts),
    callService: (...call) => (callService ??= createCallService(servingParts))(...call),
  };
  return servingParts;
}

function createMcp({ upstreamPool: upstream, toolPins: pins, log, ...parts }: DataPlaneParts): LazyMcp {
  const { current, requireApiKey, silentServers: silences, offLoop, bodyBudget } = parts;
  return new LazyMcp({
    ...parts,
    serving: { upstream, pins, silences, log, current, requireApiKey, offLoop, bodyBudget },
  });
}

function watchClientAndTotalTime(
  exchange: Exchange,
  { upstream }: CompiledRule,
  { drainedCalls }: DataPlaneParts,
): void {
  exchange.drainedCalls = drainedCalls;
  exchange.request.disconnectListener = exchange;
  const { total } = upstream.timeouts;
  if (total !== null) exchange.startTotalTimeout(total);
}

/** Handles a request whose response gets headers that most responses do not need. */
async function handleWithHeaders(
  exchange: Exchange,
  parts: ServingParts,
  mayBeCrossOrigin: boolean,
  isDraining: boolean,
): Promise<OutgoingResponse> {
  const response = await handle(exchange, parts);
  if (mayBeCrossOrigin) addCorsHeaders(response, exchange);
  // Makes the client open its next connection to another process.
  if (isDraining) response.headers.set("Connection", "close");
  return response;
}

/**
 * Every async function and every await costs each request measurable CPU time. Therefore one function runs the steps and
 * what follows them, and it awaits only what is a promise: for most requests one turn of the event loop and the attempt.
 */
async function handle(exchange: Exchange, parts: ServingParts): Promise<OutgoingResponse> {
  try {
    for (const step of STEPS) {
      const result = step(exchange, parts);
      const response = isPromise(result) ? await result : result;
      if (response !== null)
        return exchange.reused !== null && exchange.reused.flight !== null
          ? response
          : respondWithoutUpstream(exchange, response, parts);
    }
    const { rule, observed } = exchange;
    if (rule === null || observed === null) throw new Error("the steps ended without a rule");
    const { mcp: service } = rule;
    if (service !== null) {
      if (exchange.pluginWork !== null) await requireDecisions(exchange.pluginWork);
      return await serveMcpService(exchange, service, parts);
    }
    const { route, body } = exchange;
    if (exchange.bodies !== null) captureMaskedRequest(exchange.bodies, exchange);
    if (isLarge(body)) {
      const tasks =
        route === null ? translationTasks(exchange, rule) : routeTranslationTasks(exchange, route);
      await prepareTranslations(exchange, body, tasks, parts);
    }
    // The client may have disconnected, or the total timeout expired, while plugins ran.
    if (exchange.isOver)
      throw new UpstreamError(exchange.isClientDisconnected ? "client_left" : "total_timeout");
    const started =
      route === null ? attempt(exchange, rule, observed, parts) : attemptRoute(exchange, route, parts);
    const { pluginWork } = exchange;
    const attempted = pluginWork === null ? started : afterDecisions(exchange, pluginWork, started, parts);
    if (rule.upstream.hedge !== null) {
      const early = await earlyStream(exchange, rule, earlyParts(exchange, attempted, parts));
      if (early !== null) return early;
    }
    const upstreamResponse = await attempted;
    const { writer } = upstreamResponse.upstreamResponse;
    if (writer !== null) return openSocket(exchange, upstreamResponse, writer, parts);
    if (exchange.bodies !== null) captureUpstreamResponse(exchange.bodies, upstreamResponse);
    const relayed = relayResponse(exchange, upstreamResponse, parts);
    return isPromise(relayed) ? await relayed : relayed;
  } catch (error) {
    return respondWithError(exchange, error, parts);
  }
}

function relayResponse(
  exchange: Exchange,
  response: TargetResponse,
  parts: ServingParts,
): ValueOrPromise<OutgoingResponse> {
  const { route } = exchange;
  return route === null || route.model.mirror === null
    ? relay(exchange, response, parts)
    : relayMirrored(exchange, response, route, route.model.mirror, parts);
}

function earlyParts(exchange: Exchange, attempted: Promise<TargetResponse>, parts: ServingParts): EarlyParts {
  return {
    attempted,
    deadlines: parts.deadlines,
    relay: (response) => {
      if (exchange.bodies !== null) captureUpstreamResponse(exchange.bodies, response);
      return relayResponse(exchange, response, parts);
    },
    fail: (cause) => {
      const error = toGatehouseError(cause, exchange.requestId, parts.log);
      const outcome = exchange.request.isDisconnected ? "client_left" : "incomplete";
      exchange.errorCode = error.code;
      finish(exchange, outcome, 200, exchange.clock.now(), parts);
      return error;
    },
  };
}
