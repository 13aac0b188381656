// Reserves limits and budgets for a request without calling the plugin: those that an earlier request of the same API key, rule, model and
// user has reserved. Everything that differs from it, and every refusal, is left to reserve-claims.ts.
import { BoundedCache } from "../../base/bounded-cache.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import { MemoryLedger } from "../../ledger/memory-ledger.ts";
import type { RepeatedClaims } from "../../ledger/repeated-claims.ts";
import type { BudgetBook } from "../../runtime/budget-book.ts";
import { tokensToReserve, type TokensLimitClaim } from "../../sdk/index.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { NumberSeries } from "../../telemetry/metrics/metric-family.ts";
import type { ObservedPlugin } from "../../telemetry/metrics/observed-plugin.ts";
import type { CompiledPrice } from "../../usage/compiled-price.ts";
import type { PriceTable } from "../../usage/price-table.ts";
import { amountFor, mayCost, type PlanParts } from "../budgets/plan-budgets.ts";
import { RepeatedReserved, type RepeatedPlan } from "../budgets/repeated-reserved.ts";
import { estimateAt, onlyEligibleModel, sizeOf, startsJob } from "../budgets/request-estimate.ts";
import type { RequestSize } from "../budgets/request-size.ts";
import { modelProblemOf } from "../budgets/require-one-model.ts";
import type { PlannedClaim } from "../budgets/reserved-claims.ts";
import type { Exchange } from "../exchange.ts";
import { runOf, type PluginParts } from "../plugin-call.ts";
import { priceFor } from "../price-for.ts";
import { userKeyOf } from "../user-of.ts";
import type { LimiterCall } from "./limiter-call.ts";

/** API keys of a gateway whose plans are kept. */
const KEPT_KEYS = 1000;
const WITHOUT_KEY = {};
/** Plans of one API key that are kept, for its models and users. */
const PLANS_PER_KEY = 4;
/** Of an API key with more of them, only one in this many requests without a plan replaces one, because a plan takes time to create. */
const REQUESTS_PER_REPLACEMENT = 16;

type Parts = PlanParts & PluginParts;

/** What a request must have in common with the one whose claims it repeats, beside the API key and the compiled gateway. */
interface LimitPlan extends RepeatedPlan {
  readonly link: ChainLink;
  readonly rule: CompiledRule;
  readonly sharedPrices: PriceTable;
  readonly model: string | null;
  readonly price: CompiledPrice | null;
  /** Null if the user does not matter. */
  readonly userKey: string | null;
  /** Unix milliseconds in which the periods of the budgets are the same; the end is excluded. */
  readonly validFrom: number;
  readonly validUntil: number;
  /** Those of the last request. */
  counters: PluginCounters | null;
}

/** What is counted for each request, so that it is looked up once. */
interface PluginCounters {
  readonly plugin: ObservedPlugin;
  readonly decided: NumberSeries;
  readonly admitted: NumberSeries;
}

/** Returns null for a ledger that other processes share: it decides about every request. */
export function createRepeatedLimits(book: BudgetBook): RepeatedLimits | null {
  const { ledger } = book;
  if (!(ledger instanceof MemoryLedger)) return null;
  return new RepeatedLimits(ledger.repeated, (claim) => book.admitted(claim));
}

/** The plans of an API key. */
class KeyPlans {
  readonly #plans: LimitPlan[] = [];
  #unknownCount = 0;

  find(exchange: Exchange, link: ChainLink, rule: CompiledRule, model: string | null): LimitPlan | null {
    const at = this.#indexOf(exchange, link, rule, model);
    return this.#plans[at] ?? null;
  }

