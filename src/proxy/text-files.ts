// Finds files with text in multipart forms: by media type, by name, and by their first bytes. Whatever cannot be read for sure counts as text.
import { utf8Between } from "../base/byte-search.ts";
import { FIRST_BYTES, isMediaType, isTextFile, isTextType, startsAsUtf8 } from "../base/text-bytes.ts";
import { isWideText } from "../base/wide-text.ts";
import { formPartsOf, type FormPart } from "../http/form-parts.ts";

interface FormFiles {
  readonly hasText: boolean;
  /** Whether a part that is a file to all parsers is certainly text, by its media type, its name, or its first bytes in UTF-8. */
  readonly hasPlainTextFile: boolean;
  /** Whether the file is the input of a batch; null if parsers of forms may disagree. */
  readonly isBatch: boolean | null;
}

const TEXT_NAME =
  /\.(?:txt|md|json[l5]?|ndjson|csv|tsv|xml|html?|svg|ya?ml|toml|ini|log|tex|sql|sh|bat|ps1|py|rb|php|pl|lua|r|go|rs|java|kt|swift|cs|c|h|cc|cpp|hpp|m|scala|[cm]?[jt]sx?|css)"?\s*(?:;|\r|\n|$)/i;

const TYPE_FIELD = /^content-type[ \t]*:[ \t]*([^\r\n]*)/im;
/** Other spellings of a name, which some parsers read. */
const UNUSUAL_NAME = /\bname\*|[;\s]name\s+=|=\s+"|=\?|\\|%/i;
/** A file as clients usually send it. */
const PLAIN_FILE =
  /^\r\ncontent-disposition: form-data; name="[\w[\]-]+"; filename="[^"\\\r\n]+"(?:\r\ncontent-type:[^\r\n]*)?$/i;
const PURPOSE = "purpose";

/** Returns null if the form cannot be read. */
export function filesInForm(bytes: Uint8Array, contentType: string | null): FormFiles | null {
  const form = formPartsOf(bytes, contentType);
  if (form === null) return null;
  let hasText = false;
  let hasPlainTextFile = false;
  let isUnusual = false;
  const purposes = new Set<string>();
  for (const { headers, name, start, end } of form.parts) {
    const content = bytes.subarray(start, end);
    isUnusual ||= name === null || UNUSUAL_NAME.test(headers);
    if (name?.toLowerCase() === PURPOSE)
      purposes.add(utf8Between(content, 0, Math.min(content.byteLength, FIRST_BYTES)).trim());
    else if (!isField({ headers, name }) && isTextPart(headers, content)) {
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

function isTextPart(headers: string, content: Uint8Array): boolean {
  if (content.byteLength === 0) return false;
  const type = typeOf(headers);
  return (TEXT_NAME.test(headers) && !isMediaType(type)) || isTextFile(type, content);
}

/** Whether a text is a file to all parsers, and certainly text. */
function isPlainTextFile(headers: string, content: Uint8Array): boolean {
  if (!PLAIN_FILE.test(headers)) return false;
  const isDeclared = isTextType(typeOf(headers)) || TEXT_NAME.test(headers);
  return isDeclared || isWideText(content.subarray(0, FIRST_BYTES)) || startsAsUtf8(content);
}

/** Returns the content type of a part in lower case; empty if it has none. */
function typeOf(headers: string): string {
  return (TYPE_FIELD.exec(headers)?.[1] ?? "").toLowerCase();
}

/** Whether the part is a field of the form and no file. */
function isField({ headers, name }: Pick<FormPart, "headers" | "name">): boolean {
  if (/filename/i.test(headers) || /^(?:files?(?:\[\])?|data)$/i.test(name ?? "file")) return false;
  return /^text\/plain/i.test(TYPE_FIELD.exec(headers)?.[1] ?? "text/plain");
}
