// Decisions of plugins that the response waits for: with a timeout, and before any byte of the response is sent.
import { withTimeout } from "../base/with-timeout.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { PluginResponse } from "../sdk/index.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { NO_TOKENS } from "../usage/usage-accumulator.ts";
import { failCall, DecisionTimeout } from "./call-hook.ts";
import type { Exchange } from "./exchange.ts";
import type { SpeedParts } from "./hidden-output.ts";
import type { PluginCall } from "./plugin-call.ts";
import { createPluginResponse } from "./plugin-response.ts";
import { checkStatus } from "./plugin-values.ts";
import { WithheldResponse, type PluginWork } from "./plugin-work.ts";
import { settleUsage } from "./record-usage.ts";
import type { TargetResponse } from "./target-response.ts";

const MAX_HOLD_MS = 30_000;

/** As a hook: with a timeout, and with an isolated failure. */
export async function decide(
  call: PluginCall,
  decision: Promise<PluginResponse | null>,
): Promise<OutgoingResponse | null> {
  const { exchange, parts, run } = call;
  try {
    const response = await withTimeout(MAX_HOLD_MS, decision, createTimeoutError, exchange.clock);
    if (response === null) return null;
    checkStatus(response.status);
    run.verdict = "answered";
    return createPluginResponse(response, exchange, parts.maxBodyBytes);
  } catch (error) {
    return failCall(error, call, exchange.clock.now());
  }
}

const createTimeoutError = () => new DecisionTimeout(`decision was not made within ${MAX_HOLD_MS} ms`);

/** Resolves when no plugin rejects the request. Rejects with a WithheldResponse if one does. */
export async function requireDecisions(work: PluginWork): Promise<null> {
  const response = await work.decided();
  if (response !== null) throw new WithheldResponse(response);
  return null;
}

/** Resolves to the response of the provider when no plugin rejects the request; otherwise aborts the attempt and rejects. */
export async function afterDecisions(
  exchange: Exchange,
  work: PluginWork,
  attempted: Promise<TargetResponse>,
  parts: SpeedParts,
): Promise<TargetResponse> {
  let rejection: Error | null = null;
  const decided = requireDecisions(work).catch((error: unknown) => {
    rejection = error instanceof Error ? error : new Error("a decision failed", { cause: error });
    exchange.abort(new UpstreamError("abandoned"));
  });
  let response: TargetResponse;
  try {
    response = await attempted;
  } catch (error) {
    if (rejection !== null) throw rejection as Error;
    throw error;
  }
  await decided;
  if (rejection === null && !exchange.isClientDisconnected) return response;
  discard(exchange, response, parts);
  throw rejection ?? new UpstreamError("client_left");
}

/** The client does not get the response, but the provider has run the model. */
function discard(exchange: Exchange, response: TargetResponse, parts: SpeedParts): void {
  exchange.response = response;
  const reported = response.usageSoFar() ?? { ...NO_TOKENS, isPartial: true };
  if (response.upstreamResponse.ok) settleUsage(exchange, reported, false, parts);
  response.discard(exchange.clock.now());
}
