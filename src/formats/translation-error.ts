// The error of translations: a field cannot be expressed in the other format, or has a wrong type.

/**
 * The error code of the gateway. `stateless_responses` and `thread_unsupported_request`: the request refers to, or creates, a
 * conversation that only a provider of the client's format stores.
 */
export const TRANSLATION_ERROR_CODES = [
  "untranslatable",
  "stateless_responses",
  "thread_unsupported_request",
] as const;
type TranslationErrorCode = (typeof TRANSLATION_ERROR_CODES)[number];

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
