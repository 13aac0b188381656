// The data plane's table of contents: every step that a request walks, in order, and the one try/catch around them.
import type { Server } from "bun";
import type { BlockList } from "node:net";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import type { RequestTarget } from "../http/request-target.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { Log } from "../telemetry/log/log.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import type { Observation } from "../telemetry/observation.ts";
import { attempt } from "./attempt.ts";
import { authenticate } from "./authenticate.ts";
import { createClientAddress } from "./client-address.ts";
import { beginCapture, captureResponse, captureHead } from "./capture-bodies.ts";
import { createClientCredentials } from "./client-credential.ts";
import { Exchange } from "./exchange.ts";
import { CLIENT_LEFT_STATUS, fail } from "./fail.ts";
import { finish } from "./finish.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { isModelListRequest, listModels } from "./list-models.ts";
import { matchRule } from "./match-rule.ts";
import { nextTurn } from "./next-turn.ts";
import { observeRule } from "./observe-rule.ts";
import { beginRequestBody, bodyNeedsOf, takeRequestBody } from "./read-body.ts";
import { relay } from "./relay.ts";
import { runPreRequest } from "./run-plugins.ts";
import { rejectInvalidHost, resolveGateway } from "./resolve-gateway.ts";

export interface DataPlaneParts {
  readonly current: CurrentConfiguration;
  readonly log: Log;
  readonly secret: string;
  readonly baseDomain: string | null;
  readonly requireApiKey: boolean;
  readonly maxBodyBytes: number;
  readonly trustedProxies: BlockList;
  readonly recordKeyUse: (apiKeyId: string) => void;
  readonly inFlight: ConcurrencyLimit;
  readonly isDraining: () => boolean;
  readonly observation: Observation;
  readonly usageTotals: UsageTotals;
  readonly upstreamPool: UpstreamPool;
}

/** Made once: a refusal must cost next to nothing when they come by the thousand. */
const OVERLOADED = new GatehouseError(
  "overloaded",
  "This process has more requests in flight than it takes.",
  {
    headers: { "Retry-After": "1" },
  },
);

export type DataPlane = (
  request: Request,
  server: Server<undefined>,
  target: RequestTarget,
) => Promise<Response>;

export function createDataPlane(parts: DataPlaneParts): DataPlane {
  const { current, log, inFlight, observation } = parts;
  const stepParts = {
    log,
    observation,
    recordKeyUse: parts.recordKeyUse,
    inFlight,
    usageTotals: parts.usageTotals,
    upstreamPool: parts.upstreamPool,
    maxBodyBytes: parts.maxBodyBytes,
    clientCredentials: createClientCredentials(parts.secret),
    clientAddress: createClientAddress(parts.trustedProxies),
  };

  return (request, server, target) => {
    // From here on the deadlines are ours: a model may think for longer than the runtime waits.
    server.timeout(request, 0);
    const requestId = requestIdFrom(request.headers.get("x-request-id"));
    if (!inFlight.enter()) return Promise.resolve(errorResponse(OVERLOADED, requestId));
    const exchange = new Exchange(request, server, current.snapshot, requestId, target);
    observation.started();
    if (observation.tracer !== null) exchange.trace = observation.tracer.begin(request.headers);
    return parts.isDraining() ? answerAndClose(exchange) : walk(exchange);
  };

  /** Who keeps the connection would meet a closed one with its next request. */
  async function answerAndClose(exchange: Exchange): Promise<Response> {
    const response = await walk(exchange);
    response.headers.set("Connection", "close");
    return response;
  }

  /** The steps in their order. One function on purpose: every further one that waits costs a request as much as a step. */
  async function walk(exchange: Exchange): Promise<Response> {
    try {
      const { request, snapshot } = exchange;
      rejectInvalidHost(request.headers.get("host"));
      if (snapshot.revision < 0)
        throw new GatehouseError("not_ready", "The configuration is not loaded yet.");
      const named = resolveGateway(exchange, parts.baseDomain);
      // A request that comes to no rule is still one of this gateway's.
      exchange.gateway = named;
      if (isModelListRequest(exchange, named)) {
        const response = listModels(exchange, named, parts.requireApiKey);
        finish(exchange, "complete", response.status, stepParts);
        return response;
      }
      const { gateway, rule } = matchRule(exchange, named);
      exchange.gateway = gateway;
      exchange.rule = rule;
      const observed = observeRule(observation, gateway, rule);
      exchange.observed = observed;
      if (gateway.gateway.log_bodies && observation.requests.isOn) beginCapture(exchange);
      authenticate(exchange.apiKey, rule, parts.requireApiKey);
      request.signal.addEventListener("abort", exchange);
      const { chain } = gateway;
      const { total } = rule.upstream.timeouts;
      const totalIsUp = total === null ? null : exchange.limitTotal(total);
      const arriving = beginRequestBody(exchange, parts.maxBodyBytes);
      // Nothing is done for a request whose client is told 400 for what stands behind it.
      await nextTurn();
      // Most bodies have come along with their head.
      if (arriving !== null && arriving.bytes === null) {
        const body = arriving.received();
        await (totalIsUp === null ? body : Promise.race([body, totalIsUp]));
        await nextTurn();
      }
      if (exchange.isClientDisconnected) throw new UpstreamError("client_left");
      const body = arriving?.bytes ?? null;
      if (body !== null) takeRequestBody(exchange, body, bodyNeedsOf(gateway, rule));
      exchange.bodyMs = performance.now() - exchange.startedAt;
      exchange.bodies?.takeRequest(exchange.body);
      if (chain !== null && chain.pre_request !== null) {
        const ran = runPreRequest(exchange, chain, stepParts);
        const answered = ran instanceof Promise ? await ran : ran;
        if (answered !== null) {
          if (exchange.bodies !== null) await captureResponse(exchange.bodies, exchange, answered);
          finish(exchange, "complete", answered.status, stepParts);
          return answered;
        }
        // A plugin may have taken its time; nobody is asked for a client that has left, or whose time is up.
        if (exchange.isOver)
          throw new UpstreamError(exchange.isClientDisconnected ? "client_left" : "total_timeout");
      }
      const answer = await attempt(exchange, rule, observed, stepParts);
      if (exchange.bodies !== null) captureHead(exchange.bodies, answer);
      const relayed = relay(exchange, answer, stepParts);
      return relayed instanceof Promise ? await relayed : relayed;
    } catch (error) {
      return answerFault(exchange, error);
    }
  }

  /** Whatever went wrong on the way ends here. */
  async function answerFault(exchange: Exchange, error: unknown): Promise<Response> {
    const hasLeft = exchange.request.signal.aborted;
    const response = hasLeft
      ? new Response(null, { status: CLIENT_LEFT_STATUS })
      : fail(error, exchange, log);
    if (exchange.bodies !== null) await captureResponse(exchange.bodies, exchange, response);
    finish(exchange, hasLeft ? "client_left" : "failed", response.status, stepParts);
    return response;
  }
}
