// Runs plugins in shadow mode at pre_request: on copies, and without waiting for them. Every request of a gateway with such plugins
// runs this code, and what it allocates causes garbage collections, which delay requests. Therefore there are objects instead of
// closures, and promises only where a plugin returns one.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { Refusal, Reservation } from "../../ledger/ledger.ts";
import { PLUGIN_STAGES } from "../../model/plugin-stage.ts";
import type { ShadowChain, ShadowLink } from "../../snapshot/shadow-chain.ts";
import type { ShadowResult } from "../../telemetry/requests/shadow-report.ts";
import { reservedClaims, type PlannedClaim } from "../budgets/reserved-claims.ts";
import { callHook } from "../call-hook.ts";
import type { Exchange } from "../exchange.ts";
import { LimiterCall } from "../limits/limiter-call.ts";
import type { ClaimParts } from "../limits/reserve-claims.ts";
import type { PluginParts } from "../plugin-call.ts";
import { PreRequestContext } from "../pre-request-context.ts";
import { comparison, compareRequests, effectsOf, type RequestEffects } from "./compare-versions.ts";
import { logError, report, SKIPPED } from "./report-shadow.ts";
import { ShadowCall } from "./shadow-call.ts";
import { copyExchange } from "./shadow-copy.ts";
import { ShadowRequest, type WaitingCall } from "./shadow-request.ts";
import { resultOf } from "./shadow-result.ts";
import type { ShadowTurns } from "./shadow-turns.ts";
import { withoutLog } from "./without-log.ts";

type PreRequestParts = PluginParts & ClaimParts;

export interface ShadowParts {
  readonly shadowTurns: ShadowTurns;
}

/** Called with the result of the plugin that takes effect; the next version is compared with it. */
type Compare = (response: OutgoingResponse | null, hasFailed: boolean) => void;

/**
 * Starts the shadow plugins that run before the enforced plugin at `position`. Returns a function if a next version of that plugin
 * has to be compared with it, else null.
 */
export function shadowPreRequest(
  exchange: Exchange,
  shadows: ShadowChain,
  position: number,
  parts: PreRequestParts & ShadowParts,
): Compare | null {
  if (position === 0) beginShadow(exchange, shadows, parts);
  const { shadow } = exchange;
  const links = shadows.pre_request;
  if (shadow === null || links === null) return null;
  let compare: Compare | null = null;
  let copy: Exchange | null = null;
  for (const link of links) {
    if (link.position !== position || !shadow.isSampled(link)) continue;
    // The body of an upload is not in memory, and reading it would change how it is sent to the provider.
    if (link.needsBody && exchange.upload !== null) {
      report(exchange, link, SKIPPED, parts);
      continue;
    }
    parts.clientAddress(exchange);
    copy ??= copyExchange(exchange);
    if (link.beside === null) shadow.enqueue(new PreRequestCall(exchange, copy, link, parts, null));
    else compare = comparedWith(exchange, shadow, copy, link, parts);
  }
  return compare;
}

function comparedWith(
  exchange: Exchange,
  shadow: ShadowRequest,
  copy: Exchange,
  link: ShadowLink,
  parts: PreRequestParts,
): Compare {
  return (response, hasFailed) => {
    const expected = effectsOf(exchange, response, hasFailed, parts);
    shadow.enqueue(new PreRequestCall(exchange, copy, link, parts, expected));
  };
}

function beginShadow(exchange: Exchange, shadows: ShadowChain, parts: PluginParts & ShadowParts): void {
  const size = exchange.body?.bytes.byteLength ?? 0;
  exchange.shadow = ShadowRequest.begin(shadows.load, size, parts.shadowTurns);
  if (exchange.shadow === null) skipAll(exchange, shadows, parts);
}

function skipAll(exchange: Exchange, shadows: ShadowChain, parts: PluginParts): void {
  for (const stage of PLUGIN_STAGES)
    for (const link of shadows[stage] ?? []) report(exchange, link, SKIPPED, parts);
}

/** The claims hook and the pre_request hook of one plugin. */
class PreRequestCall implements WaitingCall {
  readonly #exchange: Exchange;
  readonly #copy: Exchange;
  readonly #link: ShadowLink;
  readonly #parts: PreRequestParts;
  /** What the enforced version did; null if there is none. */
  readonly #expected: RequestEffects | null;

  constructor(
    exchange: Exchange,
    copy: Exchange,
    link: ShadowLink,
    parts: PreRequestParts,
    expected: RequestEffects | null,
  ) {
    this.#exchange = exchange;
    this.#copy = copy;
    this.#link = link;
    this.#parts = parts;
    this.#expected = expected;
  }

