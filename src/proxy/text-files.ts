// Finds files with text in multipart forms: by media type, by name, and by their first bytes. Whatever cannot be read for sure counts as text.
import { indexOfBytes, utf8Between } from "../base/byte-search.ts";
import { isUtf8 } from "node:buffer";
import { multipartDelimiter } from "../http/multipart.ts";

interface FormFiles {
  readonly hasText: boolean;
  /** Whether a part that is a file to all parsers is certainly text, by its media type, its name, or its first bytes in UTF-8. */
  readonly hasPlainTextFile: boolean;
  /** Whether the file is the input of a batch; null if parsers of forms may disagree. */
  readonly isBatch: boolean | null;
}

/** Usual servers accept at most 1,000 fields and 1,000 files. */
const MAX_PARTS = 2000;
const MAX_HEADER_BYTES = 4096;
const FIRST_BYTES = 512;

const LINE_ENDS = [Buffer.from("\r\n\r\n"), Buffer.from("\n\n")];
const PDF = Buffer.from("%PDF-");
const MEDIA = /^(?:(?:image|audio|video)\/(?!svg)|application\/pdf\b)/;
const TEXT_TYPE =
  /^text\/|[/+](?:x-)?(?:json|jsonl|jsonlines|json5|ndjson|xml|csv|yaml|toml|javascript|ecmascript|typescript|python|ruby|php|httpd-php|sh|shellscript|sql|tex|rtf)\b/;
const TEXT_NAME =
  /\.(?:txt|md|json[l5]?|ndjson|csv|tsv|xml|html?|svg|ya?ml|toml|ini|log|tex|sql|sh|bat|ps1|py|rb|php|pl|lua|r|go|rs|java|kt|swift|cs|c|h|cc|cpp|hpp|m|scala|[cm]?[jt]sx?|css)"?\s*(?:;|\r|\n|$)/i;

const TYPE_FIELD = /^content-type[ \t]*:[ \t]*([^\r\n]*)/im;
const NAME = /^[^]*?[;\s]name=(?:"([\w[\]-]*)"|([\w[\]-]+))/;
/** Other spellings of a name, which some parsers read. */
const UNUSUAL_NAME = /\bname\*|[;\s]name\s+=|=\s+"|=\?|\\|%/i;
/** A file as clients usually send it. */
const PLAIN_FILE =
  /^\r\ncontent-disposition: form-data; name="[\w[\]-]+"; filename="[^"\\\r\n]+"(?:\r\ncontent-type:[^\r\n]*)?$/i;
const PURPOSE = "purpose";

/** Returns null if the form cannot be read. */
export function filesInForm(bytes: Uint8Array, contentType: string | null): FormFiles | null {
  const delimiter = multipartDelimiter(contentType);
  if (delimiter === null) return null;
  const separator = Buffer.from(delimiter);
  let at = indexOfBytes(bytes, separator, 0);
  // Servers that ignore the content type may read what is before the first part.
  if (at < 0 || at > 2) return null;
  let hasText = false;
  let hasPlainTextFile = false;
  let isUnusual = false;
  const purposes = new Set<string>();
  for (let parts = 0; at >= 0; parts++) {
    if (parts > MAX_PARTS) return null;
    const start = at + separator.length;
    const next = indexOfBytes(bytes, separator, start);
    const part = bytes.subarray(start, next < 0 ? bytes.byteLength : next);
    at = next;
    const end = endOfHeaders(part);
    if (end === null) continue;
    if (end.start > MAX_HEADER_BYTES) return null;
    const headers = utf8Between(part, 0, end.start);
    const content = contentOf(part, end.end);
    const [, quoted, plain] = NAME.exec(headers) ?? [];
    const name = quoted ?? plain ?? null;
    isUnusual ||= name === null || UNUSUAL_NAME.test(headers);
    if (name?.toLowerCase() === PURPOSE)
      purposes.add(utf8Between(content, 0, Math.min(content.byteLength, FIRST_BYTES)).trim());
    else if (!isField(headers, name) && isTextPart(headers, content)) {
      hasText = true;
      hasPlainTextFile ||= isPlainTextFile(headers, content);
    }
  }
  return {
    hasText,
    hasPlainTextFile,
    isBatch: isUnusual || purposes.size > 1 ? null : purposes.has("batch"),
  };
}