  /** Returns where a plan of the request is to be kept; -1 if it is not. */
  placeFor(exchange: Exchange, link: ChainLink, rule: CompiledRule, model: string | null): number {
    const at = this.#indexOf(exchange, link, rule, model);
    if (at !== -1) return at;
    if (this.#plans.length < PLANS_PER_KEY) return this.#plans.length;
    const count = ++this.#unknownCount;
    if (count % REQUESTS_PER_REPLACEMENT !== 0) return -1;
    return (count / REQUESTS_PER_REPLACEMENT) % PLANS_PER_KEY;
  }

  put(at: number, plan: LimitPlan): void {
    this.#plans[at] = plan;
  }

  #indexOf(exchange: Exchange, link: ChainLink, rule: CompiledRule, model: string | null): number {
    let userKey: string | null = null;
    for (let at = 0; at < this.#plans.length; at++) {
      const plan = this.#plans[at];
      if (plan === undefined || plan.model !== model || plan.rule !== rule || plan.link !== link) continue;
      if (plan.sharedPrices !== exchange.snapshot.prices) continue;
      if (plan.userKey === null || plan.userKey === (userKey ??= userKeyOf(exchange))) return at;
    }
    return -1;
  }
}

export class RepeatedLimits {
  readonly #ledger: RepeatedClaims;
  readonly #admitted: (claim: PlannedClaim) => void;
  /** By API key. A gateway is compiled again when anything of it changes. */
  readonly #plans = new WeakMap<CompiledGateway, BoundedCache<object, KeyPlans>>();

  /** `admitted` is called with the claims on budgets that were reserved. */
  constructor(ledger: RepeatedClaims, admitted: (claim: PlannedClaim) => void) {
    this.#ledger = ledger;
    this.#admitted = admitted;
  }

  /** Returns whether everything is reserved, and reported. Otherwise nothing has changed, and the plugin has to be asked. */
  reserve(exchange: Exchange, link: ChainLink, parts: Parts): boolean {
    const plan = this.#planFor(exchange, link);
    if (plan === null) return false;
    const startedAt = exchange.clock.now();
    const reserved = this.#draftFor(exchange, plan, startedAt, parts);
    if (reserved === null || !this.#ledger.reserve(reserved, startedAt)) return false;
    exchange.reserved = reserved;
    exchange.ownHeaders.setReserved(reserved);
    reserved.findTightest();
    const { tokenLimit } = exchange;
    if (tokenLimit === null || reserved.remaining < tokenLimit.remaining) exchange.tokenLimit = reserved;
    for (const claim of plan.budgets) this.#admitted(claim);
    const run = runOf(exchange, link, "pre_request", parts);
    const counters = (plan.counters = countersOf(run.plugin, plan.counters));
    counters.decided.add();
    counters.admitted.add();
    run.ended(exchange.clock.now() - startedAt);
    return true;
  }

  /** Keeps the claims of a request that are reserved, if the plugin says that later requests repeat them. */
  remember(exchange: Exchange, call: LimiterCall, budgets: readonly PlannedClaim[]): void {
    const { gateway, rule, apiKey, snapshot, clock } = exchange;
    const limits = tokenClaimsOf(call);
    if (limits === null || gateway === null || rule === null || !isOrdinary(exchange, rule)) return;
    // The subjects of their budgets have no bound.
    if (gateway.budgets?.some(({ record }) => record.scope === "user") === true) return;
    const { link } = call.call;
    const plans = this.#plansOf(gateway, apiKey);
    const model = onlyModelOf(exchange, rule);
    if (model === undefined) return;
    const place = plans.placeFor(exchange, link, rule, model);
    if (place === -1) return;
    const repeats = call.repeats();
    const remembered = this.#ledger.remember([...limits, ...budgets]);
    if (repeats === null || remembered === null) return;
    const { fields } = repeats;
    plans.put(place, {
      limits,
      budgets,
      remembered,
      fields,
      bits: fields.reduce((bits, each) => bits | each.bits, 0),
      link,
      rule,
      sharedPrices: snapshot.prices,
      model,
      price: priceFor(exchange, model),
      userKey: repeats.dependsOnUser ? userKeyOf(exchange) : null,
      validFrom: clock.unixNow(),
      validUntil: Math.min(...budgets.map(({ endsAt }) => endsAt ?? Infinity)),
      counters: null,
    });
  }

  #plansOf(gateway: CompiledGateway, apiKey: object | null): KeyPlans {
    let keys = this.#plans.get(gateway);
    if (keys === undefined) this.#plans.set(gateway, (keys = new BoundedCache(KEPT_KEYS)));
    const key = apiKey ?? WITHOUT_KEY;
    let plans = keys.get(key);
    if (plans === undefined) keys.set(key, (plans = new KeyPlans()));
    return plans;
  }

