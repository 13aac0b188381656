// Sends the body of a request over a connection while it arrives from the client, at the pace of the slower one.
import type { BodySink, ForwardedBody } from "../http/forwarded-body.ts";
import type { SocketWriter } from "../http/websocket/socket-writer.ts";
import { UpstreamError } from "./upstream-error.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

export class Upload implements BodySink {
  readonly #body: ForwardedBody;
  readonly #connection: SocketWriter;
  readonly #response: UpstreamResponse;
  /** All of the body has arrived and was handed to the connection. */
  isComplete = false;

  constructor(body: ForwardedBody, connection: SocketWriter, response: UpstreamResponse) {
    this.#body = body;
    this.#connection = connection;
    this.#response = response;
  }

  start(): void {
    this.#connection.onDrained = () => this.#onDrained();
    this.#response.onWaitingForClient();
    this.#body.start(this);
  }

  /** The connection is closed, or carries another request. */
  stop(): void {
    this.#connection.onDrained = null;
    this.#body.stop(this);
  }

  // BodySink

  write(bytes: Uint8Array): boolean {
    if (this.#connection.write(bytes)) return true;
    this.#response.onWaitingForProvider();
    return false;
  }

  end(): void {
    this.isComplete = true;
    this.#response.onWaitingForProvider();
  }

  fail(error: Error): void {
    // Closes the connection, so that the provider sees an incomplete body.
    this.#response.abort(new UpstreamError("client_left", error));
  }

  #onDrained(): void {
    if (!this.isComplete) this.#response.onWaitingForClient();
    this.#body.resume();
  }
}
