// Ends every request exactly once: records key and token usage, starts post_response plugins, and hands the facts to
// telemetry.
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { truncateText } from "../telemetry/truncate-text.ts";
import type { Observation } from "../telemetry/observation.ts";
import type { ObservedRule } from "../telemetry/metrics/observed-route.ts";
import type { AttemptFacts, RequestFacts, TokenFacts } from "../telemetry/requests/request-facts.ts";
import type { RequestSeries } from "../telemetry/metrics/request-series.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { Reservations } from "./budgets/reservations.ts";
import type { GameDays } from "../runtime/game-days/game-days.ts";
import type { Exchange } from "./exchange.ts";
import { countForGameDay } from "./enter-game-day.ts";
import { learnOutput } from "./hidden-output.ts";
import { CLIENT_DISCONNECTED_STATUS } from "./fail.ts";
import { finishHedge, hedgeFactsOf } from "./hedging/unused-attempt.ts";
import type { InFlightLimits } from "./in-flight-limits.ts";
import type { Usage } from "../usage/usage-accumulator.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { OffLoopPart } from "../off-loop/off-loop.ts";
import type { PluginParts } from "./plugin-call.ts";
import { runPostResponse } from "./run-plugins.ts";
import { SHADOW_RUNNERS } from "./shadow/shadow-runners.ts";
import type { WaitingCall } from "./shadow/shadow-request.ts";
import { finishRoute, routeFacts, type CanaryPart } from "./virtual-models/finish-route.ts";
import { settleWithoutResponse } from "./usage-without-response.ts";
import { hasUsage, NANOS_PER_DOLLAR, recordReuse, recordUsage } from "./record-usage.ts";

export interface FinishParts extends PluginParts, OffLoopPart, CanaryPart {
  readonly deadlines: CoarseDeadlines;
  readonly observation: Observation;
  readonly recordKeyUse: (apiKeyId: string, unixNow: number) => void;
  readonly inFlight: InFlightLimits;
  readonly usageTotals: UsageTotals;
  readonly reservations: Reservations;
  readonly gameDays: GameDays;
}

/** `now` is the time of the exchange's clock. */
export function finish(
  exchange: Exchange,
  ended: Outcome,
  sentStatus: number,
  now: number,
  parts: FinishParts,
): void {
  if (exchange.finished) return;
  exchange.finished = true;
  // The rest of the response was read for its usage only.
  const { drained } = exchange;
  const outcome = drained === null ? ended : "client_left";
  const status = drained === "waited" ? CLIENT_DISCONNECTED_STATUS : sentStatus;
  const failed = exchange.attempts === 0 ? null : settleWithoutResponse(exchange, parts);
  exchange.release();
  parts.inFlight.leave(exchange);
  const { apiKey, gateway, rule } = exchange;
  const unixNow = exchange.clock.unixNow();
  if (apiKey !== null && apiKey.user === null) parts.recordKeyUse(apiKey.id, unixNow);
  if (exchange.gameDay?.isAffected === true && exchange.handshake === null) {
    // Responses with an injected fault are not billed. Those of a WebSocket were recorded one by one.
    exchange.isUsageRecorded = true;
    exchange.costNanos = 0;
  }
  recordUsage(exchange, failed, parts.usageTotals);
  if (exchange.recording !== null) exchange.recording.end(exchange, outcome);
  if (exchange.reused !== null) recordReuse(exchange, exchange.reused, parts.usageTotals);
  if (exchange.route !== null) finishRoute(exchange, exchange.route, outcome, now, parts);
  if (exchange.attempts > 0) learnOutput(exchange, outcome, parts);
  if (exchange.reserved !== null) parts.reservations.settle(exchange, exchange.reserved, now);
  if (exchange.hedge !== null) finishHedge(exchange, exchange.hedge, parts.reservations, parts.usageTotals);
  if (gateway !== null && gateway.gameDays !== null)
    countForGameDay(exchange, parts.gameDays, outcome, status, now);
  const chain = gateway?.chain ?? null;
  if (chain !== null && chain.post_response !== null && rule !== null)
    runPostResponse(exchange, chain, parts, outcome, status);
  if (exchange.shadow !== null)
    SHADOW_RUNNERS.post_response(
      exchange,
      exchange.shadow,
      outcome,
      status,
      parts,
      new ShadowSettlement(exchange, parts),
    );
  if (drained !== null) exchange.drainedCalls?.ended(exchange);
  parts.observation.finished(factsOf(exchange, outcome, status, now, unixNow, parts.observation));
}

/** Settles what plugins in shadow mode have reserved for a request. */
class ShadowSettlement implements WaitingCall {
  readonly #exchange: Exchange;
  readonly #parts: FinishParts;

