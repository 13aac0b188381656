// Completes the handshake with the client of a WebSocket after the target has accepted its own.
import { httpDate } from "../../http/server/http-date.ts";
import type { ClientRequest } from "../../http/server/client-request.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import { acceptKeyFor } from "../../http/websocket/accept-key.ts";
import { ServerSocket } from "../../http/websocket/server-socket.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { SocketWriter } from "../../http/websocket/socket-writer.ts";
import { isLargeBody } from "../../off-loop/large-body.ts";
import type { Exchange } from "../exchange.ts";
import { addHeaders } from "../relay.ts";
import type { TargetResponse } from "../target-response.ts";
import { SocketRelay, type SocketParts } from "./socket-relay.ts";

interface OpenSocketParts extends SocketParts {
  readonly clientAddress: (exchange: Exchange) => string;
  /** Larger messages of clients close the socket with 1009. */
  readonly maxBodyBytes: number;
}

/** Fields of the provider's handshake. The gateway has its own handshake with the client. */
const HANDSHAKE_FIELDS = ["sec-websocket-accept", "date", "content-length", "content-type"];

/** Returns a response that is not sent, because the connection is a WebSocket from now on. */
export function openSocket(
  exchange: Exchange,
  response: TargetResponse,
  writer: SocketWriter,
  parts: OpenSocketParts,
): OutgoingResponse {
  const { request, rule } = exchange;
  if (rule === null || request.switchTo === undefined)
    throw new Error("a WebSocket without a rule or a listener");
  exchange.response = response;
  const headers = new HeaderFields();
  addHeaders(headers, exchange, response, exchange.clock.now());
  for (const name of HANDSHAKE_FIELDS) headers.delete(name);
  parts.clientAddress(exchange);
  const relay = new SocketRelay(exchange, response, writer, rule.upstream.timeouts.idle, parts);
  // From here on the relay notices if the client disconnects, and passes the close code on.
  request.disconnectListener = null;
  const limits = { maxBytes: parts.maxBodyBytes, isLarge: isLargeBody };
  const socket = new ServerSocket(relay, limits, parts.deadlines, parts.bodyBudget);
  if (!request.switchTo(socket, handshakeHead(request, headers))) {
    relay.abandon();
    response.report.end("neutral", exchange.clock.now());
    throw new UpstreamError("client_left");
  }
  exchange.releaseBody();
  return new OutgoingResponse(null, { status: 101 });
}

function handshakeHead(request: ClientRequest, headers: HeaderFields): string {
  const accept = acceptKeyFor(request.headers.get("sec-websocket-key") ?? "");
  return (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
    `Sec-WebSocket-Accept: ${accept}\r\n${headers.toLines()}${httpDate()}\r\n`
  );
}
