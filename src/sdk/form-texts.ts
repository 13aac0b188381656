// The texts in the fields of forms. The content of files is not read here: a guard that inspects no files is not used beside files with text.
import { isUtf8 } from "node:buffer";
import { utf8Between } from "../base/byte-search.ts";
import { applySplices, type Splice } from "../base/json-nodes.ts";
import { percentDecodedLeniently } from "../base/percent-decoded.ts";
import { readDataUrl } from "../formats/inline-files.ts";
import type { RequestIdentifier, RequestText } from "../formats/request-text.ts";
import {
  FILE_KEYS,
  FORM_SETTINGS,
  IDENTIFIER,
  OTHER_FIELDS,
  SETTINGS,
  SYSTEM_FIELDS,
  URL_KEYS,
  type TextRole,
} from "../formats/request-text-fields.ts";
import { namesOtherCharset } from "../http/charset.ts";
import { formPartsOf, type FormPart } from "../http/form-parts.ts";
import { isAmbiguousPart } from "../http/multipart.ts";
import type { BodyTexts } from "./body-text-list.ts";

/** The value of a field, and what replaces its bytes, or those of all places where it is, when it changes. */
interface FormValue {
  readonly value: string;
  readonly write: (value: string) => readonly Splice[];
}

/** `encode` returns the value for a changed text; null: the text is the value. See `Found`. */
interface FormText {
  readonly text: RequestText;
  readonly of: FormValue;
  readonly encode: ((text: string, current: string) => string) | null;
}

interface FormKey {
  readonly key: string;
  readonly write: (key: string) => Splice;
}

const JSON_START = /^[\ufeff\s]*[{[]/;
const INDEX = /\[.*$/s;
/** A part with a file name is a file to most parsers; with one in another spelling to some. */
const FILE_NAME = /filename/i;
const VALUES = /(?:^|[\s;])(?:file)?name\*?\s*=\s*(?:"((?:[^"\\]|\\[^])*)"|([^\s";]+))/gi;
/** The headers of a field as all parsers read them. */
const DISPOSITION = /^content-disposition: *form-data *; *name=(?:"[^"\\\r\n]*"|[\w[\].-]+)$/i;
const CONTENT_TYPE = /^content-type: *(?:text\/[\w.+-]+|application\/(?:[\w.-]+\+)?json)(?: *;[^\r\n]*)?$/i;
const CONTENT_ENCODING = /^content-transfer-encoding: *(?:7bit|8bit|binary)$/i;
const CONTENT_LENGTH = /^content-length: *(\d+)$/i;
/** A part whose content is the charset of all others (RFC 7578, section 4.6). */
const CHARSET_PART = "_charset_";

class FormTexts implements BodyTexts {
  readonly #body: Uint8Array;
  readonly #texts: FormText[] = [];
  readonly #keys: FormKey[] = [];
  readonly identifiers: RequestIdentifier[] = [];
  readonly keptConversation = null;
  unreadable: string | null = null;

  constructor(body: Uint8Array) {
    this.#body = body;
  }

  get texts(): readonly RequestText[] {
    return this.#texts.map(({ text }) => text);
  }

  addName(name: string, write: ((name: string) => Splice) | null): void {
    this.identifiers.push({ kind: write === null ? "identifier" : "key", field: "", text: name });
    if (write !== null) this.#keys.push({ key: name, write });
  }

  addValue(name: string, value: string, message: number, write: (text: string) => readonly Splice[]): void {
    const field = name.toLowerCase().replace(INDEX, "");
    const isSetting = SETTINGS.has(field) || FORM_SETTINGS.has(field);
    if (value === "") return;
    if (isSetting && IDENTIFIER.test(value)) {
      this.identifiers.push({ kind: "identifier", field, text: value });
      return;
    }
    const role: TextRole = SYSTEM_FIELDS.has(field) ? "system" : OTHER_FIELDS.has(field) ? "other" : "user";
    const place = { role, message, tool: null, field, isReadOnly: false } as const;
    const add = (text: string, isFile: boolean, encode: FormText["encode"]) =>
      this.#texts.push({
        text: { ...place, kind: isFile ? "document" : "text", isFile, isJson: JSON_START.test(text), text },
        of,
        encode,
      });
    const of: FormValue = { value, write };
    const dataUrl = readDataUrl(value, URL_KEYS.has(field) || FILE_KEYS.has(field));
    const header = dataUrl?.header ?? null;
    if (header === null) add(value, false, null);
    else this.identifiers.push({ kind: "url", field, text: percentDecodedLeniently(header) });
    if (dataUrl?.file === "binary") this.identifiers.push({ kind: "identifier", field, text: value });
    if (dataUrl === null || typeof dataUrl.file === "string") return;
    const { text, encode } = dataUrl.file;
    if (text === null) this.unreadable ??= `a file in "${field}" with text that cannot be read`;
    else add(text, true, encode);
  }

  replace(replacements: ReadonlyMap<number, string>, keys?: ReadonlyMap<string, string>): Uint8Array {
    const splices: Splice[] = [];
    const written = new Map<FormValue, string>();
    for (const [index, text] of [...replacements].sort(([a], [b]) => a - b)) {
      const found = this.#texts[index];
      if (found === undefined) continue;
      const { of, encode } = found;
      written.set(of, encode === null ? text : encode(text, written.get(of) ?? of.value));
    }
    for (const [{ write }, value] of written) splices.push(...write(value));
    for (const { key, write } of this.#keys) {
      const replacement = keys?.get(key);
      if (replacement !== undefined) splices.push(write(replacement));
    }
    splices.sort((a, b) => a.start - b.start);
    return applySplices(this.#body, splices);
  }
}

