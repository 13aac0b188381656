// Sends a request for a virtual model: to a target, and if it fails to another one or to a fallback. The attempts at the targets
// of one upstream are those of attempt.ts.
import type { Observation } from "../../telemetry/observation.ts";
import type { FallbackReason } from "../../model/virtual-model.ts";
import { attempt, translationTasks, type AttemptParts } from "../attempt.ts";
import { mayRetry } from "../budgets/reserve-attempt.ts";
import { readsFilter } from "../encode.ts";
import type { Exchange } from "../exchange.ts";
import { observeRule } from "../observe-rule.ts";
import { toHeaderValue } from "../header-value.ts";
import { planOf } from "../plan-of.ts";
import type { TargetResponse } from "../target-response.ts";
import type { TranslationTask } from "../translate-request.ts";
import { fallbackReasonOf } from "./fallback-reason.ts";
import type { EligibleLeg } from "./leg.ts";
import { enterLeg } from "./resolve-model.ts";
import type { VirtualRoute } from "./virtual-route.ts";

interface RouteParts extends AttemptParts {
  readonly observation: Observation;
}

/** As `attempt`: resolves to the response to relay, or rejects with the last error. */
export async function attemptRoute(
  exchange: Exchange,
  route: VirtualRoute,
  parts: RouteParts,
): Promise<TargetResponse> {
  let last: TargetResponse | null = null;
  /** Resolves when the last response may be replaced or relayed. */
  let lastRead: Promise<void> | null = null;
  let error: Error | null = null;
  let reason: FallbackReason | null = null;
  const { clock } = exchange;
  let leg = route.next(null, clock.now()) ?? route.lastResort();
  while (leg !== null) {
    const attemptsBefore = exchange.attempts;
    const result = await attemptLeg(exchange, route, leg, parts, reason !== null);
    error = result instanceof Error ? result : null;
    if (!(result instanceof Error)) {
      if (last !== null) await replaceResponse(exchange, last, lastRead);
      last = result;
      lastRead = null;
    }
    reason = fallbackReasonOf(result, readsFilter(exchange));
    if (reason === "content_filter") lastRead = last?.readRest(clock) ?? null;
    if (reason === null || exchange.isOver) break;
    if (route.remaining().length === 0 || !(await mayRetry(exchange, parts.reservations)) || exchange.isOver)
      break;
    const now = clock.now();
    const next = route.next(reason, now);
    if (next === null) break;
    // What was sent to this upstream is repeated, so that its retry budget applies.
    if (exchange.attempts > attemptsBefore && !planOf(exchange, leg.rule.upstream).retries.tryRetry(now))
      break;
    route.fail(now);
    leg = next;
  }
  const isRelayed = !exchange.isClientDisconnected && !(reason === null && error !== null);
  if (last !== null && isRelayed) {
    await lastRead;
    return last;
  }
  if (last !== null) await replaceResponse(exchange, last, lastRead);
  throw error ?? new Error("a virtual model without targets");
}

/**
 * Another target has responded, or the client has disconnected. A successful response that is not used was empty, and the provider has run
 * the model, unless the response says that it failed.
 */
async function replaceResponse(
  exchange: Exchange,
  response: TargetResponse,
  read: Promise<void> | null,
): Promise<void> {
  if (!exchange.isOver) await read;
  const { facts } = response.report;
  if (response.upstreamResponse.ok && response.failure === null && facts !== null) {
    facts.fault = "content_filter";
    facts.unusedUsage = response.unusedUsage();
  }
  response.discard(exchange.clock.now());
}

/** Resolves to the error instead of rejecting. */
async function attemptLeg(
  exchange: Exchange,
  route: VirtualRoute,
  leg: EligibleLeg,
  parts: RouteParts,
  isRetry: boolean,
): Promise<TargetResponse | Error> {
  enterLeg(exchange, leg);
  const { gateway, clock } = exchange;
  if (gateway === null) throw new Error("no gateway is matched yet");
  const observed = observeRule(parts.observation, gateway, leg.rule);
  exchange.observed = observed;
  if (route.fallback !== null) {
    const { name, reason } = route.fallback;
    exchange.setResponseHeader("X-GW-Fallback", toHeaderValue(`${name}; reason=${reason}`));
  }
  const { canary } = leg.entry.model;
  if (canary !== null) exchange.setResponseHeader("X-GW-Canary", leg.target.isCanary ? "canary" : "stable");
  route.begin(leg, clock.now());
  try {
    const { candidates } = leg;
    const others = leg.rule.upstream.hedge === null ? candidates : route.candidatesBeside(leg);
    return await attempt(exchange, leg.rule, observed, parts, { candidates, isRetry, others });
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Returns the translations that the targets may need. */
export function routeTranslationTasks(exchange: Exchange, route: VirtualRoute): TranslationTask[] {
  const legs = route.remaining();
  const tasks = legs.flatMap((leg) => {
    enterLeg(exchange, leg);
    return translationTasks(exchange, leg.rule);
  });
  const [first] = legs;
  if (first !== undefined) enterLeg(exchange, first);
  return tasks;
}
