// Runs plugins in shadow mode at post_request and post_response: on copies, and without waiting for them.
import type { HeaderFields } from "../../http/header-fields.ts";
import type { ShadowChain, ShadowLink } from "../../snapshot/shadow-chain.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import { callHook } from "../call-hook.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { PostRequestContext } from "../post-request-context.ts";
import { PostResponseContext } from "../post-response-context.ts";
import type { ResponseOrigin } from "../pre-response-context.ts";
import { comparison } from "./compare-versions.ts";
import { copyExchange } from "./shadow-copy.ts";
import { logError, report } from "./report-shadow.ts";
import type { ShadowRequest, WaitingCall } from "./shadow-request.ts";
import { resultOf } from "./shadow-result.ts";
import { withoutLog } from "./without-log.ts";

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
        const call = new PluginCall(copy, link, "post_request", withoutLog(parts));
        const context = new PostRequestContext(call, response, status, copied);
        await callHook(call, "post_request", context);
        const changes = [
          ...(context.status === status ? [] : [`the status to ${context.status}`]),
          ...changedHeaders(before, copied),
        ];
        const result = resultOf(call.run, null, null, changes);
        const isSame = expected?.status === context.status && expected.headers === textOf(copied);
        const differences = isSame ? [] : ["the status or the headers"];
        report(
          exchange,
          link,
          expected === null ? result : { ...result, ...comparison(result, differences) },
          parts,
        );
      };
      shadow.enqueue({ run, fail: (error) => logError(error, exchange, link, parts) });
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
  settle: WaitingCall,
): void {
  shadow.callEndListeners();
  const links = exchange.gateway?.chain?.shadows?.post_response ?? null;
  if (links !== null) enqueuePostResponse(exchange, shadow, links, outcome, status, parts);
  shadow.enqueue(settle);
  shadow.end();
}

function enqueuePostResponse(
  exchange: Exchange,
  shadow: ShadowRequest,
  links: readonly ShadowLink[],
  outcome: Outcome,
  status: number,
  parts: PluginParts,
): void {
  for (const link of links) {
    if (!shadow.isSampled(link)) continue;
    const call = new PluginCall(copyExchange(exchange), link, "post_response", withoutLog(parts));
    const context = new PostResponseContext(call, outcome, status);
    const run = async () => {
      await callHook(call, "post_response", context);
      report(exchange, link, resultOf(call.run, null, null, []), parts);
    };
    shadow.enqueue({ run, fail: (error) => logError(error, exchange, link, parts) });
  }
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
