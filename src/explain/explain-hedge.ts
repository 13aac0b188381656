// Explains whether a request would be sent to a second target, and after which time.
import type { Explanation } from "../model/explanation.ts";
import type { Candidates, CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { hasSideEffects } from "../formats/side-effects.ts";
import { LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { hedgeDelay } from "../proxy/hedging/hedge-delay.ts";
import { mayBeHedged, storesByDefault } from "../proxy/hedging/hedgeable.ts";
import { modelFor } from "../proxy/model-for.ts";

/** `target` is that of the first attempt. */
export function explainHedge(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  candidates: Candidates,
  now: number,
): Explanation["hedge"] {
  const { hedge, plan, timeouts } = rule.upstream;
  if (hedge === null) return null;
  const model = modelFor(exchange.fields, target);
  const afterMs = hedgeDelay(hedge, plan, model, exchange, timeouts.first_content);
  const reason =
    requestReason(exchange, rule, target, candidates) ?? stateReason(rule, target, candidates, afterMs, now);
  return { possible: reason === null, after_ms: afterMs, reason };
}

function requestReason(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  { preferred, fallback }: Candidates,
): string | null {
  if (!mayBeHedged(exchange, rule, target)) return "requests of this operation are not hedged";
  const { body } = exchange;
  if (body === null || body.bytes.byteLength > LARGE_BODY_BYTES) return null;
  const stores = storesByDefault(exchange, rule, [...preferred, ...fallback]);
  return body.json !== null && hasSideEffects(body.json, stores)
    ? "it would be stored, run in the background, or use tools of the provider"
    : null;
}

function stateReason(
  { upstream }: CompiledRule,
  { index }: CompiledTarget,
  { preferred, fallback }: Candidates,
  afterMs: number | null,
  now: number,
): string | null {
  const { plan, hedge, maxAttempts } = upstream;
  if (afterMs === null) return "too few requests have been measured for a percentile";
  if (maxAttempts < 2) return "max_attempts is 1";
  if (plan.eligible(preferred, fallback, [index], now).length === 0) return "no other target is available";
  const refusal = plan.hedging.refusal(hedge?.budget ?? 0, now);
  if (refusal === "rate_limited") return "a target has sent 429 in the last 10 s";
  return refusal === "budget" ? "the share of hedged requests is used up" : null;
}
