// Records the usage of a response: on the exchange, with its cost, and in the totals.
import { isPromise } from "../base/value-or-promise.ts";
import { withEstimatedInput } from "../formats/token-counts.ts";
import type { CompiledPrice } from "../usage/compiled-price.ts";
import { NO_LABELS } from "../usage/label-set.ts";
import { usageOfBody, type UsageTap } from "../usage/usage-tap.ts";
import { RequestSample } from "../usage/request-sample.ts";
import { isInputUnknown, isOutputKnown, NO_TOKENS, type Usage } from "../usage/usage-accumulator.ts";
import type { CountedRequest, UsageTotals } from "../usage/usage-totals.ts";
import type { AttemptFacts } from "../telemetry/requests/request-facts.ts";
import { OPERATIONS_WITHOUT_OUTPUT } from "../formats/operations.ts";
import { namedEndpoint } from "./budgets/named-operation.ts";
import { fileTokensIn } from "./budgets/request-size.ts";
import type { Exchange } from "./exchange.ts";
import { hasOtherOutput, withHiddenOutput, type SpeedParts } from "./hidden-output.ts";
import { priceFor } from "./price-for.ts";
import type { ReusedResponse } from "./reuse/reused-response.ts";
import type { TargetResponse } from "./target-response.ts";

export const NANOS_PER_DOLLAR = 1e9;

/**
 * Sets the usage of the exchange and its cost, at the prices that were in effect when the request started. `reported` is null if the provider
 * has reported nothing and nothing was relayed. `isComplete`: the whole response was received.
 */
export function settleUsage(
  exchange: Exchange,
  reported: Usage | null,
  isComplete: boolean,
  parts: SpeedParts,
): void {
  const { response } = exchange;
  if (response === null || !response.upstreamResponse.ok) {
    exchange.usage = reported === null ? null : withInput(exchange, reported);
    return;
  }
  exchange.usage = settledUsage(exchange, response, reported, isComplete, parts);
  exchange.costNanos = costFor(exchange, response.model, exchange.usage);
}

/** As `settleUsage`, with what was read of the response: by the tap, or of its body if it is in memory. */
export function settleReceived(
  exchange: Exchange,
  response: TargetResponse,
  tap: UsageTap | null,
  isComplete: boolean,
  parts: SpeedParts,
): void {
  const reported = tap === null ? usageOfBody(response) : tap.result(isComplete);
  settleUsage(exchange, reported, isComplete || tap === null, parts);
}

function settledUsage(
  exchange: Exchange,
  response: TargetResponse,
  reported: Usage | null,
  isComplete: boolean,
  parts: SpeedParts,
): Usage | null {
  const { facts } = response.report;
  const known = reported ?? { ...NO_TOKENS, isPartial: true };
  if (known.unknown !== undefined && isComplete && !mayHaveOutput(exchange))
    return withoutOutput(exchange, known);
  // The tokens of a complete response without usage are unknown, and so are those of a model that shows all of them.
  if (facts === null || isOutputKnown(known) || (reported === null && isComplete))
    return reported === null ? null : withInput(exchange, reported);
  // The provider generates the rest of a response in the background all the same.
  const { isBackground } = exchange.fields.generation;
  facts.isChargedAsReserved = isBackground || (!isComplete && hasOtherOutput(exchange));
  const { seenAt = null, kind = null } = exchange.firstContent ?? {};
  const call = {
    model: facts.model,
    sentAt: facts.startedAt,
    endedAt: facts.endedAt ?? exchange.clock.now(),
    answeredAt: kind === "reasoning" ? null : seenAt,
    isWhole: !response.isStream,
  };
  const usage = withHiddenOutput(exchange, call, known, parts);
  return reported === null && usage.outputTokens === 0 ? null : withInput(exchange, usage);
}

function mayHaveOutput(exchange: Exchange): boolean {
  const { rule } = exchange;
  return rule === null || namedEndpoint(exchange, rule, OPERATIONS_WITHOUT_OUTPUT) === null;
}

/** The total of such an operation is its input. */
function withoutOutput(exchange: Exchange, { unknown, ...known }: Usage): Usage {
  if (unknown === "input" || unknown === "both") return withInput(exchange, { ...known, unknown: "input" });
  return { ...known, isPartial: false };
}

