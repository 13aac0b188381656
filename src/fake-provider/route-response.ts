// Chooses the response to a request: finds its route, then applies the behavior.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { ErrorFormat } from "./apis/api.ts";
import { openAiErrors } from "./apis/openai-errors.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";
import { asksForWebSocket, type ReceivedRequest } from "./recorded-request.ts";
import { type FakeResponse, type StreamBody, jsonResponse, slices } from "./response.ts";
import { findRoute, type RouteMatch } from "./routes.ts";
import { StoredObjects } from "./stored-objects.ts";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const COMPRESSED_PIECE_BYTES = 64;

/** What the responses of one provider depend on besides the request. */
export interface ProviderContext {
  readonly name: string;
  readonly stored: StoredObjects;
}

export function chooseResponse(
  request: ReceivedRequest,
  behavior: Behavior,
  provider: ProviderContext,
): FakeResponse {
  const match = findRoute(request);
  const errors = match?.route.errors ?? openAiErrors;
  const { name, stored } = provider;
  const fails = behavior.rateLimited !== undefined || (behavior.status ?? 200) >= 400;
  // A request that fails stores nothing.
  let response = respond(request, behavior, { name, stored: fails ? new StoredObjects() : stored }, match);
  if (behavior.rateLimited !== undefined)
    response = errors.rateLimit(request, behavior.rateLimited.retryAfter);
  if (behavior.status !== undefined) response = withStatus(request, response, behavior.status, errors);
  if (behavior.body !== undefined) response = withBody(response, behavior.body);
  if (behavior.errorAfterChunks !== undefined && response.body.kind === "stream") {
    response.body = {
      kind: "stream",
      pieces: endWithError(response.body, behavior.errorAfterChunks, errors),
    };
  }
  const encoding = behavior.gzip === true ? "gzip" : behavior.encoding;
  if (encoding !== undefined) response = compressed(response, encoding);
  if (behavior.headers !== undefined) response.headers = mergeHeaders(response.headers, behavior.headers);
  return response;
}

function respond(
  request: ReceivedRequest,
  behavior: Behavior,
  provider: ProviderContext,
  match: RouteMatch | null,
): FakeResponse {
  const response = match === null ? echo(request) : respondOnRoute(request, behavior, provider, match);
  const big = behavior.bigStream;
  if (big === undefined || response.body.kind === "stream" || response.webSocket !== undefined)
    return response;
  const pieces = blankPieces(big.bytes, big.chunkBytes);
  return {
    status: 200,
    headers: [["Content-Type", "application/octet-stream"]],
    body: { kind: "stream", pieces },
  };
}

function respondOnRoute(
  request: ReceivedRequest,
  behavior: Behavior,
  { name: providerName, stored }: ProviderContext,
  { route, name }: RouteMatch,
): FakeResponse {
  if (route.errors.credential(request) === "invalid") return route.errors.rejectKey(request);
  return route.handle({ request, behavior, providerName, stored, name });
}

function echo(request: ReceivedRequest): FakeResponse {
  const { method, target, headers } = request;
  // A 2xx to CONNECT would turn the connection into a tunnel (RFC 9110 9.3.6).
  if (method === "CONNECT") return openAiErrors.respond(request, 405, "Not a tunnel.");
  // Agents that try a WebSocket first, for example on /v1/responses, then use HTTP.
  if (asksForWebSocket(request)) return openAiErrors.respond(request, 426, "This path has no WebSocket.");
  const body = Buffer.from(request.body).toString();
  const allow: HeaderPair[] = method === "OPTIONS" ? [["Allow", METHODS]] : [];
  return jsonResponse(200, { method, target, headers, body }, allow);
}

function* blankPieces(bytes: number, chunkBytes: number): Generator<Uint8Array> {
  const piece = new Uint8Array(Math.max(1, chunkBytes)).fill(120);
  let remaining = bytes;
  for (; remaining >= piece.length; remaining -= piece.length) yield piece;
  if (remaining > 0) yield piece.subarray(0, remaining);
}

function withStatus(
  request: ReceivedRequest,
  response: FakeResponse,
  status: number,
  errors: ErrorFormat,
): FakeResponse {
  if (status < 400 || response.status === status) return { ...response, status };
  return errors.respond(request, status);
}

function withBody(response: FakeResponse, body: NonNullable<Behavior["body"]>): FakeResponse {
  // A streamed route keeps its content type, so that a scripted body is still an event stream.
  if (Array.isArray(body)) return { ...response, body: { kind: "stream", pieces: body.map(bytesOf) } };
  return { ...response, body: { kind: "whole", bytes: bytesOf(body) } };
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data) : data;
}

function* endWithError(body: StreamBody, count: number, errors: ErrorFormat): Generator<Uint8Array> {
  let sent = 0;
  for (const piece of body.pieces) {
    if (sent >= count) break;
    sent++;
    yield piece;
  }
  yield errors.event(sent);
}

const COMPRESS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync };

function compressed(response: FakeResponse, encoding: keyof typeof COMPRESS): FakeResponse {
  const { body } = response;
  const bytes = body.kind === "whole" ? body.bytes : Buffer.concat([...body.pieces]);
  const packed = COMPRESS[encoding](bytes);
  const headers: HeaderPair[] = [...response.headers, ["Content-Encoding", encoding]];
  if (body.kind === "whole") return { ...response, headers, body: { kind: "whole", bytes: packed } };
  return { ...response, headers, body: { kind: "stream", pieces: slices(packed, COMPRESSED_PIECE_BYTES) } };
}

/** Adds the scripted headers verbatim; a scripted name replaces the default header of that name. */
function mergeHeaders(own: HeaderPair[], scripted: HeaderPair[]): HeaderPair[] {
  const names = new Set(scripted.map(([name]) => name.toLowerCase()));
  return [...own.filter(([name]) => !names.has(name.toLowerCase())), ...scripted];
}