  #planFor(exchange: Exchange, link: ChainLink): LimitPlan | null {
    const { gateway, rule, apiKey } = exchange;
    if (gateway === null || rule === null) return null;
    const plans = this.#plans.get(gateway)?.get(apiKey ?? WITHOUT_KEY);
    if (plans === undefined || !isOrdinary(exchange, rule)) return null;
    const model = onlyModelOf(exchange, rule);
    return model === undefined ? null : plans.find(exchange, link, rule, model);
  }

  /** Returns null if the size of the request is not known at once, or the period of a budget is another one. */
  #draftFor(exchange: Exchange, plan: LimitPlan, now: number, parts: Parts): RepeatedReserved | null {
    if (plan.budgets.length > 0) {
      const unixMs = this.#ledger.unixAt(now);
      if (unixMs < plan.validFrom || unixMs >= plan.validUntil) return null;
    }
    const size = sizeOf(exchange, parts);
    if (isPromise(size)) return null;
    const draft = new RepeatedReserved(plan, this.#ledger, exchange.body, exchange.sentPath);
    setAmounts(draft, plan, exchange, size, parts);
    return draft;
  }
}

/** Series that are not used for long are removed with the object of the plugin. */
function countersOf(plugin: ObservedPlugin, known: PluginCounters | null): PluginCounters {
  if (known !== null && known.plugin === plugin) return known;
  const decided = plugin.eventSeries("decided", "memory");
  return { plugin, decided, admitted: plugin.eventSeries("admitted", "") };
}

/** The amounts are those of `tokensToReserve` and `planBudgets` for the only model. */
function setAmounts(
  draft: RepeatedReserved,
  { limits, budgets, model, price }: LimitPlan,
  exchange: Exchange,
  size: RequestSize,
  { budgetAccounts }: Parts,
): void {
  const isLimited = size.maxOutputTokens !== null;
  const estimate = estimateAt(price, exchange, model, size, budgetAccounts);
  const { inputTokens, outputTokens, fileTokens } = estimate;
  let at = 0;
  for (const { limit, count } of limits)
    draft.setAmount(
      at++,
      tokensToReserve(limit, countOf(count), inputTokens, outputTokens, isLimited, fileTokens),
    );
  for (const { budget } of budgets) draft.setAmount(at++, amountFor(budget, estimate, size));
}

function countOf(count: TokensLimitClaim["count"]): "total" | "input" | "output" {
  return count === "input" || count === "output" ? count : "total";
}

/** Returns null if one of the claims is not one on tokens that are reported. */
function tokenClaimsOf({ claims }: LimiterCall): readonly TokensLimitClaim[] | null {
  const limits: TokensLimitClaim[] = [];
  for (const claim of claims) {
    if (claim.kind !== "tokens" || claim.count === "reserved") return null;
    limits.push(claim);
  }
  return limits.length === 0 ? null : limits;
}

/** Whether nothing but the size of the request decides about the amounts, and plugins have not changed it. */
function isOrdinary(exchange: Exchange, { virtualModels }: CompiledRule): boolean {
  const { handshake, gameDay, route, body, path, sentPath } = exchange;
  if (virtualModels !== null || handshake !== null || gameDay !== null || route !== null) return false;
  return body !== null && !body.isUnscanned && sentPath === path;
}

/** Returns undefined if the request runs no model, may run several, or hides which one. Errors are reported by the steps that follow. */
function onlyModelOf(exchange: Exchange, rule: CompiledRule): string | null | undefined {
  try {
    const { modelProblem, furtherModels } = exchange.fields;
    if (!mayCost(exchange, rule) || modelProblem !== null || furtherModels.length > 0) return undefined;
    if (startsJob(exchange, rule) || modelProblemOf(exchange, rule) !== null) return undefined;
    return onlyEligibleModel(exchange, rule);
  } catch {
    return undefined;
  }
}
