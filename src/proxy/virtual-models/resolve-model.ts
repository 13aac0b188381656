// Finds the virtual model of a request, and the targets that may serve it: allowed for the API key, with the operation and the
// stored objects of the request, and with a context window that holds the input.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { NO_TOKENS } from "../../usage/usage-accumulator.ts";
import { estimateRequestTokens } from "../../formats/token-estimate.ts";
import { candidatesFor, type ClientAddressPart } from "../attempt.ts";
import type * as estimateTokensTask from "../estimate-tokens-task.ts";
import type { Exchange } from "../exchange.ts";
import { asksForTokenCount, endpointOf, requireAllowedBody, requireAllowedEndpoint } from "../operation.ts";
import { priceFor } from "../price-for.ts";
import { toHeaderValue } from "../header-value.ts";
import { isAssignedToCanary } from "./canary-subject.ts";
import { conversationHashOf } from "./conversation-key.ts";
import { isDrained, type EligibleLeg, type Leg } from "./leg.ts";
import { virtualRouteOf } from "./find-route.ts";
import type { VirtualRoute } from "./virtual-route.ts";

const TASK = new URL("../estimate-tokens-task.ts", import.meta.url);
/** For the expected cost of the input. */
const BYTES_PER_TOKEN = 4;
/** An operator decides when a target gets requests again. */
const DRAINED_RETRY_SECONDS = 10;

/** Sets the route of the exchange if its model is a virtual one. */
export function resolveVirtualModel(exchange: Exchange, rule: CompiledRule): void {
  const route = virtualRouteOf(exchange, rule);
  if (route === null) return;
  const { handshake } = exchange;
  exchange.route = route;
  exchange.setResponseHeader("X-GW-Virtual-Model", toHeaderValue(route.model.name));
  const withEndpoints = route.legs.flat().find((leg) => leg.rule.upstream.hasEndpoints);
  if (withEndpoints !== undefined && !rule.upstream.hasEndpoints && handshake === null) {
    // The operation does not matter to the targets of the rule's own upstream, but to this one.
    exchange.endpoint = endpointOf(exchange, withEndpoints.rule);
    requireAllowedEndpoint(exchange, withEndpoints.rule);
    requireAllowedBody(exchange, withEndpoints.rule);
  }
  const [first] = route.legs[0] ?? [];
  if (first !== undefined) enterLeg(exchange, first);
}

/** Makes the exchange one with the upstream and the model of the target. */
export function enterLeg(exchange: Exchange, { rule, target, entry }: Leg): void {
  exchange.rule = rule;
  const { fields, route } = exchange;
  const model = target.model === null ? entry.name : (route?.requested ?? fields.model);
  if (fields.model !== model) exchange.fields = { ...fields, model };
}

type SelectParts = OffLoopPart & ClientAddressPart;

/** Throws if no target may serve the request. Returns a promise only if a large body has to be read. */
export function selectTargets(
  exchange: Exchange,
  route: VirtualRoute,
  parts: SelectParts,
): ValueOrPromise<null> {
  const { gameDay } = exchange;
  if (gameDay !== null) route.usePlans((plan) => gameDay.planOf(plan));
  const tokens = inputTokensOf(exchange, route, parts);
  const hash = conversationHashOf(exchange, route, parts);
  if (!isPromise(tokens) && !isPromise(hash)) return select(exchange, route, tokens, hash, parts);
  return Promise.all([tokens, hash]).then(([input, conversation]) =>
    select(exchange, route, input, conversation, parts),
  );
}

function select(
  exchange: Exchange,
  route: VirtualRoute,
  inputTokens: number,
  hash: number,
  parts: SelectParts,
): null {
  route.conversationHash = hash;
  const refusals: GatehouseError[] = [];
  let largestWindow = 0;
  const isAssigned = route.chain.map((entry) => isAssignedToCanary(exchange, entry, hash, parts));
  const active = route.legs.map((legs) => legs.filter((leg) => !isDrained(leg)));
  const embedded = exchange.endpoint?.operation === "embeddings" ? (active[0]?.[0]?.model ?? null) : null;
  route.eligible = active.map((legs) =>
    legs.flatMap((leg): EligibleLeg[] => {
      // Vectors of different models cannot be compared.
      if (embedded !== null && leg.model !== embedded) return [];
      if (leg.target.isCanary && isAssigned[leg.place] !== true) return [];
      const window = contextWindowOf(exchange, leg);
      if (inputTokens > window) {
        if (leg.place === 0) largestWindow = Math.max(largestWindow, window);
        return [];
      }
      const checked = checkLeg(exchange, leg);
      if (!(checked instanceof GatehouseError)) return isSplit(leg) ? splitLeg(checked) : [checked];
      if (leg.place === 0) refusals.push(checked);
      return [];
    }),
  );
  if (route.eligible[0]?.length === 0) {
    const [refusal] = refusals;
    // Without an endpoint that counts tokens, the gateway estimates them.
    if (refusal !== undefined && asksForTokenCount(exchange) && refusals.every(isWithoutEndpoint))
      return null;
    // A key that may not use any target of the virtual model may not use its fallbacks instead.
    if (refusal !== undefined && largestWindow === 0) throw refusal;
    if (largestWindow === 0) {
      if (!route.fallBack("unavailable")) throw allDrained(route);
    } else if (!route.fallBack("context")) throw contextLengthExceeded(route, inputTokens, largestWindow);
  }
  const [first] = route.remaining();
  if (first !== undefined) enterLeg(exchange, first);
  return null;
}

