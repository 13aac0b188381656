// The decision of a plugin that a response must not be sent, as an error that passes through the relay.
import type { TextRejection } from "../../sdk/texts.ts";

export class RejectedText extends Error {
  override readonly name = "RejectedText";
  readonly rejection: TextRejection;
  /** On a stream: the events before the rejected one, and the error event. They are sent before the connection is broken. */
  lastBytes: Uint8Array = new Uint8Array(0);

  constructor(rejection: TextRejection) {
    super(`a plugin rejected the response: ${rejection.code}`);
    this.rejection = rejection;
  }
}
