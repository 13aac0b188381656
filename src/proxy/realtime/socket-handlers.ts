// Passes the events of clients' WebSockets to their relays.
import type { WebSocketHandler } from "bun";
import type { ClientSocketEvents } from "./client-socket.ts";
import { MAX_PROVIDER_MESSAGE_BYTES } from "./socket-relay.ts";

/** The runtime pings clients that have been silent for about this time, and closes connections that do not reply. */
const PING_SECONDS = 120;

/** `maxMessageBytes`: larger messages of clients close the socket with 1009. */
export function socketHandlers(maxMessageBytes: number): WebSocketHandler<ClientSocketEvents> {
  return {
    maxPayloadLength: maxMessageBytes,
    // The relay stops reading from the provider when the first message does not fit into the kernel's buffer. What it has read
    // by then is one message and one chunk of further ones.
    backpressureLimit: 2 * MAX_PROVIDER_MESSAGE_BYTES,
    idleTimeout: PING_SECONDS,
    perMessageDeflate: false,
    open: (socket) => socket.data.onOpen(socket),
    message: (socket, message) => socket.data.onClientMessage(message),
    drain: (socket) => socket.data.onClientDrained(),
    ping: (socket) => socket.data.onClientPing(),
    close: (socket, code, reason) => socket.data.onClientClosed(code, reason),
  };
}
