// Responds with a kept response: whole or as a stream, with ids sealed for the client, and passed through pre_response plugins.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { StreamAssembly } from "../../formats/assembly/assembly.ts";
import { assemblyOf, hasLargeNumber } from "../../formats/assembly/stream-assembly.ts";
import type { FormatName } from "../../formats/format-names.ts";
import { formatNamed } from "../../formats/registry.ts";
import { idsInResponse } from "../../formats/stored-ids.ts";
import type { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import { PacedReader } from "../../http/paced-reader.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { KeptResponse } from "../../runtime/responses/kept-response.ts";
import type { OpenedResponses } from "../../runtime/responses/response-stores.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { Exchange } from "../exchange.ts";
import type { ResponseSource } from "../pre-response-context.ts";
import { toHeaderValue, translatedValue } from "../header-value.ts";
import type { PluginParts } from "../plugin-call.ts";
import { PreResponsePlugins } from "../pre-response-plugins.ts";
import { StreamRelay } from "../relay-stream.ts";

import { serverTiming } from "../server-timing.ts";
import { sourceOfBody, type ShadowBodies } from "../shadow/shadow-body.ts";
import { SHADOW_RUNNERS } from "../shadow/shadow-runners.ts";
import type { IdSeal } from "../stored-ids/id-seal.ts";
import { ownerOf, requestUrlOf } from "../stored-ids/response-ids-for.ts";
import { ResponseIds } from "../stored-ids/response-ids.ts";
import type { LiveStream } from "./flight.ts";

export interface KeptParts extends PluginParts {
  readonly idSeal: IdSeal;
  readonly deadlines: CoarseDeadlines;
  readonly endLive: (exchange: Exchange, outcome: Outcome, status: number) => void;
}

/** What is known of the provider of a response. */
interface Origin {
  readonly provider: string;
  readonly model: string | null;
  readonly dropped: readonly string[];
  readonly targetTag: string;
  readonly format: FormatName;
}

/** Where the response is kept. */
interface KeptAt {
  readonly store: OpenedResponses;
  readonly key: string;
  /** The response was on its way when the request arrived. */
  readonly isCoalesced: boolean;
}

const CACHE_NAME = "gatehouse";
const NO_BYTES = new Uint8Array(0);

/** Returns a value of Cache-Status (RFC 9211). */
export function cacheStatus(parameters: string): string {
  return `${CACHE_NAME}; ${parameters}`;
}

const COLLAPSED = cacheStatus("fwd=uri-miss; collapsed");

/** Returns null if the response cannot be converted to what the client wants. */
export function relayKept(
  exchange: Exchange,
  kept: KeptResponse,
  { store, key, isCoalesced }: KeptAt,
  parts: KeptParts,
): ValueOrPromise<OutgoingResponse> | null {
  const converted = exchange.fields.wantsStream ? streamOf(exchange, kept, store, key) : kept.body;
  if (converted === null) return null;
  const isStream = converted !== kept.body;
  const now = exchange.clock.unixNow();
  if (isCoalesced) exchange.setResponseHeader("Cache-Status", COLLAPSED);
  else {
    const ttl = Math.floor((kept.expiresAt - now) / 1000);
    exchange.setResponseHeader("Cache-Status", cacheStatus(`hit; ttl=${ttl}`));
    exchange.setResponseHeader("Age", String(Math.max(0, Math.floor((now - kept.keptAt) / 1000))));
  }
  const ids = idsFor(exchange, kept, parts);
  const body = ids === null ? converted : ids.spliceWhole(converted, isStream);
  const headers = headersFor(exchange, kept, isStream);
  const chain = exchange.gateway?.chain ?? null;
  exchange.isServedHere = true;
  const source = sourceOf(kept, isStream);
  const shadows = beginShadows(exchange, source, kept.status, parts);
  if (chain === null || chain.pre_response === null) {
    shadows?.push(null, body, true);
    return captured(exchange, new OutgoingResponse(body, { status: kept.status, headers }), body);
  }
  const plugins = new PreResponsePlugins(exchange, chain, parts, source, kept.status, shadows);
  return runPlugins(plugins, body, isStream).then((processed) => {
    // The log shows the response without what a plugin restores in it.
    exchange.bodies?.takeResponse(chain.hidesBodies ? body : processed);
    return new OutgoingResponse(processed, { status: kept.status, headers });
  });
}

/** Responds with a stream that another request receives. The request ends when the stream does. */
export function relayLive(exchange: Exchange, live: LiveStream, parts: KeptParts): OutgoingResponse {
  exchange.setResponseHeader("Cache-Status", COLLAPSED);
  exchange.isServedHere = true;
  const headers = headersFor(exchange, live, true);
  headers.append("Server-Timing", serverTiming(exchange, null, exchange.clock.now()));
  const chain = exchange.gateway?.chain ?? null;
  const source = sourceOf(live, true);
  const shadows = beginShadows(exchange, source, live.status, parts);
  const plugins =
    chain === null || chain.pre_response === null
      ? null
      : new PreResponsePlugins(exchange, chain, parts, source, live.status, shadows);
  const stages = {
    tap: null,
    translation: null,
    recording: null,
    ids: idsFor(exchange, live, parts)?.splicer(true) ?? null,
    plugins,
    shadow: plugins === null ? shadows : null,
    bodies: exchange.bodies,
    hidesBodies: chain !== null && chain.hidesBodies,
    firstContent: null,
  };
  const end = (outcome: Outcome) => parts.endLive(exchange, outcome, live.status);
  exchange.releaseBody();
  const relay = new StreamRelay(new PacedReader(live.reader), stages, end, parts.deadlines);
  return new OutgoingResponse(relay, { status: live.status, headers });
}

/** Plugins in shadow mode see every response that they would see if they took effect. */
function beginShadows(
  exchange: Exchange,
  source: ResponseSource,
  status: number,
  parts: PluginParts,
): ShadowBodies | null {
  if (exchange.shadow === null) return null;
  return SHADOW_RUNNERS.pre_response.begin(exchange, sourceOfBody(source, status, null), parts);
}

function captured(exchange: Exchange, response: OutgoingResponse, body: Uint8Array): OutgoingResponse {
  exchange.bodies?.takeResponse(body);
  return response;
}

async function runPlugins(
  plugins: PreResponsePlugins,
  body: Uint8Array,
  isStream: boolean,
): Promise<Uint8Array> {
  if (!isStream || plugins.needsWholeBody) return plugins.run(body, true);
  return Buffer.concat([await plugins.run(body, false), await plugins.run(NO_BYTES, true)]);
}

/** Returns the events of a kept response; null if it cannot be converted. Responses of some operations are never streams. */
function streamOf(
  { fields }: Exchange,
  kept: KeptResponse,
  store: OpenedResponses,
  key: string,
): Uint8Array | null {
  const assembly = assemblyOf(kept.operation);
  if (assembly === null) return kept.body;
  const options = fields.streamOptions;
  const includesUsage = isJsonObject(options) && options["include_usage"] === true;
  const kind = includesUsage ? "withUsage" : "plain";
  const known = kept.streams[kind];
  if (known !== null) return known;
  const created = createStream(assembly, kept.body, includesUsage);
  if (created !== null) store.keepStream(key, kept, kind, created);
  return created;
}

function createStream(assembly: StreamAssembly, body: Uint8Array, includesUsage: boolean): Uint8Array | null {
  // Without a byte order mark, which some providers send.
  const text = new TextDecoder().decode(body);
  if (hasLargeNumber(text)) return null;
  const json: unknown = JSON.parse(text);
  return isJsonObject(json) ? encode(assembly, json, includesUsage) : null;
}

function encode(assembly: StreamAssembly, json: JsonObject, includesUsage: boolean): Uint8Array | null {
  try {
    return Buffer.from(assembly.encode(json, includesUsage));
  } catch {
    return null;
  }
}

/** The ids are sealed for the API key of this request: those of another one would be useless to it, and say that it exists. */
function idsFor(exchange: Exchange, { targetTag }: Origin, { idSeal }: KeptParts): ResponseIds | null {
  const { endpoint, body } = exchange;
  const part = endpoint === null ? null : idsInResponse(endpoint, body?.bytes ?? null);
  if (part === null) return null;
  return new ResponseIds(part, idSeal, ownerOf(exchange), targetTag, requestUrlOf(exchange));
}

/** All values are valid: constants, a request id that was checked, and texts without characters that a header cannot contain. */
function headersFor(
  exchange: Exchange,
  { provider, model, dropped }: Origin,
  isStream: boolean,
): HeaderFields {
  const headers = new HeaderFields();
  const type = isStream ? "text/event-stream; charset=utf-8" : "application/json";
  headers.addSpelled("content-type", "Content-Type", type);
  headers.addSpelled("x-request-id", "X-Request-Id", exchange.requestId);
  headers.addSpelled("request-id", "Request-Id", exchange.requestId);
  headers.addSpelled("x-gw-provider", "X-GW-Provider", toHeaderValue(provider));
  if (model !== null) headers.addSpelled("x-gw-model", "X-GW-Model", toHeaderValue(model));
  if (dropped.length > 0) headers.addSpelled("x-gw-translated", "X-GW-Translated", translatedValue(dropped));
  headers.addSpelled("x-gw-attempts", "X-GW-Attempts", "0");
  if (isStream) headers.addSpelled("x-accel-buffering", "X-Accel-Buffering", "no");
  exchange.addResponseHeaders(headers);
  return headers;
}

function sourceOf({ provider, model, format }: Origin, isStream: boolean): ResponseSource {
  const { texts: textReader } = formatNamed(format);
  const textForm = isStream ? "events" : "whole";
  return { target: { provider }, model, textForm, isStrict: true, textReader };
}
