// The error for messages that are not valid HTTP.

/** A request or response is not valid HTTP. */
export class InvalidMessage extends Error {
  override readonly name = "InvalidMessage";
}
