// Runs the plugins of a gateway, stage by stage: in order, with a timeout for each call, and with isolated failures.
import { waitForTurn } from "../base/own-turn.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import type { ShadowChain } from "../snapshot/shadow-chain.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { HeaderFields } from "../http/header-fields.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { ArrivingRequestContext } from "./before-body-context.ts";
import { callHook } from "./call-hook.ts";
import type { Exchange } from "./exchange.ts";
import { reserveLimits, type ClaimParts } from "./limits/reserve-claims.ts";
import { PluginCall, type PluginParts } from "./plugin-call.ts";
import { PostRequestContext } from "./post-request-context.ts";
import { PostResponseContext } from "./post-response-context.ts";
import type { ResponseOrigin } from "./pre-response-context.ts";
import { PreRequestContext } from "./pre-request-context.ts";
import type { ShadowParts } from "./shadow/shadow-pre-request.ts";
import { SHADOW_RUNNERS } from "./shadow/shadow-runners.ts";

type PreRequestParts = PluginParts & ClaimParts & ShadowParts;

/** Returns the response of the first plugin that responds instead of a provider, or null. */
export function runPreRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PreRequestParts,
): ValueOrPromise<OutgoingResponse | null> {
  return runPreRequestFrom(0, exchange, chain, parts);
}

function runPreRequestFrom(
  first: number,
  exchange: Exchange,
  chain: PluginChain,
  parts: PreRequestParts,
): ValueOrPromise<OutgoingResponse | null> {
  const links = chain.pre_request ?? [];
  const bodyBytes = exchange.body?.bytes.byteLength ?? 0;
  for (let index = first; index < links.length; index++) {
    const link = links[index];
    if (link === undefined) break;
    const turn = waitForTurn(bodyBytes);
    if (turn !== null) return turn.then(() => runPreRequestFrom(index, exchange, chain, parts));
    const response =
      chain.shadows === null
        ? runLink(exchange, link, chain.limiters, parts)
        : runBesideShadows(exchange, link, index, chain, chain.shadows, parts);
    if (isPromise(response)) return continueAfter(response, index + 1, exchange, chain, parts);
    if (response !== null) return response;
  }
  if (chain.shadows !== null) SHADOW_RUNNERS.pre_request(exchange, chain.shadows, links.length, parts);
  return null;
}

/** Starts the shadow plugins at this position, and compares the plugin with its next version if there is one. */
function runBesideShadows(
  exchange: Exchange,
  link: ChainLink,
  position: number,
  chain: PluginChain,
  shadows: ShadowChain,
  parts: PreRequestParts,
): ValueOrPromise<OutgoingResponse | null> {
  const compare = SHADOW_RUNNERS.pre_request(exchange, shadows, position, parts);
  if (compare === null) return runLink(exchange, link, chain.limiters, parts);
  const pass = (response: OutgoingResponse | null) => {
    compare(response, false);
    return response;
  };
  const fail = (error: unknown): never => {
    compare(null, true);
    throw error;
  };
  let response: ValueOrPromise<OutgoingResponse | null>;
  try {
    response = runLink(exchange, link, chain.limiters, parts);
  } catch (error) {
    return fail(error);
  }
  return isPromise(response) ? response.then(pass, fail) : pass(response);
}

async function continueAfter(
  pending: Promise<OutgoingResponse | null>,
  next: number,
  exchange: Exchange,
  chain: PluginChain,
  parts: PreRequestParts,
): Promise<OutgoingResponse | null> {
  return (await pending) ?? runPreRequestFrom(next, exchange, chain, parts);
}

/** At the first plugin with claims, those of all are reserved. A plugin may have claims, a pre_request hook, or both. */
function runLink(
  exchange: Exchange,
  link: ChainLink,
  limiters: readonly ChainLink[] | null,
  parts: PreRequestParts,
): ValueOrPromise<OutgoingResponse | null> {
  if (limiters === null || link !== limiters[0]) return runOnePreRequest(exchange, link, parts);
  const refusal = reserveLimits(exchange, limiters, parts);
  return isPromise(refusal)
    ? runAfterLimits(refusal, exchange, link, parts)
    : (refusal ?? runOnePreRequest(exchange, link, parts));
}

async function runAfterLimits(
  refusal: Promise<OutgoingResponse | null>,
  exchange: Exchange,
  link: ChainLink,
  parts: PluginParts,
): Promise<OutgoingResponse | null> {
  return (await refusal) ?? runOnePreRequest(exchange, link, parts);
}

/** Returns the response of the first plugin that rejects the request before its body has arrived, or null. */
export function runBeforeBody(
  exchange: Exchange,
  links: readonly ChainLink[],
  parts: PluginParts,
): OutgoingResponse | null {
  for (const link of links) {
    const call = new PluginCall(exchange, link, "pre_request", parts);
    const response = callHook(call, "before_body", new ArrivingRequestContext(call));
    // The hook cannot wait: a promise is a mistake of the plugin, and pre_request decides.
    if (isPromise(response)) response.catch(() => undefined);
    else if (response !== null) return response;
  }
  return null;
}

/** Calls the pre_request hook of a plugin, if it has one. */
export function runOnePreRequest(
  exchange: Exchange,
  link: ChainLink,
  parts: PluginParts,
): ValueOrPromise<OutgoingResponse | null> {
  if (link.hooks.pre_request === undefined) return null;
  const call = new PluginCall(exchange, link, "pre_request", parts);
  return callHook(call, "pre_request", new PreRequestContext(call));
}

/** Changes `headers` in place. Resolves to the status of the response to the client. */
export async function runPostRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  response: ResponseOrigin,
  givenStatus: number,
  headers: HeaderFields,
): Promise<number> {
  let status = givenStatus;
  const { shadows } = chain;
  const links = chain.post_request ?? [];
  for (const [position, link] of links.entries()) {
    const compare =
      shadows && SHADOW_RUNNERS.post_request(exchange, shadows, position, response, status, headers, parts);
    const call = new PluginCall(exchange, link, "post_request", parts);
    const context = new PostRequestContext(call, response, status, headers);
    await callHook(call, "post_request", context);
    ({ status } = context);
    compare?.(status);
  }
  if (shadows !== null)
    SHADOW_RUNNERS.post_request(exchange, shadows, links.length, response, status, headers, parts);
  return status;
}

/** Does not wait for the hooks, and only logs their failures: the request has ended. */
export function runPostResponse(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  outcome: Outcome,
  status: number,
): void {
  for (const link of chain.post_response ?? []) {
    const call = new PluginCall(exchange, link, "post_response", parts);
    void callHook(call, "post_response", new PostResponseContext(call, outcome, status));
  }
}
