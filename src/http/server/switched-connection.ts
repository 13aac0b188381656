// A client's connection after it has switched to another protocol.
import type { SocketSender } from "../socket-sender.ts";
import type { SocketWriter } from "../websocket/socket-writer.ts";
import type { ClientSocket } from "./client-socket.ts";

export interface ProtocolHandler {
  onOpen(connection: SwitchedConnection): void;
  onData(bytes: Buffer): void;
  /** The connection is closed. */
  onClosed(): void;
}

/** The connection before it switched. */
export interface SwitchedOwner {
  /** Closes the connection in two steps, so that a client that is still sending gets what was written. */
  endSwitched(): void;
  terminate(): void;
}

export class SwitchedConnection implements SocketWriter {
  onDrained: () => void = () => undefined;
  readonly #owner: SwitchedOwner;
  readonly #socket: ClientSocket;
  readonly #sender: SocketSender;
  readonly #handler: ProtocolHandler;

  constructor(owner: SwitchedOwner, socket: ClientSocket, sender: SocketSender, handler: ProtocolHandler) {
    this.#owner = owner;
    this.#socket = socket;
    this.#sender = sender;
    this.#handler = handler;
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#sender.send(bytes)) this.terminate();
    return !this.#sender.hasUnsent;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes the connection. All bytes must have been sent. */
  end(): void {
    this.#owner.endSwitched();
  }

  terminate(): void {
    this.#owner.terminate();
  }

  onData(bytes: Buffer): void {
    this.#handler.onData(bytes);
  }

  onClosed(): void {
    this.#handler.onClosed();
  }
}
