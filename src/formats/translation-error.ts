// The error of translations: a field cannot be expressed in the other format, or has a wrong type.

/** The error code of the gateway. `stateless_responses`: the request refers to a response that the gateway does not store. */
type TranslationErrorCode = "untranslatable" | "stateless_responses";

export class TranslationError extends Error {
  override readonly name = "TranslationError";

  /**
   * `path` names the field, for example `messages[2].tool_calls[0].function.arguments`. `message` is a sentence that says
   * what is wrong and how to fix it.
   */
  constructor(
    readonly path: string,
    message: string,
    readonly code: TranslationErrorCode = "untranslatable",
  ) {
    super(message);
  }
}