  constructor(exchange: Exchange, parts: FinishParts) {
    this.#exchange = exchange;
    this.#parts = parts;
  }

  run(): void {
    for (const { reserved, exchange } of this.#exchange.shadow?.reservations ?? [])
      this.#parts.reservations.settleShadow(this.#exchange, reserved, exchange.knownSize);
  }

  fail(error: unknown): void {
    this.#parts.log.error({ request_id: this.#exchange.requestId, err: error }, "shadow limits not settled");
  }
}

/** `endedAt` is a time of the exchange's clock. */
export function factsOf(
  exchange: Exchange,
  outcome: Outcome,
  status: number,
  endedAt: number,
  endedWallMs: number,
  { routes }: Observation,
): RequestFacts {
  const { apiKey, gateway, response, usage, observed, attemptFacts } = exchange;
  const finalAttempt = response?.report.facts ?? null;
  const isCut = outcome === "incomplete" && response?.isCutByPlugin !== true;
  closeAttempts(attemptFacts, isCut ? finalAttempt : null, endedAt);
  const gatewayName = gateway?.gateway.name ?? null;
  const observedGateway = routes.gateway(gateway, gatewayName ?? "");
  return {
    requestId: exchange.requestId,
    mirrorOf: exchange.mirrorOf,
    revision: exchange.snapshot.revision,
    method: exchange.method,
    path: truncateText(exchange.path),
    sentPath: truncateText(exchange.sentPath),
    operation: exchange.endpoint?.operation ?? null,
    hasMessages: exchange.fields.hasMessages,
    hasPrompt: exchange.fields.hasPrompt,
    gatewayId: gateway?.id ?? null,
    gatewayName,
    gateway: observedGateway,
    rule: observed,
    apiKeyId: apiKey?.id ?? null,
    apiKeyName: apiKey?.name ?? null,
    status,
    outcome,
    errorCode: exchange.errorCode,
    requestedModel: truncateText(exchange.route?.requested ?? exchange.fields.model),
    virtualModel: exchange.route === null ? null : routeFacts(exchange, exchange.route),
    mcp: exchange.mcp === null ? null : exchange.mcp.facts(),
    fault: exchange.gameDay?.isAffected === true ? exchange.gameDay.faults.join(", ") : null,
    isDrained: exchange.drained !== null,
    isStream: exchange.fields.wantsStream || response?.isStream === true,
    firstTokenAt: exchange.firstContent?.seenAt ?? null,
    relaysReasoning: exchange.firstContent?.kind === "reasoning",
    attempts: attemptFacts,
    hedge: exchange.hedge === null ? null : hedgeFactsOf(exchange.hedge),
    finalAttempt,
    tokens: usage === null ? null : tokensOf(usage, outcome),
    cost: exchange.costNanos === null ? null : exchange.costNanos / NANOS_PER_DOLLAR,
    isUnpriced: exchange.costNanos === null && hasUsage(exchange),
    isUsageCounted: exchange.isUsageRecorded,
    startedAt: exchange.startedAt,
    endedAt,
    endedWallMs,
    bodyMs: exchange.bodyMs,
    plugins: exchange.pluginRuns,
    shadow: exchange.shadow?.runs ?? null,
    bodies: exchange.bodies,
    trace: exchange.trace,
    sampling: exchange.fields.sampling,
    series: observed === null ? observedGateway.unmatched : seriesFor(observed, attemptFacts, finalAttempt),
  };
}

function tokensOf(usage: Usage, outcome: Outcome): TokenFacts {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cachedInput: usage.cachedInputTokens,
    cacheWrite: usage.cacheWrite5mTokens + usage.cacheWrite1hTokens,
    reasoning: usage.reasoningTokens,
    isPartial: usage.isPartial ?? outcome !== "complete",
  };
}

/** Attempts that are still open end with the request. `cut` is the attempt whose response the provider cut. */
function closeAttempts(attempts: readonly AttemptFacts[], cut: AttemptFacts | null, now: number): void {
  for (const attempt of attempts) attempt.endedAt ??= now;
  if (cut !== null) cut.fault ??= "cut";
}

/** Uses the attempt whose response the client got, else the last one. */
function seriesFor(
  observed: ObservedRule,
  attempts: readonly AttemptFacts[],
  finalAttempt: AttemptFacts | null,
): RequestSeries {
  const attempt = finalAttempt ?? attempts.at(-1);
  if (attempt === undefined) return observed.withoutAttempt;
  return attempt.target.series(attempt.model, attempt.status !== null && attempt.status < 400);
}