  run(): ValueOrPromise<void> {
    const ran = runPreRequestOn(this.#copy, this.#link, this.#parts, this.#exchange.shadow);
    if (isPromise(ran)) return this.#reportLater(ran);
    this.#report(ran);
  }

  fail(error: unknown): void {
    logError(error, this.#exchange, this.#link, this.#parts);
  }

  async #reportLater(running: Promise<ShadowCall>): Promise<void> {
    this.#report(await running);
  }

  #report(call: ShadowCall): void {
    const result = resultOfCall(call);
    const expected = this.#expected;
    if (expected === null) {
      report(this.#exchange, this.#link, result, this.#parts);
      return;
    }
    const hasFailed = result.outcome === "failed" || result.outcome === "timed_out";
    const differences = compareRequests(
      expected,
      effectsOf(call.exchange, call.result, hasFailed, this.#parts),
    );
    report(this.#exchange, this.#link, { ...result, ...comparison(result, differences) }, this.#parts);
  }
}

/** Runs the claims hook and the pre_request hook of a plugin on a copy, which stays as it is. */
export function runPreRequestOn(
  copy: Exchange,
  link: ShadowLink,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): ValueOrPromise<ShadowCall> {
  // A plugin may modify the arguments of a tool.
  const shared = copy.mcp === null ? copy : copyExchange(copy);
  const call = new ShadowCall(shared, link, withoutLog(parts));
  if (link.hooks.claims === undefined) return runHook(call, null);
  const response = runClaims(call, parts, shadow);
  return isPromise(response) ? runHookLater(call, response) : runHook(call, response);
}

async function runHookLater(
  call: ShadowCall,
  claimed: Promise<OutgoingResponse | null>,
): Promise<ShadowCall> {
  return runHook(call, await claimed);
}

/** `claimed` is the response of the claims hook. */
function runHook(call: ShadowCall, claimed: OutgoingResponse | null): ValueOrPromise<ShadowCall> {
  const isCalled = claimed === null && call.run.error === null && call.link.hooks.pre_request !== undefined;
  const response = isCalled ? callHook(call, "pre_request", new PreRequestContext(call)) : claimed;
  // A hook that returns a promise may hold the response until then.
  if (isPromise(response) || call.exchange.pluginWork !== null) return finishLater(call, response);
  call.result = response;
  return call;
}

async function finishLater(
  call: ShadowCall,
  pending: ValueOrPromise<OutgoingResponse | null>,
): Promise<ShadowCall> {
  call.result = (await pending) ?? (await call.exchange.pluginWork?.decided()) ?? null;
  return call;
}

/** Call when the hooks have ended. */
export function resultOfCall(call: ShadowCall): ShadowResult {
  const { run } = call;
  // Most plugins change nothing, and comparing what is sent takes longer than many hooks.
  const changes = run.verdict === "changed" ? call.changes() : NO_CHANGES;
  return resultOf(run, call.errorCode, call.result, changes);
}

const NO_CHANGES: readonly string[] = [];

/** Reserves the limits of this plugin only, in its own counters, and no budget. */
function runClaims(
  call: ShadowCall,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): ValueOrPromise<OutgoingResponse | null> {
  const limiter = new LimiterCall(call, parts);
  const asked = limiter.ask();
  return asked === undefined
    ? reserveClaims(limiter, parts, shadow)
    : reserveClaimsLater(asked, limiter, parts, shadow);
}

async function reserveClaimsLater(
  asked: Promise<void>,
  limiter: LimiterCall,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): Promise<OutgoingResponse | null> {
  await asked;
  return reserveClaims(limiter, parts, shadow);
}

function reserveClaims(
  limiter: LimiterCall,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): ValueOrPromise<OutgoingResponse | null> {
  const { call, claims } = limiter;
  if (claims.length === 0 || call.response !== null) return limiter.finish();
  const decided = parts.reserveInLedger(call.exchange, claims);
  return isPromise(decided)
    ? decideClaimsLater(limiter, decided, shadow)
    : decideClaims(limiter, decided, shadow);
}

async function decideClaimsLater(
  limiter: LimiterCall,
  decided: Promise<Reservation | Refusal>,
  shadow: ShadowRequest | null,
): Promise<OutgoingResponse | null> {
  return decideClaims(limiter, await decided, shadow);
}

const NO_BUDGETS: readonly PlannedClaim[] = [];

function decideClaims(
  limiter: LimiterCall,
  decided: Reservation | Refusal,
  shadow: ShadowRequest | null,
): OutgoingResponse | null {
  if (decided.reserved) {
    const { claims: limits, call } = limiter;
    const reserved = reservedClaims(decided, limits, NO_BUDGETS);
    if (shadow === null) decided.release();
    else shadow.addReservation({ reserved, exchange: call.exchange });
  }
  limiter.decide(decided, 0);
  return limiter.finish();
}
