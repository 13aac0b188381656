// The one error a translation throws: which field of the client's body (or of the provider's answer) cannot be
// carried over, and what to do about it.

export class TranslationError extends Error {
  override readonly name = "TranslationError";

  /** `path` as in `messages[2].tool_calls[0].function.arguments`; the message is a sentence naming the mend. */
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}
