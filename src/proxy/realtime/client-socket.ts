// The WebSocket of a client, as the listener and its relay see it.
import type { ServerWebSocket } from "bun";

export type ClientSocket = ServerWebSocket<ClientSocketEvents>;

export interface ClientSocketEvents {
  onOpen(socket: ClientSocket): void;
  onClientMessage(message: string | Buffer): void;
  onClientPing(): void;
  /** Bytes that the client had not read have been sent. */
  onClientDrained(): void;
  /** `code` is 1005 if the client sent none, and 1006 if it sent no close frame. */
  onClientClosed(code: number, reason: string): void;
  /** One of the functions above threw an error. The socket is terminated. */
  onHandlerError(error: unknown): void;
}

/** Turns the client's connection into a WebSocket. Returns false if the client has disconnected. */
export type Upgrade = (request: Request, events: ClientSocketEvents, headers: Headers) => boolean;
