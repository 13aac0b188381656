// Runs plugins in shadow mode at pre_request, post_request and post_response: on copies, and without waiting for them.
import type { HeaderFields } from "../../http/header-fields.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { PluginHooks } from "../../sdk/index.ts";
import type { ShadowChain, ShadowLink } from "../../snapshot/shadow-chain.ts";
import { NO_LOG } from "../../telemetry/log/log.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { ShadowResult } from "../../telemetry/requests/shadow-report.ts";
import { callHook } from "../call-hook.ts";
import type { Exchange } from "../exchange.ts";
import { LimiterCall } from "../limits/limiter-call.ts";
import type { ClaimParts } from "../limits/reserve-claims.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { PostRequestContext } from "../post-request-context.ts";
import { PostResponseContext } from "../post-response-context.ts";
import { PreRequestContext } from "../pre-request-context.ts";
import { changesSince, keepState, stateOf } from "../request-changes.ts";
import type { ResponseOrigin } from "../pre-response-context.ts";
import { compareRequests, effectsOf, type RequestEffects } from "./compare-versions.ts";
import { copyExchange, separateBody, SharedCopy } from "./shadow-copy.ts";
import { report, SKIPPED } from "./report-shadow.ts";
import { ShadowRequest } from "./shadow-request.ts";
import { resultOf } from "./shadow-result.ts";
import type { ShadowTurns } from "./shadow-turns.ts";

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
  if (shadow === null) return null;
  let compare: Compare | null = null;
  const copies = new SharedCopy(exchange);
  for (const link of shadows.pre_request ?? []) {
    if (link.position !== position || !shadow.isSampled(link)) continue;
    // The body of an upload is not in memory, and reading it would change how it is sent to the provider.
    if (link.needsBody && exchange.upload !== null) {
      report(exchange, link, SKIPPED, parts);
      continue;
    }
    parts.clientAddress(exchange);
    const takeCopy = copies.reserve();
    if (link.beside === null) enqueuePreRequest(exchange, takeCopy, link, parts, null);
    else
      compare = (response, hasFailed) =>
        enqueuePreRequest(exchange, takeCopy, link, parts, effectsOf(exchange, response, hasFailed, parts));
  }
  return compare;
}

function beginShadow(
  exchange: Exchange,
  { load, ...stages }: ShadowChain,
  parts: PluginParts & ShadowParts,
): void {
  const size = exchange.body?.bytes.byteLength ?? 0;
  exchange.shadow = ShadowRequest.begin(load, size, parts.shadowTurns);
  if (exchange.shadow !== null) return;
  for (const links of Object.values(stages))
    for (const link of links ?? []) report(exchange, link, SKIPPED, parts);
}

function enqueuePreRequest(
  exchange: Exchange,
  takeCopy: () => Exchange,
  link: ShadowLink,
  parts: PreRequestParts,
  expected: RequestEffects | null,
): void {
  const run = async () => {
    const copy = takeCopy();
    const { result, response } = await runPreRequestOn(copy, link, parts, exchange.shadow);
    if (expected === null) {
      report(exchange, link, result, parts);
      return;
    }
    const hasFailed = result.outcome === "failed" || result.outcome === "timed_out";
    const differences = compareRequests(expected, effectsOf(copy, response, hasFailed, parts));
    report(exchange, link, { ...result, ...comparison(result, differences) }, parts);
  };
  exchange.shadow?.enqueue(run, (error) => logError(error, exchange, link, parts));
}

/** Runs the claims hook and the pre_request hook of a plugin on a copy. */
export async function runPreRequestOn(
  copy: Exchange,
  link: ShadowLink,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): Promise<{ result: ShadowResult; response: OutgoingResponse | null }> {
  separateBody(copy);
  const before = keepState(copy, parts);
  const quiet = withoutLog(parts);
  const call = new PluginCall(copy, link, "pre_request", quiet);
  let response = link.hooks.claims === undefined ? null : await runClaims(copy, call, quiet, shadow);
  if (response === null && call.run.error === null && link.hooks.pre_request !== undefined)
    response = await callHook(
      call,
      (hooks, context) => hooks.pre_request?.(context),
      new PreRequestContext(call),
    );
  if (response === null && copy.pluginWork !== null) response = await copy.pluginWork.decided();
  // Most plugins change nothing, and comparing what is sent takes longer than many hooks.
  const changes = call.run.verdict === "changed" ? changesSince(before(), stateOf(copy, parts)) : [];
  return { result: resultOf(call, response, changes), response };
}

/** By the parts of a data plane: they have dozens of fields, and copying them for each call takes time. */
const quietParts = new WeakMap<PreRequestParts, PreRequestParts>();

