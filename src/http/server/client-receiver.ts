// Events of the socket of a client, for its connection: received bytes wait until the bytes of other clients have arrived, too.
import { fromClients, type Receiver } from "../receive-queue.ts";
import type { ClientConnection } from "./client-connection.ts";

export class ClientReceiver implements Receiver {
  queued: Buffer | null = null;
  readonly connection: ClientConnection;
  readonly #report: (error: unknown) => void;

  /** `report` is called with errors that should not happen. */
  constructor(connection: ClientConnection, report: (error: unknown) => void) {
    this.connection = connection;
    this.#report = report;
  }

  onData(bytes: Buffer): void {
    this.connection.onData(bytes);
  }

  onDataError(error: unknown): void {
    this.#report(error);
    this.connection.terminate();
  }

  /** The client has closed its side of the connection, or all of it. */
  onClose(): void {
    fromClients.finish(this);
    this.connection.onClose();
  }

  onError(): void {
    fromClients.finish(this);
    this.connection.terminate();
  }
}
