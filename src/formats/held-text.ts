// Limits what a stream encoder keeps of a stream until a later event. A provider may send streams without an end.
import { TranslationError } from "./translation-error.ts";

/** Models generate far less. */
const MAX_LENGTH = 32 * 1024 * 1024;
/** Counted for every item, whatever its text. */
export const ITEM_LENGTH = 256;

export class HeldText {
  #length = 0;

  /** Throws if the encoder keeps too much. */
  add(length: number): void {
    this.#length += length;
    if (this.#length <= MAX_LENGTH) return;
    throw new TranslationError(
      "stream",
      `The provider's stream has more than ${MAX_LENGTH} characters of text.`,
    );
  }
}
