// From a request and a behavior to the answer to give: routes by path suffix, then lets the behavior reshape it.
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
  let answer = routeRequest(request, behavior, providerName);
  if (behavior.rateLimited !== undefined)
    answer = rateLimitedResponse(request, behavior.rateLimited.retryAfter);
  if (behavior.status !== undefined) answer = withStatus(request, answer, behavior.status);
  if (behavior.body !== undefined) answer = withBody(answer, behavior.body);
  if (behavior.errorAfterChunks !== undefined && answer.body.kind === "stream") {
    const event = isAnthropic(request) ? anthropicErrorEvent() : sseEvent(openAiErrorBody(503));
    answer.body = { kind: "stream", pieces: endWith(answer.body, behavior.errorAfterChunks, event) };
  }
  const encoding = behavior.gzip === true ? "gzip" : behavior.encoding;
  if (encoding !== undefined) answer = compressed(answer, encoding);
  if (behavior.headers !== undefined) answer.headers = mergeHeaders(answer.headers, behavior.headers);
  return answer;
}

function isAnthropic(request: ReceivedRequest): boolean {
  return request.path.endsWith("/messages");
}

function routeRequest(request: ReceivedRequest, behavior: Behavior, providerName: string): FakeResponse {
  const { method, path } = request;
  const answer =
    method === "POST" && path.endsWith("/chat/completions")
      ? respondToOpenAiChat(request, behavior, providerName)
      : method === "POST" && path.endsWith("/messages")
        ? respondToAnthropicMessages(request, behavior, providerName)
        : (method === "GET" || method === "HEAD") && path.endsWith("/models")
          ? openAiModels(request, providerName)
          : echo(request);
  const big = behavior.bigStream;
  if (big === undefined || answer.body.kind === "stream") return answer;
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
  const answer = anthropic ? anthropicError(request, 429) : openAiError(request, 429);
  const limits = anthropic ? anthropicRateLimitHeaders(retryAfter) : openAiRateLimitHeaders(retryAfter);
  answer.headers.push(...limits);
  return answer;
}

function withStatus(request: ReceivedRequest, answer: FakeResponse, status: number): FakeResponse {
  if (status < 400 || answer.status === status) return { ...answer, status };
  return isAnthropic(request) ? anthropicError(request, status) : openAiError(request, status);
}

function withBody(answer: FakeResponse, body: NonNullable<Behavior["body"]>): FakeResponse {
  // A streamed route keeps its content type, so that scripted events are still an event stream.
  if (Array.isArray(body)) return { ...answer, body: { kind: "stream", pieces: body.map(bytesOf) } };
  return { ...answer, body: { kind: "whole", bytes: bytesOf(body) } };
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

function compressed(answer: FakeResponse, encoding: keyof typeof COMPRESS): FakeResponse {
  const { body } = answer;
  const bytes = body.kind === "whole" ? body.bytes : Buffer.concat([...body.pieces]);
  const packed = COMPRESS[encoding](bytes);
  const headers: HeaderPair[] = [...answer.headers, ["Content-Encoding", encoding]];
  if (body.kind === "whole") return { ...answer, headers, body: { kind: "whole", bytes: packed } };
  return { ...answer, headers, body: { kind: "stream", pieces: slices(packed, COMPRESSED_PIECE_BYTES) } };
}

/** A scripted name replaces the fake's own header of that name; what is scripted is kept as it is. */
function mergeHeaders(own: HeaderPair[], scripted: HeaderPair[]): HeaderPair[] {
  const names = new Set(scripted.map(([name]) => name.toLowerCase()));
  return [...own.filter(([name]) => !names.has(name.toLowerCase())), ...scripted];
}
