// Estimates of a request before it is sent, for budgets and for the limits of plugins: which models may get it, and its tokens.
import { percentDecoded } from "../../base/percent-decoded.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import { mayWriteCache } from "../../formats/cache-writes.ts";
import { OPERATIONS_WITHOUT_OUTPUT, type Operation } from "../../formats/operations.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { BudgetAccounts } from "../../runtime/budget-book.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { CompiledPrice } from "../../usage/compiled-price.ts";
import { candidatesFor } from "../attempt.ts";
import type { Exchange } from "../exchange.ts";
import { isPathSent, isRun, namedEndpoint } from "./named-operation.ts";
import { modelRunBy } from "../named-models.ts";
import { priceFor } from "../price-for.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";
import type * as requestSizeTask from "./request-size-task.ts";
import {
  mayBeObject,
  requestSizeIn,
  parsedRequestSize,
  sizeOfFile,
  UNKNOWN_SIZE,
  type ModelEstimate,
  type RequestSize,
} from "./request-size.ts";

const TASK = new URL("./request-size-task.ts", import.meta.url);
/** What they run is in a file, and is not charged by the price of requests. */
const JOBS: ReadonlySet<Operation> = new Set(["batches", "fine_tuning"]);
const CONVERSE_PATH = /\/model\/[^?]+\/converse(?:-stream)?\/?$/i;
const JOB_PATH = /\/(?:batches|fine_tuning)/;
const UNKNOWN_MODEL: readonly (string | null)[] = [null];
/** Reserved for the first request to a model that does not limit its output. */
const DEFAULT_OUTPUT_TOKENS = 1000;
/** More than any model returns. Keeps amounts exact integers. */
const MAX_OUTPUT_TOKENS = 1_000_000_000;

export interface EstimateParts extends OffLoopPart {
  readonly budgetAccounts: Pick<BudgetAccounts, "outputSizes" | "inputCalibration">;
}

/** Returns the models that the request may be sent to; null is one that is not known. */
export function eligibleModels(exchange: Exchange, rule: CompiledRule): readonly (string | null)[] {
  const { route } = exchange;
  if (startsJob(exchange, rule)) return UNKNOWN_MODEL;
  if (route === null) {
    const virtual = virtualRouteOf(exchange, rule);
    if (virtual !== null) return modelsOfLegs(exchange, virtual);
  }
  if (route !== null) return [...new Set(route.remaining().map(({ model }) => model))];
  const candidates = candidatesFor(exchange, rule);
  if (candidates.models !== null) return candidates.models;
  const names: (string | null)[] = [];
  addModelsOf(names, candidates.preferred, exchange, rule);
  addModelsOf(names, candidates.fallback, exchange, rule);
  candidates.models = names;
  return names;
}

/** Whether the request creates a batch or a fine-tuning job. The first test is cheap, because most requests need it. */
export function startsJob(exchange: Exchange, rule: CompiledRule): boolean {
  return JOB_PATH.test(exchange.path) && namedEndpoint(exchange, rule, JOBS) !== null;
}

/**
 * Returns the only one of `eligibleModels`, or undefined if there are several or none. The rule has no virtual models. Creates no list,
 * because it is called for every request.
 */
export function onlyEligibleModel(exchange: Exchange, rule: CompiledRule): string | null | undefined {
  const { preferred, fallback } = candidatesFor(exchange, rule);
  const first = preferred[0] ?? fallback[0];
  const only = first === undefined ? undefined : modelAt(exchange, rule, first);
  const isOnly =
    hasOnlyModel(exchange, rule, preferred, only) && hasOnlyModel(exchange, rule, fallback, only);
  return isOnly ? only : undefined;
}

function hasOnlyModel(
  exchange: Exchange,
  rule: CompiledRule,
  indexes: readonly number[],
  only: string | null | undefined,
): boolean {
  for (const index of indexes) if (modelAt(exchange, rule, index) !== only) return false;
  return true;
}

/** Returns undefined if there is no such target. */
function modelAt(exchange: Exchange, rule: CompiledRule, index: number): string | null | undefined {
  const target = rule.upstream.targets[index];
  return target === undefined ? undefined : modelRunBy(exchange, rule, target);
}

function addModelsOf(
  names: (string | null)[],
  indexes: readonly number[],
  exchange: Exchange,
  rule: CompiledRule,
): void {
  for (const index of indexes) {
    const model = modelAt(exchange, rule, index);
    if (model !== undefined && !names.includes(model)) names.push(model);
  }
}

/** Which targets of a virtual model are eligible is decided after the plugins, which may change the request. */
function modelsOfLegs({ apiKey }: Exchange, { legs }: VirtualRoute): string[] {
  const models = [...new Set(legs.flat().map(({ model }) => model))];
  const allowed = apiKey?.models ?? null;
  return allowed === null ? models : models.filter((model) => allowed.allows(model));
}