/** Reads `application/x-www-form-urlencoded`. Returns null if the form cannot be read. */
export function readUrlEncodedTexts(body: Uint8Array): BodyTexts | null {
  // Some servers read JSON in spite of its content type. A form has its brackets encoded.
  if (!isUtf8(body) || JSON_START.test(utf8Between(body, 0, Math.min(body.byteLength, 1024)))) return null;
  const source = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const form = new FormTexts(body);
  const writeTo = (start: number, end: number) => (text: string) => ({
    start,
    end,
    bytes: Buffer.from(encodeURIComponent(text.toWellFormed())),
  });
  let start = 0;
  for (let message = 0; start < source.length; message++) {
    const found = source.indexOf("&", start);
    const end = found < 0 ? source.length : found;
    const equals = source.subarray(start, end).indexOf("=");
    const nameEnd = equals < 0 ? start : start + equals;
    const name = decodeForm(source.toString("utf8", start, nameEnd));
    const valueStart = equals < 0 ? start : nameEnd + 1;
    // Servers disagree on a pair without "=".
    if (nameEnd > start) form.addName(name, writeTo(start, nameEnd));
    const write = writeTo(valueStart, end);
    form.addValue(name, decodeForm(source.toString("utf8", valueStart, end)), message, (text) => [
      write(text),
    ]);
    start = end + 1;
  }
  return form;
}

/** Reads `multipart/form-data`. Returns null if parsers may read the form differently. */
export function readMultipartTexts(body: Uint8Array, contentType: string | null): BodyTexts | null {
  const found = formPartsOf(body, contentType);
  if (found === null || found.hasOther) return null;
  const form = new FormTexts(body);
  for (const [message, part] of found.parts.entries()) {
    const { headers, start, end } = part;
    // Some servers decode encoded words (RFC 2047).
    if (isAmbiguousPart(headers) || headers.includes("=?")) return null;
    form.addName(headers, null);
    for (const [, quoted, plain = ""] of headers.matchAll(VALUES))
      form.addName(percentDecodedLeniently(quoted ?? plain), null);
    if (FILE_NAME.test(headers)) continue;
    if (!isPlainField(part) || !isUtf8(body.subarray(start, end))) return null;
    const value = utf8Between(body, start, end);
    form.addValue(part.name ?? "", value, message, (text) => writePart(part, text));
  }
  return form;
}

function isPlainField({ headers, name }: FormPart): boolean {
  const [, ...lines] = headers.split("\r\n");
  const dispositions = lines.filter((line) => DISPOSITION.test(line));
  if (!headers.startsWith("\r\n") || dispositions.length !== 1 || name === CHARSET_PART) return false;
  return lines.every(
    (line) =>
      DISPOSITION.test(line) ||
      (CONTENT_TYPE.test(line) && !namesOtherCharset(line)) ||
      CONTENT_ENCODING.test(line) ||
      CONTENT_LENGTH.test(line),
  );
}

/** Some clients send the length of each part. */
function writePart({ headers, headersStart, start, end }: FormPart, text: string): Splice[] {
  const bytes = Buffer.from(text.toWellFormed());
  const splices: Splice[] = [];
  let at = headersStart;
  for (const line of headers.split("\r\n")) {
    const length = Buffer.byteLength(line);
    const [, digits] = CONTENT_LENGTH.exec(line) ?? [];
    if (digits !== undefined)
      splices.push({
        start: at + length - digits.length,
        end: at + length,
        bytes: Buffer.from(String(bytes.byteLength)),
      });
    at += length + 2;
  }
  return [...splices, { start, end, bytes }];
}

function decodeForm(text: string): string {
  return percentDecodedLeniently(text.replaceAll("+", " "));
}
