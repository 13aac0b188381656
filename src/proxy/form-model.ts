// The fields of a multipart form that routing and the ledger read. Parsers of forms differ in details, so
// that everything which one of them could read as another model is reported as ambiguous.
import { indexOfBytes, utf8Between } from "../base/byte-search.ts";
import { GatehouseError } from "../base/errors.ts";
import { percentDecoded } from "../base/percent-decoded.ts";
import { isAmbiguousPart, multipartDelimiter } from "../http/multipart.ts";
import { choicesOf } from "./budgets/output-bounds.ts";
import { GENERATION_FIELDS, GenerationReader, type GenerationFields } from "./generation-fields.ts";
import { repeatedPart, type ModelProblem } from "./model-problems.ts";

/** Every parameter that a parser may take for the name of a part: `name` in any spelling, also inside other parameters. */
const NAME = /[;\s]name\*?\s*=\s*(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s;"]+))/gi;
const MODEL_PART =
  /^\r\n[Cc]ontent-[Dd]isposition: *form-data; *name=(?:"model"|model)(?:\r\n[Cc]ontent-[Tt]ype: *text\/plain[^\r\n]*)?$/;
const LINE_ENDS = [Buffer.from("\r\n\r\n"), Buffer.from("\n\n")];
const MAX_PART_HEADER_BYTES = 4096;
/** Reading more would keep other requests waiting. Usual servers accept at most 1,000 fields and 1,000 files. */
const MAX_PARTS = 2000;
const COUNTED_NAMES: ReadonlySet<string> = new Set(GENERATION_FIELDS);
/** Longer texts are no number. */
const MAX_NUMBER_BYTES = 100;
const CR = 0x0d;
const LF = 0x0a;

/** Where the bytes of the model are in a form. */
export interface FormModel {
  readonly start: number;
  readonly end: number;
}

interface FormFields {
  readonly model: string | null;
  /** Null if the form names no model. */
  readonly formModel: FormModel | null;
  /** With the number in the part `n`, the largest of several. */
  readonly generation: GenerationFields;
  /** Not null if a part that the ledger reads occurs twice. */
  readonly modelProblem: ModelProblem | null;
}

/** "ambiguous": parsers may disagree on the model. */
export function fieldsInForm(
  bytes: Uint8Array,
  contentType: string,
): FormFields | "ambiguous" | "too_many_parts" {
  const delimiter = delimiterOf(contentType);
  if (delimiter === null || !startsWithDelimiter(bytes, delimiter)) return "ambiguous";
  let model: string | null = null;
  let formModel: FormModel | null = null;
  let choices = 1;
  let modelProblem: ModelProblem | null = null;
  const counted = new Set<string>();
  let at = indexOfBytes(bytes, delimiter, 0);
  for (let parts = 0; at >= 0; parts++) {
    if (parts > MAX_PARTS) return "too_many_parts";
    const start = at + delimiter.length;
    // Every occurrence counts, also one inside a file: some parsers do not require a line break before it.
    const next = indexOfBytes(bytes, delimiter, start);
    const part = bytes.subarray(start, next < 0 ? bytes.byteLength : next);
    at = next;
    const headersEnd = endOfHeaders(part);
    if (headersEnd > MAX_PART_HEADER_BYTES) return "ambiguous";
    const headers = utf8Between(part, 0, headersEnd);
    if (isAmbiguousPart(headers)) return "ambiguous";
    const names = namesIn(headers);
    for (const name of names) {
      if (!COUNTED_NAMES.has(name)) continue;
      if (counted.has(name)) modelProblem = repeatedPart(name);
      counted.add(name);
      if (name === "n") choices = Math.max(choices, choicesOf(numberOf(part, headersEnd)));
    }
    if (!names.includes("model")) continue;
    const found = MODEL_PART.test(headers) ? valueOf(part, headersEnd) : null;
    if (found === null || model !== null || next < 0) return "ambiguous";
    model = found;
    // Without the line breaks before and after it.
    formModel = { start: start + headersEnd + 4, end: start + part.byteLength - 2 };
  }
  return { model, formModel, generation: { ...GenerationReader.none, choices }, modelProblem };
}

/** Returns the form with another model; all other bytes stay as they were. */
export function withFormModel(
  bytes: Uint8Array,
  contentType: string,
  { start, end }: FormModel,
  model: string,
): Uint8Array {
  // The client chooses the delimiter, and a model that contains it would end its part.
  if (model.includes(multipartDelimiter(contentType) ?? ""))
    throw new GatehouseError(
      "bad_request",
      "The boundary of the multipart form occurs in the model that is sent to the target. Choose another boundary.",
    );
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(model), bytes.subarray(end)]);
}

function delimiterOf(contentType: string): Buffer | null {
  const delimiter = multipartDelimiter(contentType);
  return delimiter === null ? null : Buffer.from(delimiter);
}

/** Text before the first part is ignored by parsers of forms, and read by servers that ignore the content type. */
function startsWithDelimiter(bytes: Uint8Array, delimiter: Uint8Array): boolean {
  const at = bytes[0] === CR && bytes[1] === LF ? 2 : 0;
  return indexOfBytes(bytes.subarray(at, at + delimiter.length), delimiter, 0) === 0;
}

/** Returns where the headers of a part end, without the empty line. */
function endOfHeaders(part: Uint8Array): number {
  const ends = LINE_ENDS.map((lineEnd) => indexOfBytes(part, lineEnd, 0)).filter((end) => end >= 0);
  return ends.length === 0 ? part.byteLength : Math.min(...ends);
}

/** Returns every name that a parser may read, in lower case. */
function namesIn(headers: string): string[] {
  const names: string[] = [];
  for (const [, quoted, plain = ""] of headers.matchAll(NAME)) {
    const name = (quoted ?? plain).replaceAll("\\", "").replace(/^[\w-]*'[\w-]*'/, "");
    // Some parsers decode encoded words (RFC 2047), which may be that of the model.
    names.push(name.includes("=?") ? "model" : percentDecoded(name).trim().toLowerCase());
  }
  return names;
}

/** Returns the text of a part that is a number. */
function numberOf(part: Uint8Array, headersEnd: number): string {
  return utf8Between(part, headersEnd, Math.min(part.byteLength, headersEnd + MAX_NUMBER_BYTES)).trim();
}

/** Returns the content of a part without the line break before the next delimiter; null if it is no name of a model. */
function valueOf(part: Uint8Array, headersEnd: number): string | null {
  const text = utf8Between(part, headersEnd, part.byteLength);
  const [, value] = /^\r\n\r\n([^\r\n]{1,1000})\r\n$/.exec(text) ?? [];
  return value ?? null;
}