/** Sets the input that the provider has not reported. */
function withInput(exchange: Exchange, usage: Usage): Usage {
  if (usage.unknown !== "split" && !isInputUnknown(usage)) return usage;
  return { ...usage, ...withEstimatedInput(usage, estimateInput(exchange)) };
}

/** Returns the estimated input of a request whose response ended before its usage was reported; 0 without a body. */
export function estimateInput(exchange: Exchange): number {
  const { knownSize, requestSample, body, fields, opaqueBytes, upload } = exchange;
  const known = knownSize === null || isPromise(knownSize.size) ? null : knownSize.size;
  if (known !== null && (known.inputTokens > 0 || fields.isObject)) return known.inputTokens;
  if (requestSample !== null) return requestSample.estimateTokens();
  if (body !== null && fields.isObject) return new RequestSample(body.bytes).estimateTokens();
  return fileTokensIn(upload?.length ?? opaqueBytes);
}

/** Returns the cost in nano-dollars; null if the price or the tokens are unknown. */
export function costFor(exchange: Exchange, model: string | null, usage: Usage | null): number | null {
  const price = priceFor(exchange, model);
  return price === null ? null : costAt(price, usage);
}

/** Returns null if the tokens are unknown and the cost depends on them. */
function costAt(price: CompiledPrice, usage: Usage | null): number | null {
  const isUnknown =
    usage === null || (usage.isPartial && usage.inputTokens === 0 && usage.outputTokens === 0);
  if (isUnknown && price.dependsOnTokens) return null;
  return price.costOf(usage ?? NO_TOKENS);
}

/** Whether a request has usage: it is a successful chat, or its response reports tokens or has a cost without them. */
export function hasUsage({ usage, costNanos, response, gateway }: Exchange): boolean {
  if (gateway === null) return false;
  return usage !== null || costNanos !== null || (response?.isChat === true && response.upstreamResponse.ok);
}

/** Adds a request that has usage to the totals of its gateway, key, model, rule, and provider. `failed`: the attempt whose response did not arrive. */
export function recordUsage(exchange: Exchange, failed: AttemptFacts | null, totals: UsageTotals): void {
  const { usage, costNanos, response, isUsageRecorded } = exchange;
  if (isUsageRecorded || !hasUsage(exchange)) return;
  if (response !== null) addToTotals(exchange, sentTo(response), usage, costNanos, totals);
  else if (failed !== null) {
    const { model, target } = failed;
    addToTotals(exchange, { model, provider: target.provider }, usage, costNanos, totals);
  }
}

/** Adds a request that the response of another one serves, with what it has saved. */
export function recordReuse(exchange: Exchange, reused: ReusedResponse, totals: UsageTotals): void {
  const kept = reused.kept ?? reused.flight?.kept ?? null;
  reused.store.countHit(kept, reused.isCoalesced);
  if (kept === null) return;
  const { model, provider, inputTokens, outputTokens, costNanos } = kept;
  const usage = { inputTokens, outputTokens, isPartial: false };
  addToTotals(exchange, { model, provider, purpose: "cached" }, usage, costNanos, totals);
}

/** What was sent to which provider. */
type Sent = Pick<CountedRequest, "model" | "provider"> & Partial<Pick<CountedRequest, "purpose">>;

export function sentTo({ model, target }: TargetResponse): Sent {
  return { model, provider: target.provider };
}

export function addToTotals(
  { gateway, apiKey, rule }: Pick<Exchange, "gateway" | "apiKey" | "rule">,
  { model, provider, purpose = "request" }: Sent,
  usage: Pick<Usage, "inputTokens" | "outputTokens" | "isPartial"> | null,
  costNanos: number | null,
  totals: UsageTotals,
): void {
  if (gateway === null || rule === null) return;
  totals.add({
    gatewayId: gateway.id,
    apiKeyId: apiKey?.id ?? null,
    apiKeyName: apiKey?.name ?? null,
    model,
    ruleId: rule.id,
    ruleName: rule.rule.name ?? rule.rule.path,
    provider,
    labels: apiKey?.labels ?? NO_LABELS,
    purpose,
    // The tokens of a successful response without usage are unknown, like those of a response that was cut.
    isPartial: usage?.isPartial ?? true,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    costNanos,
  });
}
