// Waits for an attempt and, if it has no content in time, sends the same request to another target too: the first content wins,
// and the other attempt is aborted.
import { GatehouseError } from "../../base/errors.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { ObservedRule } from "../../telemetry/metrics/observed-route.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { Reservations } from "../budgets/reservations.ts";
import { reserveAttempt } from "../budgets/reserve-attempt.ts";
import type { Exchange } from "../exchange.ts";
import { modelFor } from "../model-for.ts";
import type { TargetResponse } from "../target-response.ts";
import type { UpstreamAttempt } from "../upstream-attempt.ts";
import type { Hedge } from "./hedge.ts";
import { hedgeDelay } from "./hedge-delay.ts";
import { isRepeatable, mayBeHedged } from "./hedgeable.ts";
import { planOf } from "../plan-of.ts";
import { settleUnused } from "./unused-attempt.ts";

export interface HedgeParts extends OffLoopPart {
  readonly reservations: Reservations;
}

interface HedgeCandidates {
  readonly preferred: readonly number[];
  readonly fallback: readonly number[];
  /** Targets of earlier attempts. The target of the second attempt is added. */
  readonly tried: number[];
  /** The target of the first attempt. */
  readonly index: number;
  readonly clientHash: number;
  readonly maxAttempts: number;
}

/** `P` are the parts that the attempts need. */
interface AttemptContext<P extends HedgeParts> {
  readonly exchange: Exchange;
  readonly rule: CompiledRule;
  readonly observed: ObservedRule;
  readonly parts: P;
  readonly start: (
    exchange: Exchange,
    rule: CompiledRule,
    target: CompiledTarget,
    observed: ObservedRule,
    parts: P,
    now: number,
    isHedge: boolean,
  ) => UpstreamAttempt | GatehouseError;
}

interface HedgeContext {
  readonly exchange: Exchange;
  readonly rule: CompiledRule;
  readonly candidates: HedgeCandidates;
  readonly parts: HedgeParts;
  readonly start: (target: CompiledTarget, now: number) => UpstreamAttempt | GatehouseError;
}

type Result = TargetResponse | Error;

/** Resolves to the response or the error of one of the attempts. */
export async function attemptHedged<P extends HedgeParts>(
  first: UpstreamAttempt,
  { exchange, rule, observed, parts, start }: AttemptContext<P>,
  candidates: HedgeCandidates,
): Promise<Result> {
  const startSecondAt = (target: CompiledTarget, now: number) =>
    start(exchange, rule, target, observed, parts, now, true);
  const context = { exchange, rule, candidates, parts, start: startSecondAt };
  const result = first.result();
  const afterMs = exchange.hedge === null ? delayOf(context) : null;
  if (afterMs === null || !(await isPendingAfter(afterMs, result, exchange))) return result;
  let isPending = true;
  const ended = result.then(() => {
    isPending = false;
    return null;
  });
  // The reservation may take long if Redis is silent. A response that arrives meanwhile must not wait for it.
  const second = await Promise.race([startSecond(context, afterMs, () => isPending), ended]);
  if (second === null) return result;
  const { attempt, hedge } = second;
  exchange.hedge = hedge;
  const results = [result, attempt.result()] as const;
  const winner = await firstSuccess(results);
  if (winner === null)
    return afterFailures(await Promise.all(results), [first, attempt], exchange, hedge, parts);
  hedge.result = winner === 1 ? "won" : "lost";
  const loser = winner === 1 ? first : attempt;
  settleUnused(exchange, hedge, loser.facts, loser.lose(), parts);
  exchange.setResponseHeader("X-GW-Hedged", hedge.result);
  return results[winner];
}

/** Returns after how many milliseconds without content a second attempt is made; null if it is not. */
function delayOf({ exchange, rule, candidates }: HedgeContext): number | null {
  const { hedge, targets, timeouts } = rule.upstream;
  const plan = planOf(exchange, rule.upstream);
  const target = targets[candidates.index];
  if (hedge === null || target === undefined || !mayBeHedged(exchange, rule, target)) return null;
  return hedgeDelay(hedge, plan, modelFor(exchange.fields, target), exchange, timeouts.first_content);
}

/** Whether the attempt is still open after the time. */
async function isPendingAfter(
  milliseconds: number,
  result: Promise<Result>,
  { clock }: Exchange,
): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = clock.setTimeout(() => late.resolve(true), milliseconds);
  const isPending = await Promise.race([late.promise, result.then(() => false)]);
  timer.close();
  return isPending;
}

