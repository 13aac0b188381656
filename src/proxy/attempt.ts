// The only retry loop: picks a target, makes an upstream attempt, and tries another target if it fails. Retries only
// while no byte of a response has been sent to the client.
import type { BalancePlan } from "../balance/balance-plan.ts";
import { hashText } from "../balance/text-hash.ts";
import { GatehouseError } from "../base/errors.ts";
import { isPromise } from "../base/value-or-promise.ts";
import type { Candidates, CompiledTarget, CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { ObservedRule } from "../telemetry/metrics/observed-route.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { allowedCandidates } from "./allowed-models.ts";
import { taskFor } from "./encode.ts";
import type { Exchange } from "./exchange.ts";
import { mayRetry } from "./budgets/reserve-attempt.ts";
import { attemptHedged, type HedgeParts } from "./hedging/attempt-hedged.ts";
import type { KnownCandidates } from "./known-candidates.ts";
import { modelFor } from "./model-for.ts";
import { servingCandidates, storingCandidates } from "./operation.ts";
import { planOf } from "./plan-of.ts";
import type { RequestBody } from "./request-body.ts";
import { endpointAt } from "./request-endpoint.ts";
import type { OffLoopPart } from "../off-loop/off-loop.ts";
import type { TargetResponse } from "./target-response.ts";
import type { TranslationTask } from "./translate-request.ts";
import { Translations } from "./translations.ts";
import { isUntranslatable } from "./untranslatable.ts";
import { unknownModelProblem, unservedModel } from "./unserved-model.ts";
import { UpstreamAttempt, type UpstreamAttemptParts } from "./upstream-attempt.ts";

export interface ClientAddressPart {
  readonly clientAddress: (exchange: Exchange) => string;
}

export interface AttemptParts extends UpstreamAttemptParts, ClientAddressPart, HedgeParts {}

/** An attempt at one of several upstreams. */
interface LegAttempt {
  readonly candidates: Candidates;
  /** The request was sent to another upstream before. */
  readonly isRetry: boolean;
  /** The targets that a hedge may be sent to. */
  readonly others: Candidates;
}

/**
 * Resolves to the response to relay: the first that is not retried, else the last one that any target returned. One
 * function awaits everything, because every further async function costs each request measurable CPU time.
 */
export async function attempt(
  exchange: Exchange,
  rule: CompiledRule,
  observed: ObservedRule,
  parts: AttemptParts,
  leg: LegAttempt | null = null,
): Promise<TargetResponse> {
  const { upstream } = rule;
  const plan = planOf(exchange, upstream);
  const candidates = leg?.candidates ?? candidatesFor(exchange, rule);
  const maxAttempts = exchange.attempts + upstream.maxAttempts;
  const clientHash = clientHashFor(exchange, upstream, parts);
  let now = exchange.clock.now();
  if (leg?.isRetry !== true) recordRequest(plan, upstream, now);
  const tried: number[] = [];
  let lastResponse: TargetResponse | null = null;
  let lastError: Error | null = null;
  let isSameTargetRetried = false;
  let index = plan.pick(candidates.preferred, candidates.fallback, null, clientHash, now);
  for (let target = upstream.targets[index]; target !== undefined; target = upstream.targets[index]) {
    const started = startAttempt(exchange, rule, target, observed, parts, now, false);
    let result: TargetResponse | Error;
    if (started instanceof Error) result = started;
    else if (upstream.hedge !== null) {
      const context = { exchange, rule, observed, parts, start: startAttempt };
      const search = { ...(leg?.others ?? candidates), tried, index, clientHash, maxAttempts };
      result = await attemptHedged(started, context, search);
    } else {
      try {
        await started.headersReceived;
        const response = started.receive();
        result = isPromise(response) ? await response : response;
      } catch (cause) {
        result = started.fail(cause);
      }
    }
    if (result instanceof Error) lastError = result;
    else {
      lastResponse?.discard(exchange.clock.now());
      lastResponse = result;
      if (!result.isRetried) break;
    }
    // What was forwarded of a body cannot be sent again.
    if (exchange.isOver || exchange.attempts >= maxAttempts || exchange.upload?.isUntouched === false) break;
    tried.push(index);
    now = exchange.clock.now();
    const next = plan.pick(candidates.preferred, candidates.fallback, tried, clientHash, now);
    if (next < 0) {
      // No other target is left. The failed connection may have been stale, so try the same target once more.
      if (isSameTargetRetried || !isConnectionFailure(result)) break;
      isSameTargetRetried = true;
    } else index = next;
    // A request that could not be encoded was not sent, so the retry does not count against the retry budget.
    if (!(result instanceof GatehouseError) && !plan.retries.tryRetry(now)) break;
    if (!(await mayRetry(exchange, parts.reservations)) || exchange.isOver) break;
  }
  if (lastResponse !== null && !exchange.isClientDisconnected) return lastResponse;
  lastResponse?.discard(exchange.clock.now());
  throw exchange.upload?.error ?? lastError ?? noneAvailable(exchange, plan, upstream, candidates);
}

function noneAvailable(
  { clock }: Exchange,
  plan: BalancePlan,
  upstream: CompiledUpstream,
  { preferred, fallback }: Candidates,
): GatehouseError {
  return noHealthyTarget(upstream, plan.retryAfterMs(preferred, fallback, clock.now()));
}

function recordRequest(plan: BalancePlan, { hedge }: CompiledUpstream, now: number): void {
  plan.retries.recordRequest(now);
  if (hedge !== null) plan.hedging.recordRequest(now);
}

/** Returns the targets that may serve the request. Throws if none may, or if the model must be known and is not. */
export function candidatesFor(exchange: Exchange, rule: CompiledRule): KnownCandidates {
  const { knownCandidates, fields, sentPath, sentQuery, endpoint, storedAt } = exchange;
  if (
    knownCandidates !== null &&
    knownCandidates.rule === rule &&
    knownCandidates.fields === fields &&
    knownCandidates.path === sentPath &&
    knownCandidates.query === sentQuery &&
    knownCandidates.endpoint === endpoint &&
    knownCandidates.storedAt === storedAt
  )
    return knownCandidates;
  const { preferred, fallback } = findCandidates(exchange, rule);
  const found: KnownCandidates = {
    preferred,
    fallback,
    rule,
    fields,
    path: sentPath,
    query: sentQuery,
    endpoint,
    storedAt,
    models: null,
  };
  exchange.knownCandidates = found;
  return found;
}

function findCandidates(exchange: Exchange, rule: CompiledRule): Candidates {
  const { upstream } = rule;
  const problem = unknownModelProblem(exchange, upstream);
  if (problem !== null) throw new GatehouseError(problem.code, problem.message);
  // Files to store name no model.
  const model = exchange.endpoint?.operation === "files" ? null : exchange.fields.model;
  const candidates = upstream.candidatesFor(model);
  if (candidates === null) throw unservedModel(exchange, exchange.rule ?? rule);
  const { storedAt } = exchange;
  const storing = storedAt === null ? candidates : storingCandidates(rule, candidates, storedAt);
  const serving = servingCandidates(exchange, rule, storing);
  const allowed = exchange.apiKey?.models ?? null;
  return allowed === null ? serving : allowedCandidates(exchange, rule, serving, allowed);
}

/** Returns the translations that the targets of the rule may need. */
export function translationTasks(exchange: Exchange, rule: CompiledRule): TranslationTask[] {
  const { fields } = exchange;
  const { preferred, fallback } = candidatesFor(exchange, rule);
  const targets = [...preferred, ...fallback].flatMap((index) => rule.upstream.targets[index] ?? []);
  return targets.flatMap(
    (target) => taskFor(endpointAt(exchange, rule, target), target, modelFor(fields, target)) ?? [],
  );
}

/** Makes the translations of a large body off the event loop. */
export async function prepareTranslations(
  exchange: Exchange,
  body: RequestBody,
  tasks: readonly TranslationTask[],
  { offLoop }: OffLoopPart,
): Promise<void> {
  if (tasks.length === 0 || !exchange.fields.isObject) return;
  const startedAt = exchange.clock.now();
  exchange.translations = await Translations.prepare(body, tasks, offLoop);
  exchange.translateMs += exchange.clock.now() - startedAt;
}

export function clientHashFor(
  exchange: Exchange,
  upstream: CompiledUpstream,
  parts: ClientAddressPart,
): number {
  return hashText(upstream.usesClientAddress ? parts.clientAddress(exchange) : "");
}

/** Returns a GatehouseError if the target's format cannot express the request; that of another target may. */
function startAttempt(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  observed: ObservedRule,
  parts: AttemptParts,
  now: number,
  isHedge: boolean,
): UpstreamAttempt | GatehouseError {
  try {
    return new UpstreamAttempt(exchange, rule, target, observed, parts, now, isHedge);
  } catch (error) {
    if (isUntranslatable(error) || hasNoEndpoint(error)) return error;
    throw error;
  }
}

/** Whether the provider of the target does not serve the operation of the request. That of another target may. */
function hasNoEndpoint(error: unknown): error is GatehouseError {
  return error instanceof GatehouseError && error.code === "operation_not_supported";
}

/** Whether the connection failed before any byte of a response arrived. */
function isConnectionFailure(result: TargetResponse | Error): boolean {
  return result instanceof UpstreamError && (result.kind === "unreachable" || result.kind === "broken");
}

export function noHealthyTarget({ name }: CompiledUpstream, retryAfterMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new GatehouseError("no_healthy_target", `No healthy targets for upstream "${name}".`, {
    headers: { "Retry-After": String(seconds) },
  });
}
