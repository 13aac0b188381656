// The decision of a plugin that the client must not get a message of a server, or its part of a merged result.
export class MessageRefusal {
  /** Of the plugin, or of the error for which the message could not be inspected. */
  readonly code: string;
  /** What the client gets where nothing else remains. */
  readonly error: Error;

  constructor(code: string, error: Error) {
    this.code = code;
    this.error = error;
  }
}
