// One response of the model on a WebSocket, from the moment the client asks for it or the provider starts it.
import { RealtimeOutput, type ResponseInput } from "../../formats/openai/realtime-estimate.ts";
import type { ResponseRequest } from "../../formats/openai/realtime-requests.ts";
import type { ReservedClaims } from "../budgets/reserved-claims.ts";
import { newEventId } from "./client-message.ts";

const NO_REQUEST: ResponseRequest = {
  eventId: null,
  maxOutputTokens: null,
  namesLimit: false,
  isAlone: false,
};

export class Turn {
  reserved: ReservedClaims | null = null;
  /** The provider's id; null until the response starts, and if the provider gives it none. */
  id: string | null = null;
  isOutOfBand = false;
  /** A time of the clock: when the client has asked for the response, and then when it has started. */
  startedAt: number;
  readonly output = new RealtimeOutput();
  /** The client's id of its event; null if it has none. */
  readonly eventId: string | null;
  /** The id that the event has at the provider. */
  readonly sentEventId: string;
  readonly request: ResponseRequest;
  /** What the client's event adds to the conversation for this response only. */
  readonly ownInput: number;
  /** Estimated. */
  input: ResponseInput;
  readonly maxOutputTokens: number | null;

  constructor(
    startedAt: number,
    input: ResponseInput,
    request: ResponseRequest = NO_REQUEST,
    ownInput = 0,
    sentEventId = newEventId(),
  ) {
    this.startedAt = startedAt;
    this.input = input;
    this.request = request;
    this.ownInput = ownInput;
    this.sentEventId = sentEventId;
    this.eventId = request.eventId;
    this.maxOutputTokens = request.maxOutputTokens;
  }
}
