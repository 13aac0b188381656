// The response of another request that serves a request.
import type { KeptResponse } from "../../runtime/responses/kept-response.ts";
import type { OpenedResponses } from "../../runtime/responses/response-stores.ts";
import type { Flight } from "./flight.ts";

export interface ReusedResponse {
  /** Null for a stream that is still arriving. */
  readonly kept: KeptResponse | null;
  /** That of the stream, which knows the response when the stream has ended. */
  readonly flight: Flight | null;
  readonly store: OpenedResponses;
  /** The response was on its way when the request arrived. */
  readonly isCoalesced: boolean;
}
