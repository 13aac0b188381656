// Completes the handshake with the client of a WebSocket after the target has accepted its own.
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { SocketWriter } from "../../upstream/websocket/socket-writer.ts";
import type { Exchange } from "../exchange.ts";
import { addHeaders } from "../relay.ts";
import type { TargetResponse } from "../target-response.ts";
import { SocketRelay, type SocketParts } from "./socket-relay.ts";

interface OpenSocketParts extends SocketParts {
  readonly clientAddress: (exchange: Exchange) => string;
}

const PROTOCOL = "sec-websocket-protocol";
/** Fields of the provider's handshake. The gateway has its own handshake with the client. */
const HANDSHAKE_FIELDS = ["sec-websocket-accept", "date", "content-length", "content-type"];

/** Returns a response that the runtime ignores, because the connection is a WebSocket from now on. */
export function openSocket(
  exchange: Exchange,
  response: TargetResponse,
  writer: SocketWriter,
  parts: OpenSocketParts,
): Response {
  const { request, rule, upgrade } = exchange;
  if (rule === null || upgrade === null) throw new Error("a WebSocket without a rule or a listener");
  exchange.response = response;
  const headers = new Headers();
  addHeaders(headers, exchange, response, exchange.clock.now());
  for (const name of HANDSHAKE_FIELDS) headers.delete(name);
  // Without this field, the runtime would select the first protocol that the client offers, which may be its key.
  if (!headers.has(PROTOCOL)) headers.set(PROTOCOL, "");
  // Computed now: the runtime does not know the address of the client after the handshake.
  parts.clientAddress(exchange);
  const relay = new SocketRelay(exchange, response, writer, rule.upstream.timeouts.idle, parts);
  // From here on the relay notices if the client disconnects, and passes the close code on.
  request.signal.removeEventListener("abort", exchange);
  if (!upgrade(request, relay, headers)) {
    relay.abandon();
    response.report.end("neutral", exchange.clock.now());
    throw new UpstreamError("client_left");
  }
  exchange.releaseBody();
  return new Response(null, { status: 101 });
}
