// What the attempts of a request used, for the settlement of limits and budgets.
import { MAX_AMOUNT } from "../../ledger/ledger.ts";
import type { LimitClaim, TokensLimitClaim } from "../../sdk/index.ts";
import type { AttemptFacts } from "../../telemetry/requests/request-facts.ts";
import { isOutputKnown, NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import type { Exchange } from "../exchange.ts";
import { priceFor, type PricedExchange } from "../price-for.ts";
import { isChargedFailure, unusedTokensOf } from "./charged-failure.ts";
import { countsModel, type Charge, type PlannedClaim } from "./reserved-claims.ts";

/** An unknown amount, for which the reserved one is charged. NaN makes every sum with it unknown, too. */
const AS_RESERVED = NaN;
const UNKNOWN_TOKENS = { inputTokens: AS_RESERVED, outputTokens: AS_RESERVED };

/** The parts of an exchange that decide what it is charged with. */
type ChargedExchange = Pick<Exchange, "usage" | "costNanos"> &
  PricedExchange & {
    readonly handshake: object | null;
    readonly response: ChargedResponse | null;
    readonly attemptFacts: readonly ChargedAttempt[];
  };
type ChargedAttempt = Pick<
  AttemptFacts,
  | "fault"
  | "wasSent"
  | "purpose"
  | "model"
  | "unusedUsage"
  | "hiddenTokens"
  | "hiddenReasoning"
  | "cutOutputTokens"
  | "isChargedAsReserved"
>;

interface ChargedResponse {
  readonly model: string | null;
  readonly isStream: boolean;
  readonly upstreamResponse: { readonly ok: boolean };
  readonly report: { readonly facts: ChargedAttempt | null };
}

/** Returns what the attempts of a request used: the response that was relayed, and attempts whose response did not arrive. */
export function chargesOf(exchange: ChargedExchange, inputTokens: number): Charge[] {
  const { response, usage, attemptFacts } = exchange;
  // The responses of an open WebSocket are charged one by one, and a handshake runs no model.
  if (exchange.handshake !== null) return [];
  const relayed = response?.report.facts ?? null;
  const charges: Charge[] = [];
  for (const facts of attemptFacts) {
    // The second attempt of a hedged request has a reservation of its own.
    if (facts === relayed || facts.purpose === "hedge" || !isChargedFailure(facts)) continue;
    const tokens = unusedTokensOf(facts, inputTokens);
    const nanos = priceFor(exchange, facts.model)?.costOf(tokens) ?? 0;
    const { inputTokens: input, outputTokens: output } = tokens;
    const isPartial = facts.isChargedAsReserved;
    charges.push({ model: facts.model, nanos, inputTokens: input, outputTokens: output, isPartial });
  }
  if (response !== null && response.upstreamResponse.ok) {
    const { model } = response;
    // The usage of a stream that was cut is estimated from the text that was relayed, but not that of audio and images. Other responses
    // have been generated completely.
    const isOutputUnknown = usage !== null && !isOutputKnown(usage);
    const isNoText = usage?.hasMedia === true || relayed?.isChargedAsReserved === true;
    const isPartial = isOutputUnknown && (!response.isStream || isNoText);
    const { inputTokens: input, outputTokens: output } = tokensOf(usage);
    const nanos = exchange.costNanos ?? (priceFor(exchange, model) === null ? 0 : AS_RESERVED);
    charges.push({ model, nanos, inputTokens: input, outputTokens: output, isPartial });
  }
  return charges;
}

/** Whether `chargesOf` returns one charge that `isKnown`: the request was sent once, and its response reported what it used. */
export function hasOneKnownCharge({
  handshake,
  response,
  usage,
  costNanos,
  attemptFacts,
}: ChargedExchange): boolean {
  if (handshake !== null || response === null || attemptFacts.length !== 1) return false;
  if (attemptFacts[0] !== response.report.facts || !response.upstreamResponse.ok) return false;
  if (usage === null || usage.isPartial || costNanos === null) return false;
  return !Number.isNaN(costNanos + usage.inputTokens + usage.outputTokens);
}

/** The tokens of a response without usage are unknown, and so are those of one that was cut before it reported any. */
function tokensOf(usage: Usage | null): Pick<Charge, "inputTokens" | "outputTokens"> {
  if (usage === null || (usage.isPartial && usage.inputTokens + usage.outputTokens === 0))
    return UNKNOWN_TOKENS;
  return usage;
}

/** Whether no amount of the charge depends on what was reserved. */
export function isKnown({ nanos, inputTokens, outputTokens, isPartial }: Charge): boolean {
  return !isPartial && !Number.isNaN(nanos + inputTokens + outputTokens);
}

/** Returns what a budget is charged with. */
function amountOfBudget(claim: PlannedClaim, charges: readonly Charge[]): number {
  let sum = 0;
  for (const charge of charges) {
    if (!countsModel(claim, charge.model)) continue;
    const { nanos, inputTokens, outputTokens } = charge;
    const amount = claim.budget.record.unit === "usd" ? nanos : inputTokens + outputTokens;
    const before = claim.addsTo ?? null;
    if (before === null) sum += chargeFor(claim.amount, amount, charge.isPartial);
    // The first claim on the same budget is charged as if it were the only one.
    else
      sum +=
        chargeFor(before + claim.amount, amount, charge.isPartial) -
        chargeFor(before, amount, charge.isPartial);
  }
  return Math.min(sum, MAX_AMOUNT);
}

/** Returns what the limit of a plugin is charged with. A limit of requests counts one request, whatever is returned. */
function amountOfLimit(claim: LimitClaim, charges: readonly Charge[]): number {
  if (claim.kind === "requests" || claim.count === "reserved") return AS_RESERVED;
  let sum = 0;
  for (const { model, inputTokens, outputTokens, isPartial } of charges) {
    const { countsModel: counts } = claim;
    if (counts !== undefined && !counts(model)) continue;
    sum += chargeFor(claim.amount, countedTokens(claim, inputTokens, outputTokens), isPartial);
  }
  return Math.min(sum, MAX_AMOUNT);
}

function countedTokens({ count }: TokensLimitClaim, inputTokens: number, outputTokens: number): number {
  return (count === "output" ? 0 : inputTokens) + (count === "input" ? 0 : outputTokens);
}

function chargeFor(reserved: number, amount: number, isPartial: boolean): number {
  if (Number.isNaN(amount)) return reserved;
  return isPartial ? Math.max(amount, reserved) : amount;
}

/** Returns what each of the limits, then each of the budgets is charged with. `amounts` is the array to use. */
export function amountsOf(
  limits: readonly LimitClaim[],
  budgets: readonly PlannedClaim[],
  charges: readonly Charge[],
  amounts: number[] = [],
): number[] {
  let at = 0;
  for (const claim of limits) amounts[at++] = amountOfLimit(claim, charges);
  for (const claim of budgets) amounts[at++] = amountOfBudget(claim, charges);
  return amounts;
}

/**
 * As `amountsOf` with `chargesOf` an exchange that `hasOneKnownCharge`, without a list of charges. No limit counts what is reserved, and no
 * budget has an addition.
 */
export function onlyAmountsOf(
  { response, usage, costNanos }: ChargedExchange,
  limits: readonly TokensLimitClaim[],
  budgets: readonly PlannedClaim[],
  amounts: number[],
): number[] {
  const { inputTokens, outputTokens } = usage ?? NO_TOKENS;
  const model = response?.model ?? null;
  let at = 0;
  for (const claim of limits) {
    const { countsModel: counts } = claim;
    const isCounted = counts === undefined || counts(model);
    amounts[at++] = isCounted ? countedTokens(claim, inputTokens, outputTokens) : 0;
  }
  for (const claim of budgets) {
    const amount = claim.budget.record.unit === "usd" ? (costNanos ?? 0) : inputTokens + outputTokens;
    amounts[at++] = countsModel(claim, model) ? amount : 0;
  }
  return amounts;
}
