// Errors of translations as errors of the gateway.
import { GatehouseError } from "../base/errors.ts";
import { TRANSLATION_ERROR_CODES, TranslationError } from "../formats/translation-error.ts";

const CODES: ReadonlySet<string> = new Set(TRANSLATION_ERROR_CODES);

/** Whether an error means that the format of a target cannot express the request. That of another target may. */
export function isUntranslatable(error: unknown): error is GatehouseError {
  return error instanceof GatehouseError && CODES.has(error.code);
}

/** Returns what `translate` returns. Throws an error for which `isUntranslatable` is true instead of a TranslationError. */
export function orUntranslatable<Result>(translate: () => Result): Result {
  try {
    return translate();
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error;
    const details = [{ path: error.path, message: error.message }];
    throw new GatehouseError(error.code, error.message, { details });
  }
}
