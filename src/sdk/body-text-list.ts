// What a plugin reads of the texts of a request body, whatever kind of body it is.
import type { RequestIdentifier, RequestText } from "../formats/request-text.ts";

/** The texts of a body, and its strings that are no texts. `RequestTexts` are those of JSON. */
export interface BodyTexts {
  readonly texts: readonly RequestText[];
  readonly identifiers: readonly RequestIdentifier[];
  /** The field by which the request continues a conversation that its provider keeps; null if it does not. */
  readonly keptConversation: string | null;
  /** What in the body may be text and cannot be read, to be named in an error message; null if there is nothing. */
  readonly unreadable: string | null;
  /** Returns the body with the texts at these positions, and the names of these fields, replaced. */
  replace(replacements: ReadonlyMap<number, string>, keys?: ReadonlyMap<string, string>): Uint8Array;
}
