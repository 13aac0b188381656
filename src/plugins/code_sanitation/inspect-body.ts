// Scans the body of a request for code, on the event loop or in a worker thread.
import { isMultipart, isUrlEncoded, namesOtherCharset } from "../../sdk/index.ts";
import { encodingsOf, isUndeclaredCompression, mayBeWideText, type InspectedBody } from "./body-text.ts";
import { hasUtf8Mark, isUtf16Mark, isUtf32, namesOtherThanUtf16 } from "./charset.ts";
import type { Detector } from "./detector.ts";
import { inspectJsonBytes, rangesOf, type JsonOptions } from "./inspect-json.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import type { UnreadablePart } from "./multipart.ts";
import { PlainText } from "./plain-text.ts";

/** Why a body is rejected: servers may read it in a way in which it was not inspected. */
export type Unreadable = UnreadablePart | "inline_file" | "compressed" | "charset" | "utf32";

/** `files`: the number of those whose content was not inspected; absent for none. */
export type BodyVerdict = { readonly files?: number } & (
  | { readonly kind: "clean" | "found" }
  | { readonly kind: "unreadable"; readonly why: Unreadable }
  | { readonly kind: "masked"; readonly body: string | Uint8Array }
);

const BYTE_ORDER_MARK = "\ufeff";
const CLEAN: BodyVerdict = { kind: "clean" };
const FOUND: BodyVerdict = { kind: "found" };

/**
 * `mask` is the character that replaces code; null to stop at the first finding. `json`: how a JSON body is inspected; without it,
 * every string is. Throws WorkExhausted.
 */
export function inspectBody(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null = null,
): BodyVerdict {
  if (isInOtherCharset(body)) return { kind: "unreadable", why: "charset" };
  const verdict =
    (body.isJson ? inspectJsonBytes(body, detector, mask, json) : null) ??
    inspectText(body, detector, mask, json);
  return verdict.kind === "masked" ? { ...verdict, body: withMark(body, verdict.body) } : verdict;
}

/** Returns a masked text with the byte order mark of the body, which the text of a body does not have. */
function withMark(body: InspectedBody, masked: string | Uint8Array): string | Uint8Array {
  const bytes = body.bodyView ?? body.body;
  return typeof masked === "string" && bytes !== null && hasUtf8Mark(bytes)
    ? BYTE_ORDER_MARK + masked
    : masked;
}

/** Whether the content type names a charset in which the body is not inspected. */
function isInOtherCharset(body: InspectedBody): boolean {
  const type = body.headers.get("content-type");
  if (type === null || !namesOtherCharset(type)) return false;
  const bytes = body.bodyView ?? body.body;
  if (bytes === null || bytes.length === 0) return false;
  const isText = !body.isJson && !isUrlEncoded(type) && !isMultipart(type);
  // Only text is inspected as UTF-16.
  return !isText || !isUtf16Mark(bytes[0], bytes[1]) || namesOtherThanUtf16(type);
}

/** Apart, because the closures would allocate their scope for every body. */
function inspectText(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null,
): BodyVerdict {
  const { bodyText } = body;
  if (bodyText === null || mayBeWideText(bodyText)) return inspectOtherEncodings(body, detector, mask, json);
  const text = textOf(body, bodyText, json, false, detector);
  if (text.unreadable !== null) return { kind: "unreadable", why: text.unreadable };
  if (mask === null) return text.hasCode(detector) ? FOUND : CLEAN;
  if (text.hasUnmaskableCode(detector)) return FOUND;
  const masked = text.masked(detector, mask);
  return masked === bodyText ? CLEAN : { kind: "masked", body: masked };
}

/** Inspects a body that is not valid UTF-8, or may be UTF-16 or UTF-32. */
function inspectOtherEncodings(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null,
): BodyVerdict {
  const { body: bytes, headers } = body;
  if (bytes === null) return CLEAN;
  if (isUndeclaredCompression(bytes)) return { kind: "unreadable", why: "compressed" };
  if (isUtf32(bytes)) return { kind: "unreadable", why: "utf32" };
  let masked = bytes;
  let files = 0;
  for (const { decode, encode } of encodingsOf(bytes, headers)) {
    const decoded = decode(masked);
    if (decoded === null) continue;
    const text = textOf(body, decoded, json, true, detector);
    if (text.unreadable !== null) return { kind: "unreadable", why: text.unreadable };
    files = text.files;
    if (mask === null) {
      if (text.hasCode(detector)) return FOUND;
      continue;
    }
    if (text.hasUnmaskableCode(detector)) return FOUND;
    const changed = text.masked(detector, mask);
    if (changed !== decoded) masked = encode(changed);
  }
  const skipped = files > 0 && { files };
  return masked === bytes ? { ...CLEAN, ...skipped } : { kind: "masked", body: masked, ...skipped };
}

/** A body in one of the encodings in which it is inspected. */
type InspectedText = Pick<PlainText, "files" | "unreadable" | "hasCode" | "hasUnmaskableCode" | "masked">;

function textOf(
  { isJson, headers }: InspectedBody,
  text: string,
  json: JsonOptions | null,
  hasOpaqueFiles: boolean,
  detector: Detector,
): InspectedText {
  if (!isJson) return new PlainText(text, headers, hasOpaqueFiles, detector);
  return {
    files: 0,
    unreadable: null,
    hasUnmaskableCode: () => false,
    hasCode: () => firstInJson(text, detector, rangesOf(text, json, detector), json?.onFound) !== null,
    masked: (_, char) => maskJson(text, detector, char, rangesOf(text, json, detector), json?.onFound),
  };
}
