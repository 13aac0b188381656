// Relays a target's response to the client: unchanged, translated to another format, or passed through plugins.
import { LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import { FirstContent } from "../formats/first-content.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import { fieldNameOf, HeaderFields } from "../http/header-fields.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { tapResponse, type UsageTap } from "../usage/usage-tap.ts";
import { healthResultOf, type HealthResult } from "./balancer-report.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { Exchange } from "./exchange.ts";
import { finish, type FinishParts } from "./finish.ts";
import { toHeaderValue, translatedValue } from "./header-value.ts";
import { relayHeaders } from "./header-filter.ts";
import { moveProviderRateLimits } from "./token-limit-headers.ts";
import { settleReceived } from "./record-usage.ts";
import { responseKind } from "./reuse/response-kind.ts";
import { StreamRelay } from "./relay-stream.ts";
import { PreResponsePlugins } from "./pre-response-plugins.ts";
import { runPostRequest } from "./run-plugins.ts";
import { bodySource, type ShadowBodies } from "./shadow/shadow-body.ts";
import { SHADOW_RUNNERS } from "./shadow/shadow-runners.ts";
import { serverTiming, updateServerTiming } from "./server-timing.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import type { TargetResponse } from "./target-response.ts";
import { translateStream, translateWholeBody } from "./translate-response.ts";
import { parseJson } from "./translate-whole.ts";

/** Limit of a body that a plugin or a translation needs as a whole. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** Statuses of responses that have no body (RFC 9110, section 15). */
const STATUSES_WITHOUT_BODY = new Set([204, 205, 304]);
/** Looked up once: every response has these fields. */
const REQUEST_ID = fieldNameOf("X-Request-Id");
const PROVIDER = fieldNameOf("X-GW-Provider");
const MODEL = fieldNameOf("X-GW-Model");
const ATTEMPTS = fieldNameOf("X-GW-Attempts");

/** Also ends the exchange, exactly once: when the last byte has been handed over, or when none will follow. */
export function relay(
  exchange: Exchange,
  response: TargetResponse,
  parts: FinishParts,
): ValueOrPromise<OutgoingResponse> {
  exchange.response = response;
  if (exchange.recording !== null) exchange.recording.begin(responseKind(exchange, response), response);
  // What no client gets needs no plugins.
  const chain = exchange.drained !== null ? null : (exchange.gateway?.chain ?? null);
  const hasPlugins = chain !== null && (chain.post_request !== null || chain.pre_response !== null);
  // Most responses are complete and stay unchanged; they need no promise.
  return !hasPlugins && response.reader === null && response.translation === null && response.ids === null
    ? relayUnchanged(exchange, response, parts)
    : relayProcessed(exchange, response, chain, parts);
}

/** For a response that is in memory. */
function relayUnchanged(exchange: Exchange, response: TargetResponse, parts: FinishParts): OutgoingResponse {
  const { body } = response;
  const { status } = response.upstreamResponse;
  const now = exchange.clock.now();
  const headers = new HeaderFields();
  addHeaders(headers, exchange, response, now);
  if (body !== null) exchange.recording?.push(body);
  settleReceived(exchange, response, null, true, parts);
  exchange.bodies?.takeResponse(body);
  if (exchange.shadow !== null) shadowWhole(exchange, response, status, headers, body, parts);
  response.report.end(healthResultOf(status), now);
  finish(exchange, "complete", status, now, parts);
  return new OutgoingResponse(body, { status, headers });
}

/** For a response that no plugin changes. */
function shadowWhole(
  exchange: Exchange,
  response: TargetResponse,
  status: number,
  headers: HeaderFields,
  body: Uint8Array | null,
  parts: FinishParts,
): void {
  const shadows = exchange.gateway?.chain?.shadows ?? null;
  if (shadows !== null) SHADOW_RUNNERS.post_request(exchange, shadows, 0, response, status, headers, parts);
  if (body !== null) beginShadows(exchange, response, status, parts)?.push(null, body, true);
}

function beginShadows(
  exchange: Exchange,
  response: TargetResponse,
  status: number,
  parts: FinishParts,
): ShadowBodies | null {
  if (exchange.shadow === null) return null;
  return SHADOW_RUNNERS.pre_response.begin(exchange, bodySource(response, status), parts);
}

async function relayProcessed(
  exchange: Exchange,
  response: TargetResponse,
  chain: PluginChain | null,
  parts: FinishParts,
): Promise<OutgoingResponse> {
  const headers = new HeaderFields();
  const timing = addHeaders(headers, exchange, response, exchange.clock.now());
  const tap = tapResponse(response);
  try {
    const status =
      chain === null || (chain.post_request === null && chain.shadows === null)
        ? response.upstreamResponse.status
        : await runPostRequest(exchange, chain, parts, response, response.upstreamResponse.status, headers);
    const end = (outcome: Outcome, isCutByPlugin: boolean) => {
      response.isCutByPlugin = isCutByPlugin;
      settleReceived(exchange, response, tap, outcome === "complete", parts);
      const isNeutral = isCutByPlugin || (exchange.drained !== null && outcome !== "complete");
      const result = isNeutral ? "neutral" : healthResultFor(outcome, response.upstreamResponse.status);
      const now = exchange.clock.now();
      response.report.end(result, now);
      finish(exchange, outcome, status, now, parts);
    };
    const shadows = beginShadows(exchange, response, status, parts);
    const plugins =
      chain === null || chain.pre_response === null
        ? null
        : new PreResponsePlugins(exchange, chain, parts, response, status, shadows);
    if (response.reader !== null && isStreamed(response, plugins)) {
      const { reader, target } = response;
      const translation =
        response.translation === null ? null : translateStream(response.translation, target, exchange);
      const firstContent = searchContent(exchange, response, tap);
      const ids = response.ids?.splicer(response.isStream) ?? null;
      const shadow = plugins === null ? shadows : null;
      const hidesBodies = chain !== null && chain.hidesBodies;
      const { bodies, recording } = exchange;
      const stages = { tap, translation, recording, ids, plugins, shadow, bodies, hidesBodies, firstContent };
      if (chain !== null) updateServerTiming(headers, timing, exchange, response);
      exchange.releaseBodyWithSample();
      const streamRelay = new StreamRelay(reader, stages, end, parts.deadlines, { exchange, response });
      return new OutgoingResponse(streamRelay, { status, headers });
    }
    const body = await wholeBody(exchange, response, plugins, tap, headers, parts);
    if (plugins === null && body !== null)
      shadows?.push(null, typeof body === "string" ? Buffer.from(body) : body, true);
    updateServerTiming(headers, timing, exchange, response);
    if (chain === null || !chain.hidesBodies) exchange.bodies?.takeResponse(body);
    end("complete", false);
    return new OutgoingResponse(body, { status, headers });
  } catch (error) {
    // No byte has been sent to the client yet, so the caller can still respond with an error.
    settleReceived(exchange, response, tap, false, parts);
    response.reader?.cancel();
    const isProviderFailure = error instanceof UpstreamError && error.kind !== "client_left";
    response.report.end(isProviderFailure ? "failed" : "neutral", exchange.clock.now());
    throw error;
  }
}

/** Starts the search for the first content of a stream. Returns null if there is nothing to search, or the tap searches. */
function searchContent(
  exchange: Exchange,
  { isStream, contentReader }: TargetResponse,
  tap: UsageTap | null,
): FirstContent | null {
  if (!isStream || tap === null) return null;
  const firstContent = new FirstContent(contentReader, exchange.clock);
  exchange.firstContent = firstContent;
  if (!tap.returnsEncodedBytes) return firstContent;
  tap.firstContent = firstContent;
  return null;
}

function healthResultFor(outcome: Outcome, status: number): HealthResult {
  if (outcome === "complete") return healthResultOf(status);
  return outcome === "client_left" ? "neutral" : "failed";
}

/** Whether the body is relayed as it arrives. Plugins and the translation of a plain body may need all of it first. */
function isStreamed({ isStream, translation }: TargetResponse, plugins: PreResponsePlugins | null): boolean {
  if (plugins?.needsWholeBody === true) return false;
  return isStream || translation === null;
}

async function wholeBody(
  exchange: Exchange,
  response: TargetResponse,
  plugins: PreResponsePlugins | null,
  tap: UsageTap | null,
  headers: HeaderFields,
  { offLoop }: FinishParts,
): Promise<Uint8Array | string | null> {
  if (!hasBody(response)) return null;
  const { reader, translation, isStream, upstreamResponse, target } = response;
  const bytes = reader === null ? response.body : await readWholeBody(reader, MAX_WHOLE_BYTES);
  let body: Uint8Array | string = bytes ?? new Uint8Array(0);
  if (tap !== null) body = await tap.pushWhole(body);
  if (translation !== null) {
    const { status } = upstreamResponse;
    const startedAt = exchange.clock.now();
    if (status >= 400) addRetryAfter(headers, translation, body);
    if (response.failure !== null) throw response.failure;
    body =
      response.translated ??
      (await translateWholeBody(translation, target, exchange, { body, isStream, status }, offLoop));
    exchange.translateMs += exchange.clock.now() - startedAt;
  }
  exchange.recording?.push(typeof body === "string" ? Buffer.from(body) : body);
  if (response.ids !== null && typeof body !== "string") body = response.ids.spliceWhole(body, isStream);
  if (exchange.gateway?.chain?.hidesBodies === true) exchange.bodies?.takeResponse(body);
  if (plugins === null) return body;
  // A body that was in memory is still part of the response, which is used again when the request ends.
  const isOwned = body !== response.body;
  return plugins.run(typeof body === "string" ? Buffer.from(body) : body, true, isOwned);
}

/** Adds Retry-After for a target whose format says in the body when to retry. */
function addRetryAfter(headers: HeaderFields, { from }: ResponseTranslation, body: Uint8Array): void {
  const { retryAfterOf } = from.outbound;
  // A large body is not parsed on the event loop.
  if (retryAfterOf === undefined || headers.has("retry-after") || body.byteLength > LARGE_BODY_BYTES) return;
  const seconds = retryAfterOf(parseJson(body));
  if (seconds !== null) headers.set("Retry-After", String(seconds));
}

/** Returns the value of Server-Timing. */
export function addHeaders(
  headers: HeaderFields,
  exchange: Exchange,
  response: TargetResponse,
  now: number,
): string {
  const { upstreamResponse, isStream, target, model, translation, isDecoded } = response;
  // The listener sets the Content-Length of a body that it sends. The provider's value is right only where no body is sent.
  const kept = { keepsLength: exchange.method === "HEAD", keepsEncoding: !isDecoded };
  relayHeaders(upstreamResponse.headers, kept, headers);
  if (exchange.tokenLimit !== null) moveProviderRateLimits(headers);
  headers.setValid(REQUEST_ID, exchange.requestId);
  headers.setValid(PROVIDER, toHeaderValue(target.provider));
  if (model !== null) headers.setValid(MODEL, toHeaderValue(model));
  // Anthropic's clients read the id there, which a provider with another format does not send.
  if (translation !== null && !headers.has("request-id")) headers.set("Request-Id", exchange.requestId);
  if (response.dropped.length > 0) headers.set("X-GW-Translated", translatedValue(response.dropped));
  headers.setValid(ATTEMPTS, exchange.attempts === 1 ? "1" : String(exchange.attempts));
  const timing = serverTiming(exchange, response, now);
  headers.append("Server-Timing", timing);
  if (isStream) headers.set("X-Accel-Buffering", "no");
  else if (translation !== null && hasBody(response)) headers.set("Content-Type", "application/json");
  exchange.addResponseHeaders(headers);
  return timing;
}

/** A translated response always has one, unless its status excludes it: an empty body is not a response in any format. */
function hasBody({ body, reader, translation, upstreamResponse }: TargetResponse): boolean {
  if (body !== null || reader !== null) return true;
  return translation !== null && !STATUSES_WITHOUT_BODY.has(upstreamResponse.status);
}
