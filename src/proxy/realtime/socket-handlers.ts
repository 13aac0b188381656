// Passes the events of clients' WebSockets to their relays.
import type { WebSocketHandler } from "bun";
import type { ClientSocket, ClientSocketEvents } from "./client-socket.ts";
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
    open: (socket) => run(socket, (events) => events.onOpen(socket)),
    message: (socket, message) => run(socket, (events) => events.onClientMessage(message)),
    drain: (socket) => run(socket, (events) => events.onClientDrained()),
    ping: (socket) => run(socket, (events) => events.onClientPing()),
    close: (socket, code, reason) => run(socket, (events) => events.onClientClosed(code, reason)),
  };
}

/** An error that a handler throws would end the process, and with it the requests of all other clients. */
function run(socket: ClientSocket, handle: (events: ClientSocketEvents) => void): void {
  const { data: events } = socket;
  try {
    handle(events);
  } catch (error) {
    events.onHandlerError(error);
    socket.terminate();
  }
}
