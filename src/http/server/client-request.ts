// A request as the data plane sees it, whichever listener received it.
import type { HeaderFields } from "../header-fields.ts";
import type { ProtocolHandler } from "./switched-connection.ts";
import type { ForwardedBody } from "../forwarded-body.ts";
import type { BodyLimits, IncomingBody } from "../incoming-body.ts";

/** Called when the client disconnects before its response is complete. */
export interface DisconnectListener {
  onDisconnect(): void;
}

/** Where a listener accepts connections. */
export interface ListenerAddress {
  readonly hostname: string;
  readonly port: number;
}

export interface ClientRequest {
  readonly method: string;
  /** As received: a path with an optional query, or a URL. */
  readonly target: string;
  readonly headers: HeaderFields;
  /** Of the TCP peer. */
  readonly peerAddress: string;
  /** The listener that has accepted the connection. Absent for explained requests and those of the console, which may have any address. */
  readonly listener?: ListenerAddress | null;
  /** The client has disconnected. */
  readonly isDisconnected: boolean;
  /** Null if nothing has to know. */
  disconnectListener: DisconnectListener | null;
  /** The declared length of a body that is still arriving; 0 if it is unknown. Absent if the listener cannot forward a body. */
  readonly arrivingLength?: number;
  /** Starts to read the body; returns null if there is none. Throws a GatehouseError if it is too large. Call it once. */
  readBody(limits: BodyLimits): IncomingBody | null;
  /**
   * Instead of `readBody`: returns the body to forward it while it arrives. Nothing of it is read before `start`, and `readBody` may still
   * be called until then. Throws a GatehouseError if it is too large.
   */
  forwardBody?(limits: BodyLimits): ForwardedBody;
  /**
   * Turns the connection into one of another protocol, which begins with `head`. Returns false if the client has disconnected.
   * Absent if the listener cannot switch.
   */
  switchTo?(handler: ProtocolHandler, head: string): boolean;
}
