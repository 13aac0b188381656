// Chooses the response to a request: routes by path suffix, then applies the behavior.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import {
  anthropicError,
  anthropicErrorEvent,
  anthropicRateLimitHeaders,
  respondToAnthropicMessages,
} from "./anthropic-responses.ts";
import { type FakeResponse, type StreamBody, jsonResponse, slices, sseEvent } from "./response.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";
import {
  respondToOpenAiChat,
  openAiError,
  openAiErrorBody,
  openAiModels,
  openAiRateLimitHeaders,
} from "./openai-responses.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const COMPRESSED_PIECE_BYTES = 64;

export function chooseResponse(
  request: ReceivedRequest,
  behavior: Behavior,
  providerName: string,
): FakeResponse {
  let response = routeRequest(request, behavior, providerName);
  if (behavior.rateLimited !== undefined)
    response = rateLimitedResponse(request, behavior.rateLimited.retryAfter);
  if (behavior.status !== undefined) response = withStatus(request, response, behavior.status);
  if (behavior.body !== undefined) response = withBody(response, behavior.body);
  if (behavior.errorAfterChunks !== undefined && response.body.kind === "stream") {
    const event = isAnthropic(request) ? anthropicErrorEvent() : sseEvent(openAiErrorBody(503));
    response.body = { kind: "stream", pieces: endWith(response.body, behavior.errorAfterChunks, event) };
  }
  const encoding = behavior.gzip === true ? "gzip" : behavior.encoding;
  if (encoding !== undefined) response = compressed(response, encoding);
  if (behavior.headers !== undefined) response.headers = mergeHeaders(response.headers, behavior.headers);
  return response;
}

function isAnthropic(request: ReceivedRequest): boolean {
  return request.path.endsWith("/messages");
}

function routeRequest(request: ReceivedRequest, behavior: Behavior, providerName: string): FakeResponse {
  const { method, path } = request;
  const response =
    method === "POST" && path.endsWith("/chat/completions")
      ? respondToOpenAiChat(request, behavior, providerName)
      : method === "POST" && path.endsWith("/messages")
        ? respondToAnthropicMessages(request, behavior, providerName)
        : (method === "GET" || method === "HEAD") && path.endsWith("/models")
          ? openAiModels(request, providerName)
          : echo(request);
  const big = behavior.bigStream;
  if (big === undefined || response.body.kind === "stream") return response;
  const pieces = blankPieces(big.bytes, big.chunkBytes);
  return {
    status: 200,
    headers: [["Content-Type", "application/octet-stream"]],
    body: { kind: "stream", pieces },
  };
}

function echo(request: ReceivedRequest): FakeResponse {
  const { method, target, headers } = request;
  // A 2xx to CONNECT would turn the connection into a tunnel (RFC 9110 9.3.6).
  if (method === "CONNECT") return openAiError(request, 405, "Not a tunnel.");
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

function rateLimitedResponse(request: ReceivedRequest, retryAfter: number | string): FakeResponse {
  const anthropic = isAnthropic(request);
  const response = anthropic ? anthropicError(request, 429) : openAiError(request, 429);
  const limits = anthropic ? anthropicRateLimitHeaders(retryAfter) : openAiRateLimitHeaders(retryAfter);
  response.headers.push(...limits);
  return response;
}

function withStatus(request: ReceivedRequest, response: FakeResponse, status: number): FakeResponse {
  if (status < 400 || response.status === status) return { ...response, status };
  return isAnthropic(request) ? anthropicError(request, status) : openAiError(request, status);
}

function withBody(response: FakeResponse, body: NonNullable<Behavior["body"]>): FakeResponse {
  // A streamed route keeps its content type, so that a scripted body is still an event stream.
  if (Array.isArray(body)) return { ...response, body: { kind: "stream", pieces: body.map(bytesOf) } };
  return { ...response, body: { kind: "whole", bytes: bytesOf(body) } };
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data) : data;
}

function* endWith(body: StreamBody, count: number, last: Uint8Array): Generator<Uint8Array> {
  let sent = 0;
  for (const piece of body.pieces) {
    if (sent++ >= count) break;
    yield piece;
  }
  yield last;
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
