// Asks a target and, while no byte has gone to the client, another: pick → inquiry.ts asks it → classify. The only retry
// loop there is.
import { hashText } from "../balance/text-hash.ts";
import { GatehouseError } from "../base/errors.ts";
import { isPromise } from "../base/value-or-promise.ts";
import type { Candidates, CompiledTarget, CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { ObservedRule } from "../telemetry/metrics/observed-route.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { TargetResponse } from "./target-response.ts";
import type { Exchange } from "./exchange.ts";
import { FAILOVER, UpstreamAttempt, type UpstreamAttemptParts } from "./upstream-attempt.ts";

interface ClientAddressPart {
  readonly clientAddress: (exchange: Exchange) => string;
}

export interface AttemptParts extends UpstreamAttemptParts, ClientAddressPart {}

/** One function on purpose, like the walk that waits for it. */
export async function attempt(
  exchange: Exchange,
  rule: CompiledRule,
  observed: ObservedRule,
  parts: AttemptParts,
): Promise<TargetResponse> {
  const { upstream } = rule;
  const { plan, targets } = upstream;
  const { preferred, fallback } = candidatesFor(exchange, upstream);
  const clientHash = clientHashFor(exchange, upstream, parts);
  let now = performance.now();
  plan.retries.recordRequest(now);
  const tried: number[] = [];
  let lastAnswer: TargetResponse | null = null;
  let lastError: Error | null = null;
  let isSecondTry = false;
  let index = plan.pick(preferred, fallback, null, clientHash, now);
  while (index >= 0) {
    const inquiry = beginInquiry(exchange, rule, targets[index] as CompiledTarget, observed, parts, now);
    let result: TargetResponse | Error;
    if (inquiry instanceof Error) result = inquiry;
    else {
      try {
        await inquiry.arrival;
        const answer = inquiry.answer();
        result = isPromise(answer) ? await answer : answer;
      } catch (cause) {
        result = inquiry.failed(cause);
      }
    }
    if (result instanceof Error) lastError = result;
    else {
      lastAnswer?.reader?.cancel();
      lastAnswer = result;
      if (!FAILOVER.has(result.response.status)) break;
    }
    if (exchange.isOver || exchange.attempts >= upstream.maxAttempts) break;
    tried.push(index);
    now = performance.now();
    const next = plan.pick(preferred, fallback, tried, clientHash, now);
    if (next < 0) {
      // There is no other: what broke before any answer may have been a connection that had gone stale.
      if (isSecondTry || !isBroken(result)) break;
      isSecondTry = true;
    } else index = next;
    // A request that could not even be encoded has cost no provider anything.
    if (!(result instanceof GatehouseError) && !plan.retries.tryRetry(now)) break;
  }
  // When all fail the client gets the last answer that a provider gave, as it was.
  if (lastAnswer !== null && !exchange.isClientDisconnected) return lastAnswer;
  lastAnswer?.reader?.cancel();
  throw lastError ?? noHealthyTarget(upstream, plan.retryAfterMs(preferred, fallback, performance.now()));
}

/** Whom this request may go to. */
export function candidatesFor({ fields }: Exchange, upstream: CompiledUpstream): Candidates {
  const { model } = fields;
  const candidates = upstream.candidatesFor(model);
  if (candidates === null)
    throw new GatehouseError("model_not_found", `No target serves the model "${model ?? ""}".`);
  return candidates;
}

export function clientHashFor(
  exchange: Exchange,
  upstream: CompiledUpstream,
  parts: ClientAddressPart,
): number {
  return hashText(upstream.usesClientAddress ? parts.clientAddress(exchange) : "");
}

/** Sends the request to a target; a GatehouseError where another one may speak a format that it can be put into. */
function beginInquiry(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  observed: ObservedRule,
  parts: AttemptParts,
  now: number,
): UpstreamAttempt | GatehouseError {
  try {
    return new UpstreamAttempt(exchange, rule, target, observed, parts, now);
  } catch (error) {
    if (error instanceof GatehouseError && error.code === "untranslatable") return error;
    throw error;
  }
}

/** Refused, or broken off before the answer was there: worth one more try at the same target. */
function isBroken(result: TargetResponse | Error): boolean {
  return result instanceof UpstreamError && (result.kind === "unreachable" || result.kind === "broken");
}

export function noHealthyTarget({ name }: CompiledUpstream, retryAfterMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new GatehouseError("no_healthy_target", `No healthy targets for upstream "${name}".`, {
    headers: { "Retry-After": String(seconds) },
  });
}
