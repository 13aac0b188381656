// Scans the body of a request for code, on the event loop or in a worker thread.
import { encodingsOf, isUndeclaredCompression, mayBeUtf16, type InspectedBody } from "./body-text.ts";
import type { Detector } from "./detector.ts";
import { inspectJsonBytes, rangesOf, type JsonOptions } from "./inspect-json.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { PlainText } from "./plain-text.ts";

/** `files`: the number of those whose content was not inspected; absent for none. */
export type BodyVerdict = { readonly files?: number } & (
  | { readonly kind: "clean" | "found" | "compressed" | "encoded" }
  | { readonly kind: "masked"; readonly body: string | Uint8Array }
);

const CLEAN: BodyVerdict = { kind: "clean" };
const FOUND: BodyVerdict = { kind: "found" };
const ENCODED: BodyVerdict = { kind: "encoded" };

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
  const verdict = body.isJson ? inspectJsonBytes(body, detector, mask, json) : null;
  return verdict ?? inspectText(body, detector, mask, json);
}

/** Apart, because the closures would allocate their scope for every body. */
function inspectText(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null,
): BodyVerdict {
  const { bodyText } = body;
  if (bodyText === null || mayBeUtf16(bodyText)) return inspectOtherEncodings(body, detector, mask, json);
  const text = textOf(body, bodyText, json, false);
  if (text.isEncoded) return ENCODED;
  if (mask === null) return text.hasCode(detector) ? FOUND : CLEAN;
  const masked = text.masked(detector, mask);
  return masked === bodyText ? CLEAN : { kind: "masked", body: masked };
}

/** Inspects a body that is not valid UTF-8, or may be UTF-16. */
function inspectOtherEncodings(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null,
): BodyVerdict {
  const { body: bytes, headers } = body;
  if (bytes === null) return CLEAN;
  if (isUndeclaredCompression(bytes)) return { kind: "compressed" };
  let masked = bytes;
  let files = 0;
  for (const { decode, encode } of encodingsOf(bytes, headers)) {
    const decoded = decode(masked);
    if (decoded === null) continue;
    const text = textOf(body, decoded, json, true);
    if (text.isEncoded) return ENCODED;
    files = text.files;
    if (mask === null) {
      if (text.hasCode(detector)) return FOUND;
      continue;
    }
    const changed = text.masked(detector, mask);
    if (changed !== decoded) masked = encode(changed);
  }
  const skipped = files > 0 && { files };
  return masked === bytes ? { ...CLEAN, ...skipped } : { kind: "masked", body: masked, ...skipped };
}

/** A body in one of the encodings in which it is inspected. */
type InspectedText = Pick<PlainText, "files" | "isEncoded" | "hasCode" | "masked">;

function textOf(
  { isJson, headers }: InspectedBody,
  text: string,
  json: JsonOptions | null,
  hasOpaqueFiles: boolean,
): InspectedText {
  if (!isJson) return new PlainText(text, headers, hasOpaqueFiles);
  return {
    files: 0,
    isEncoded: false,
    hasCode: (detector) =>
      firstInJson(text, detector, rangesOf(text, json, detector), json?.onFound) !== null,
    masked: (detector, char) => maskJson(text, detector, char, rangesOf(text, json, detector), json?.onFound),
  };
}
