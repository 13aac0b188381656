// What a connection of a client needs from its server.
import type { GatehouseError } from "../../base/errors.ts";
import type { CoarseDeadlines } from "../coarse-deadlines.ts";
import type { ClientRequest, ListenerAddress } from "./client-request.ts";
import type { OutgoingResponse } from "./outgoing-response.ts";

export type RequestHandler = (request: ClientRequest) => Promise<OutgoingResponse>;

interface OwnedConnection {
  terminate(): void;
}

export interface ConnectionOwner extends ListenerAddress {
  readonly deadlines: CoarseDeadlines;
  readonly handle: RequestHandler;
  /** Each response is the last one of its connection. */
  readonly isStopping: boolean;
  onClosed(connection: OwnedConnection): void;
  /** The bytes of a client are no request, or none within the timeout. */
  onRefused(error: GatehouseError): void;
  /** The handler failed. Returns the response for the client. */
  onError(error: unknown): OutgoingResponse;
}