/** Prompt caches belong to accounts, so that each target of the upstream is a target of the virtual model. */
function isSplit({ entry }: Leg): boolean {
  return entry.model.record.strategy === "cache-affinity";
}

function splitLeg(leg: EligibleLeg): EligibleLeg[] {
  const { preferred, fallback } = leg.candidates;
  return [...preferred, ...fallback].map((index) => ({
    ...leg,
    candidates: { preferred: [index], fallback: [] },
  }));
}

/** Returns why the target may not serve the request, if it may not. */
function checkLeg(exchange: Exchange, leg: Leg): EligibleLeg | GatehouseError {
  enterLeg(exchange, leg);
  try {
    return { ...leg, candidates: candidatesFor(exchange, leg.rule), cost: costOf(exchange, leg) };
  } catch (error) {
    if (error instanceof GatehouseError) return error;
    throw error;
  }
}

/** Returns 0 if the body is so short that every target can hold it: a token has at least one byte. */
function inputTokensOf(
  exchange: Exchange,
  route: VirtualRoute,
  { offLoop }: OffLoopPart,
): ValueOrPromise<number> {
  const { body } = exchange;
  // A client that counts tokens may want to know whether they fit.
  if (body === null || exchange.endpoint?.operation === "count_tokens") return 0;
  const { bytes } = body;
  if (route.legs.every((legs) => legs.every((leg) => contextWindowOf(exchange, leg) >= bytes.byteLength)))
    return 0;
  if (isLargeBody(bytes)) {
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    return offLoop.run<typeof estimateTokensTask>(TASK, { bytes }, limits);
  }
  const { json } = body;
  return json === null ? 0 : estimateRequestTokens(json);
}

function isWithoutEndpoint({ code }: GatehouseError): boolean {
  return code === "operation_not_supported";
}

function contextWindowOf(exchange: Exchange, { model }: Leg): number {
  return priceFor(exchange, model)?.contextWindow ?? Infinity;
}

/** Returns the expected cost with the usual cached share and output of the target; Infinity if the price is unknown. */
function costOf(exchange: Exchange, { entry, target, model }: Leg): number {
  if (entry.model.record.strategy !== "lowest-cost") return 0;
  const price = priceFor(exchange, model);
  if (price === null) return Infinity;
  const averages = entry.model.plan.contenders[target.index]?.state.tokens;
  const inputTokens = Math.ceil((exchange.body?.bytes.byteLength ?? 0) / BYTES_PER_TOKEN);
  return price.costOf({
    ...NO_TOKENS,
    inputTokens,
    cachedInputTokens: Math.round(inputTokens * (averages?.cachedShare ?? 0)),
    outputTokens: Math.round(averages?.outputTokens ?? 0),
  });
}

function allDrained({ model }: VirtualRoute): GatehouseError {
  return new GatehouseError(
    "no_healthy_target",
    `All targets of the virtual model "${model.name}" have the weight 0. Give one of them a higher weight.`,
    { headers: { "Retry-After": String(DRAINED_RETRY_SECONDS) } },
  );
}

function contextLengthExceeded(
  { requested }: VirtualRoute,
  inputTokens: number,
  contextWindow: number,
): GatehouseError {
  return new GatehouseError(
    "context_length_exceeded",
    `The input has about ${inputTokens} tokens, and the context window of "${requested.slice(0, 255)}" has ${contextWindow}. Shorten the input.`,
    {
      fields: { input_tokens: inputTokens, context_window: contextWindow },
      headers: { "x-should-retry": "false" },
    },
  );
}