/** Determined once per body. */
export function sizeOf(exchange: Exchange, parts: OffLoopPart): ValueOrPromise<RequestSize> {
  const { knownSize, body } = exchange;
  if (knownSize !== null && knownSize.body === body) return knownSize.size;
  const size = measure(exchange, parts);
  exchange.knownSize = { body, size };
  return isPromise(size) ? keepSize(exchange, body, size) : size;
}

/** Apart, because a function with a closure allocates its scope whenever it is called. */
async function keepSize(
  exchange: Exchange,
  body: Exchange["body"],
  measured: Promise<RequestSize>,
): Promise<RequestSize> {
  const size = await measured;
  exchange.knownSize = { body, size };
  return size;
}

function measure(exchange: Exchange, { offLoop }: OffLoopPart): ValueOrPromise<RequestSize> {
  const { body, fields, endpoint, rule } = exchange;
  if (body === null) return UNKNOWN_SIZE;
  const { bytes, isJson } = body;
  const isKnown = endpoint !== null && rule !== null && isRun(exchange, rule, endpoint);
  const api = isKnown ? endpoint.operation : isConverse(exchange) ? "converse" : null;
  const isDeclared = fields.isObject;
  // Many servers read JSON whatever the content type is.
  if (!isDeclared && (isJson || !mayBeObject(bytes)))
    return { ...sizeOfFile(bytes), choices: fields.generation.choices };
  if (isLargeBody(bytes)) {
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    return offLoop.run<typeof requestSizeTask>(TASK, { bytes, api }, limits);
  }
  return isDeclared ? requestSizeIn(bytes, api) : parsedRequestSize(bytes, api);
}

/** Whether Bedrock's Converse API gets the request. Its path is no operation of a format. */
function isConverse({ rule, sentPath }: Exchange): boolean {
  return rule !== null && isPathSent(rule.upstream) && CONVERSE_PATH.test(percentDecoded(sentPath));
}

/** Returns the estimates for these models. Computed once per request and size, but for every response of a WebSocket: it learns from them. */
export function estimatesOf(
  exchange: Exchange,
  models: readonly (string | null)[],
  size: RequestSize,
  accounts: EstimateParts["budgetAccounts"],
): readonly ModelEstimate[] {
  const { knownEstimates } = exchange;
  if (knownEstimates !== null && knownEstimates.models === models && knownEstimates.size === size)
    return knownEstimates.estimates;
  const estimates: ModelEstimate[] = [];
  for (const model of models) estimates.push(estimateOf(exchange, model, size, accounts));
  if (exchange.handshake === null) exchange.knownEstimates = { models, size, estimates };
  return estimates;
}

export function estimateOf(
  exchange: Exchange,
  model: string | null,
  size: RequestSize,
  accounts: EstimateParts["budgetAccounts"],
): ModelEstimate {
  return estimateAt(priceFor(exchange, model), exchange, model, size, accounts);
}

/** As `estimateOf`, for a model whose price is known. */
export function estimateAt(
  price: CompiledPrice | null,
  exchange: Exchange,
  model: string | null,
  size: RequestSize,
  { inputCalibration, outputSizes }: EstimateParts["budgetAccounts"],
): ModelEstimate {
  const inputTokens = inputCalibration.calibrate(exchange.gateway?.id ?? "", model, size.inputTokens);
  const contextWindow = price?.contextWindow ?? Infinity;
  return {
    model,
    price,
    inputTokens,
    audioTokens: Math.min(size.audioTokens, inputTokens),
    fileTokens: Math.min(size.fileTokens, Math.max(0, contextWindow - inputTokens)),
    writesCache: price?.hasCacheWrites === true && mayWriteCache(exchange.body?.bytes ?? null),
    outputTokens: outputTokensOf(exchange, model, price, size, outputSizes),
  };
}

/** Returns the output of all choices of a request to this model. */
function outputTokensOf(
  exchange: Exchange,
  model: string | null,
  price: CompiledPrice | null,
  { maxOutputTokens, choices }: RequestSize,
  outputSizes: BudgetAccounts["outputSizes"],
): number {
  const { rule, gateway } = exchange;
  if (rule !== null && namedEndpoint(exchange, rule, OPERATIONS_WITHOUT_OUTPUT) !== null) return 0;
  let ofChoice = maxOutputTokens;
  if (ofChoice === null && model !== null) ofChoice = outputSizes.percentile(gateway?.id ?? "", model);
  ofChoice = Math.min(ofChoice ?? DEFAULT_OUTPUT_TOKENS, price?.maxOutputTokens ?? Infinity);
  return Math.min(ofChoice * choices, MAX_OUTPUT_TOKENS);
}