function withoutLog(parts: PreRequestParts): PreRequestParts {
  let quiet = quietParts.get(parts);
  if (quiet === undefined) quietParts.set(parts, (quiet = { ...parts, log: NO_LOG }));
  return quiet;
}

/** Reserves the limits of this plugin only, in its own counters, and no budget. */
async function runClaims(
  copy: Exchange,
  call: PluginCall,
  parts: PreRequestParts,
  shadow: ShadowRequest | null,
): Promise<OutgoingResponse | null> {
  const limiter = new LimiterCall(call, parts);
  await limiter.ask();
  const limits = limiter.claims;
  if (limits.length > 0 && call.response === null) {
    const decided = await parts.reserveInLedger(copy, limits);
    if (decided.reserved) {
      const reserved = { reservation: decided, limits, budgets: [], plannedFor: null, added: null };
      if (shadow === null) decided.release();
      else shadow.reservations.push({ reserved, knownSize: () => copy.knownSize });
    }
    limiter.decide(decided, 0);
  }
  return limiter.finish();
}

/** Starts the shadow plugins that run before the enforced plugin at `position`. `headers` are those at this point. */
export function shadowPostRequest(
  exchange: Exchange,
  shadows: ShadowChain,
  position: number,
  response: ResponseOrigin,
  status: number,
  headers: HeaderFields,
  parts: PluginParts,
): ((status: number) => void) | null {
  const { shadow } = exchange;
  if (shadow === null || shadows.post_request === null) return null;
  let compare: ((status: number) => void) | null = null;
  for (const link of shadows.post_request) {
    if (link.position !== position || !shadow.isSampled(link)) continue;
    const copy = copyExchange(exchange);
    const before = headers.clone();
    const copied = headers.clone();
    const start = (expected: { status: number; headers: string } | null) => {
      const run = async () => {
        const call = new PluginCall(copy, link, "post_request", { ...parts, log: NO_LOG });
        const context = new PostRequestContext(call, response, status, copied);
        await callHook(call, (hooks, given) => hooks.post_request?.(given), context);
        const changes = [
          ...(context.status === status ? [] : [`the status to ${context.status}`]),
          ...changedHeaders(before, copied),
        ];
        const result = resultOf(call, null, changes);
        const isSame = expected?.status === context.status && expected.headers === textOf(copied);
        const differences = isSame ? [] : ["the status or the headers"];
        report(
          exchange,
          link,
          expected === null ? result : { ...result, ...comparison(result, differences) },
          parts,
        );
      };
      shadow.enqueue(run, (error) => logError(error, exchange, link, parts));
    };
    if (link.beside === null) start(null);
    else compare = (changed) => start({ status: changed, headers: textOf(headers) });
  }
  return compare;
}

/** Starts the shadow plugins of post_response, settles what shadow plugins have reserved, and ends the shadow of the request. */
export function shadowEnd(
  exchange: Exchange,
  shadow: ShadowRequest,
  outcome: Outcome,
  status: number,
  parts: PluginParts,
  settle: (shadow: ShadowRequest) => void,
): void {
  for (const listener of shadow.endListeners) listener();
  for (const link of exchange.gateway?.chain?.shadows?.post_response ?? []) {
    if (!shadow.isSampled(link)) continue;
    const call = new PluginCall(copyExchange(exchange), link, "post_response", { ...parts, log: NO_LOG });
    const context = new PostResponseContext(call, outcome, status);
    const run = async () => {
      await callHook(call, callPostResponse, context);
      report(exchange, link, resultOf(call, null, []), parts);
    };
    shadow.enqueue(run, (error) => logError(error, exchange, link, parts));
  }
  shadow.enqueue(
    () => settle(shadow),
    (error) => parts.log.error({ request_id: exchange.requestId, err: error }, "shadow limits not settled"),
  );
  shadow.end();
}

const callPostResponse = (hooks: PluginHooks, context: PostResponseContext) => hooks.post_response?.(context);

/** What both versions did differently, as the report shows it. */
export function comparison(
  { detail }: ShadowResult,
  differences: readonly string[],
): Pick<ShadowResult, "agrees" | "detail"> {
  if (differences.length === 0) return { agrees: true, detail };
  const text = `differs from the current version in ${differences.join(", ")}`;
  return { agrees: false, detail: detail === null ? text : `${text}; ${detail}` };
}

function changedHeaders(before: HeaderFields, after: HeaderFields): string[] {
  const names = new Set([...before.names, ...after.names]);
  return [...names]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `the header ${name}`);
}

function textOf(headers: HeaderFields): string {
  return JSON.stringify([...headers.entries()]);
}

export function logError(error: unknown, exchange: Exchange, link: ShadowLink, { log }: PluginParts): void {
  log.error({ request_id: exchange.requestId, plugin: link.name, err: error }, "shadow result not recorded");
}