/** Whether the file is text. */
export function isTextFile(type: string | null, content: Uint8Array): boolean {
  const declared = (type ?? "").trim().toLowerCase();
  const first = content.subarray(0, FIRST_BYTES);
  if (first.byteLength === 0) return false;
  if (TEXT_TYPE.test(declared)) return true;
  if (indexOfBytes(first.subarray(0, PDF.length), PDF, 0) === 0) return false;
  if (isWide(first)) return true;
  if (hasControls(first)) return false;
  return !MEDIA.test(declared) || startsAsUtf8(content);
}

function isTextPart(headers: string, content: Uint8Array): boolean {
  if (content.byteLength === 0) return false;
  const type = typeOf(headers);
  return (TEXT_NAME.test(headers) && !MEDIA.test(type)) || isTextFile(type, content);
}

/** Whether a text is a file to all parsers, and certainly text. */
function isPlainTextFile(headers: string, content: Uint8Array): boolean {
  if (!PLAIN_FILE.test(headers)) return false;
  const isDeclared = TEXT_TYPE.test(typeOf(headers)) || TEXT_NAME.test(headers);
  return isDeclared || isWide(content.subarray(0, FIRST_BYTES)) || startsAsUtf8(content);
}

/** Returns the content type of a part in lower case; empty if it has none. */
function typeOf(headers: string): string {
  return (TYPE_FIELD.exec(headers)?.[1] ?? "").toLowerCase();
}

/** Whether the part is a field of the form and no file. */
function isField(headers: string, name: string | null): boolean {
  if (/filename/i.test(headers) || /^(?:files?(?:\[\])?|data)$/i.test(name ?? "file")) return false;
  return /^text\/plain/i.test(TYPE_FIELD.exec(headers)?.[1] ?? "text/plain");
}

/** Returns where the headers of a part end, and where its content starts; null if it has no headers. */
function endOfHeaders(part: Uint8Array): { readonly start: number; readonly end: number } | null {
  const head = part.subarray(0, MAX_HEADER_BYTES + 4);
  const found = LINE_ENDS.map((lineEnd) => ({
    start: indexOfBytes(head, lineEnd, 0),
    length: lineEnd.length,
  }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.start - b.start);
  const [first] = found;
  if (first !== undefined) return { start: first.start, end: first.start + first.length };
  return part.byteLength > head.byteLength ? { start: MAX_HEADER_BYTES + 1, end: part.byteLength } : null;
}

/** Returns the content of a part without the line break before the next delimiter. */
function contentOf(part: Uint8Array, start: number): Uint8Array {
  const endsWithBreak = part.at(-2) === 0x0d && part.at(-1) === 0x0a;
  return part.subarray(start, Math.max(start, part.byteLength - (endsWithBreak ? 2 : 0)));
}

/** Whether the bytes start as UTF-16 or UTF-32 do. */
function isWide(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  // Without a mark: every other byte of Latin text is 0.
  return (
    bytes.byteLength > 1 &&
    (first === 0) !== (second === 0) &&
    hasTextAtEveryOther(bytes, first === 0 ? 1 : 0)
  );
}

function hasTextAtEveryOther(bytes: Uint8Array, offset: number): boolean {
  for (let index = 0; index + 1 < bytes.byteLength; index += 2) {
    if (bytes[index + 1 - offset] !== 0 || isControl(bytes[index + offset] ?? 0)) return false;
  }
  return true;
}

function hasControls(bytes: Uint8Array): boolean {
  return bytes.some(isControl);
}

/** Other than white space and the escape character of terminals. */
function isControl(byte: number): boolean {
  return byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b;
}

/** The last of the first characters may be cut. */
function startsAsUtf8(content: Uint8Array): boolean {
  if (content.byteLength <= FIRST_BYTES) return isUtf8(content);
  return [0, 1, 2, 3].some((cut) => isUtf8(content.subarray(0, FIRST_BYTES - cut)));
}
