// Events of the sockets to providers, for the connections that they belong to.
import type { Socket, SocketHandler } from "bun";
import { fromProviders, type Receiver } from "../http/receive-queue.ts";

export type ProviderSocket = Pick<Socket, "write" | "terminate" | "pause" | "resume">;

export interface SocketEvents extends Receiver {
  readonly awaitsResponse: boolean;
  /** The TCP connection is established; for TLS, the handshake follows. */
  onOpen(socket: ProviderSocket): void;
  onEstablished(): void;
  onDrain(): void;
  /** The provider has closed its side of the connection. */
  onPeerEnd(): void;
  onClose(cause?: Error): void;
  onConnectError(cause: Error): void;
  close(): void;
}

const COMMON_HANDLERS: SocketHandler<SocketEvents> = {
  data: ({ data: connection }, chunk) => {
    // Now and not when they are read: bytes that arrive without a request must not become the response to the next request.
    if (connection.awaitsResponse) fromProviders.push(connection, chunk);
    else connection.close();
  },
  drain: (socket) => socket.data.onDrain(),
  end: ({ data: connection }) => {
    fromProviders.finish(connection);
    connection.onPeerEnd();
  },
  close: (socket, error) => onClose(socket.data, error),
  error: (socket, error) => onClose(socket.data, error),
  connectError: (socket, error) => socket.data.onConnectError(error),
};

export const PLAIN_HANDLERS: SocketHandler<SocketEvents> = {
  ...COMMON_HANDLERS,
  open: (socket) => {
    socket.data.onOpen(socket);
    socket.data.onEstablished();
  },
};

export const TLS_HANDLERS: SocketHandler<SocketEvents> = {
  ...COMMON_HANDLERS,
  open: (socket) => socket.data.onOpen(socket),
  handshake: (socket, isTrusted, error) => {
    if (isTrusted) socket.data.onEstablished();
    else socket.data.onClose(error ?? new Error("the certificate is not trusted"));
  },
};

function onClose(connection: SocketEvents, cause?: Error): void {
  fromProviders.finish(connection);
  connection.onClose(cause);
}