interface SecondAttempt {
  readonly attempt: UpstreamAttempt;
  readonly hedge: Hedge;
}

/** Resolves to null if no second attempt may be made, or the first one has ended meanwhile. */
async function startSecond(
  context: HedgeContext,
  afterMs: number,
  isPending: () => boolean,
): Promise<SecondAttempt | null> {
  const { exchange, rule, candidates, parts } = context;
  const plan = planOf(exchange, rule.upstream);
  const { preferred, fallback, tried, index } = candidates;
  const used = [...tried, index];
  if (!isAllowed(context) || plan.eligible(preferred, fallback, used, exchange.clock.now()).length === 0)
    return null;
  if (!(await isRepeatable(exchange, rule, [...preferred, ...fallback], parts))) return null;
  const reserved = await reserveAttempt(exchange, parts.reservations);
  if (typeof reserved === "string") return null;
  const now = exchange.clock.now();
  let attempt: UpstreamAttempt | null = null;
  try {
    if (isPending() && isAllowed(context))
      attempt = startAt(plan.pick(preferred, fallback, used, candidates.clientHash, now), context, now);
  } catch (error) {
    // A request that cannot be sent to the second target may still be served by the first one.
    if (!(error instanceof GatehouseError)) throw error;
  } finally {
    if (attempt === null) reserved?.reservation.release();
  }
  return attempt === null ? null : { attempt, hedge: { afterMs, reserved, result: null, unused: null } };
}

/** Makes the second attempt at the target with this index. Returns null if the target or the retry budget does not permit it. */
function startAt(
  index: number,
  { exchange, rule, candidates, start }: HedgeContext,
  now: number,
): UpstreamAttempt | null {
  const plan = planOf(exchange, rule.upstream);
  const target = rule.upstream.targets[index];
  // A target that responded 429 with Retry-After is not used as long as another one can serve, which is the case here.
  if (target === undefined || plan.state(index, now) === "resting" || !plan.retries.tryRetry(now))
    return null;
  const started = start(target, now);
  if (started instanceof Error) return null;
  plan.hedging.recordHedge(now);
  candidates.tried.push(index);
  return started;
}

function isAllowed({ exchange, rule, candidates }: HedgeContext): boolean {
  const { hedge } = rule.upstream;
  const plan = planOf(exchange, rule.upstream);
  if (hedge === null || exchange.isOver || exchange.attempts >= candidates.maxAttempts) return false;
  return plan.hedging.refusal(hedge.budget, exchange.clock.now()) === null;
}

/** Resolves to the index of the first result that can be relayed and is no error; null if there is none. */
function firstSuccess(results: readonly [Promise<Result>, Promise<Result>]): Promise<0 | 1 | null> {
  const { promise, resolve } = Promise.withResolvers<0 | 1 | null>();
  let failures = 0;
  const settle = (at: 0 | 1, result: Result) => {
    if (!(result instanceof Error) && result.upstreamResponse.status < 400 && !result.isRetried) resolve(at);
    else if (++failures === 2) resolve(null);
  };
  void results[0].then((result) => settle(0, result));
  void results[1].then((result) => settle(1, result));
  return promise;
}

/** Returns the result that says most: a response that is not retried, else any response, else the error of the first attempt. */
function afterFailures(
  results: readonly [Result, Result],
  [first, second]: readonly [UpstreamAttempt, UpstreamAttempt],
  exchange: Exchange,
  hedge: Hedge,
  parts: HedgeParts,
): Result {
  const isFinal = (result: Result) => !(result instanceof Error) && !result.isRetried;
  const relayed = results.find(isFinal) ?? results.find((result) => !(result instanceof Error)) ?? results[0];
  const now = exchange.clock.now();
  for (const result of results) if (!(result instanceof Error) && result !== relayed) result.discard(now);
  const isWon = relayed === results[1] && isFinal(relayed);
  hedge.result = isWon ? "won" : isFinal(relayed) ? "lost" : "failed";
  const { facts } = isWon ? first : second;
  settleUnused(exchange, hedge, facts, facts.unusedUsage, parts);
  exchange.setResponseHeader("X-GW-Hedged", isWon ? "won" : "lost");
  return relayed;
}
