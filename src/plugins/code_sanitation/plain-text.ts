// Finds and masks code in a body that is not declared as JSON. Many patterns match only where a text starts or ends, so each of its values
// is a text: those of a form, the parts of a multipart form, and the strings of JSON. Servers read JSON in spite of its content type.
import { isMultipart, isUrlEncoded, multipartDelimiter } from "../../sdk/index.ts";
import type { Detector } from "./detector.ts";
import { firstInForm, maskForm } from "./form-text.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText, maskUntilClean } from "./mask.ts";
import { splitMultipart, type MultipartPiece, type UnreadablePart } from "./multipart.ts";

/**
 * How JSON begins. In UTF-8 or UTF-16 a byte order mark precedes it, in UTF-16 without one a byte 0 may follow each character. Its end does not
 * matter: some parsers ignore what follows the first value.
 */
const JSON_START = /^[\ufeff\0\s]*[{[]/;

/** The work of reading a part of a multipart form. A form can consist of very many empty parts. */
const STEPS_PER_PART = 64;

/** A body that is not declared as JSON. */
export class PlainText {
  readonly #isForm: boolean;
  /** All of the text if the pieces may be other ones than those that a server reads. */
  readonly #whole: string | null;
  /** The contents of the parts of a multipart form, and what is between them; all of any other text. */
  readonly #pieces: readonly MultipartPiece[];
  /** Header fields of parts as a server may decode them. */
  readonly #decodedFields: readonly string[];
  /** The number of files, which are not inspected. */
  readonly files: number;
  /** Not null if a part cannot be inspected. */
  readonly unreadable: UnreadablePart | null;

  /** Counts the parts of a multipart form. Throws WorkExhausted. */
  constructor(text: string, headers: Pick<Headers, "get">, hasOpaqueFiles: boolean, detector: Detector) {
    const type = headers.get("content-type");
    this.#isForm = isUrlEncoded(type);
    const isDivided = isMultipart(type);
    const delimiter = multipartDelimiter(type);
    this.#whole = isDivided && delimiter === null ? text : null;
    const onPart = () => detector.countWork(STEPS_PER_PART);
    const divided = isDivided ? splitMultipart(text, delimiter, hasOpaqueFiles, onPart) : undivided(text);
    this.#pieces = divided.pieces;
    this.#decodedFields = divided.decodedFields;
    this.unreadable = divided.unreadable;
    this.files = this.#pieces.filter(({ isFile }) => isFile).length;
  }

  hasCode(detector: Detector): boolean {
    if (this.#whole !== null && detector.first(this.#whole) !== null) return true;
    if (this.hasUnmaskableCode(detector)) return true;
    return this.#pieces.some(({ text, isFile }) => !isFile && this.#isCodeIn(text, detector));
  }

  /** Whether there is code in a form in which a mask cannot be written. */
  hasUnmaskableCode(detector: Detector): boolean {
    return this.#decodedFields.some((fields) => detector.first(fields) !== null);
  }

  /** Returns the text with code masked; the same text if there is none. */
  masked(detector: Detector, char: string): string {
    const masked = this.#pieces
      .map(({ text, isFile }) => (isFile ? text : this.#maskedPiece(text, detector, char)))
      .join("");
    return this.#whole === null ? masked : maskText(masked, detector, char);
  }

  /** Also as a text: the structure of JSON may be code, such as an operator of a query. */
  #isCodeIn(text: string, detector: Detector): boolean {
    const finding = this.#isForm ? firstInForm(text, detector) : detector.first(text);
    return finding !== null || (JSON_START.test(text) && firstInJson(text, detector) !== null);
  }

  #maskedPiece(text: string, detector: Detector, char: string): string {
    const isJson = JSON_START.test(text);
    if (this.#isForm) return maskForm(isJson ? maskJson(text, detector, char) : text, detector, char);
    if (!isJson) return maskText(text, detector, char);
    return maskUntilClean(
      text,
      char,
      (current) => maskText(maskJson(current, detector, char), detector, char),
      (current) => char.repeat(current.length),
    );
  }
}

function undivided(text: string): ReturnType<typeof splitMultipart> {
  return { pieces: [{ text, isFile: false }], decodedFields: [], unreadable: null };
}
