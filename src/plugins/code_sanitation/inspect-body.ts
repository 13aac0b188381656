// Scans the body of a request for code, on the event loop or in a worker thread.
import { encodingsOf, isUndeclaredCompression, type InspectedBody } from "./body-text.ts";
import type { Detector } from "./detector.ts";
import { inspectJsonBytes, rangesOf, type JsonOptions } from "./inspect-json.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { delimiterOf, splitMultipart, type MultipartPiece } from "./multipart.ts";
import { firstInPlain, maskPlain } from "./plain-text.ts";

/** `files`: the number of those whose content was not inspected; absent for none. */
export type BodyVerdict = { readonly files?: number } & (
  | { readonly kind: "clean" | "found" | "compressed" }
  | { readonly kind: "masked"; readonly body: string | Uint8Array }
);

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
  if (bodyText === null) return inspectOtherEncodings(body, detector, mask, json);
  if (mask === null) return isCodeIn(body, bodyText, detector, json) ? FOUND : CLEAN;
  const masked = maskedText(body, bodyText, detector, mask, json);
  return masked === bodyText ? CLEAN : { kind: "masked", body: masked };
}

/** Inspects a body that is not valid UTF-8. */
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
    const text = decode(masked);
    if (text === null) continue;
    const pieces = piecesOf(text, headers);
    files = pieces.filter(({ isFile }) => isFile).length;
    if (mask === null) {
      if (pieces.some((piece) => !piece.isFile && isCodeIn(body, piece.text, detector, json))) return FOUND;
      continue;
    }
    const changed = pieces
      .map((piece) => (piece.isFile ? piece.text : maskedText(body, piece.text, detector, mask, json)))
      .join("");
    if (changed !== text) masked = encode(changed);
  }
  const skipped = files > 0 && { files };
  return masked === bytes ? { ...CLEAN, ...skipped } : { kind: "masked", body: masked, ...skipped };
}

function piecesOf(text: string, headers: Pick<Headers, "get">): readonly MultipartPiece[] {
  const delimiter = delimiterOf(headers.get("content-type"));
  return delimiter === null ? [{ text, isFile: false }] : splitMultipart(text, delimiter);
}

/** Whether code is found in a piece of the body, by the type of the body. */
function isCodeIn(
  { isJson, headers }: InspectedBody,
  text: string,
  detector: Detector,
  json: JsonOptions | null,
): boolean {
  const finding = isJson
    ? firstInJson(text, detector, rangesOf(text, json, detector), json?.onFound)
    : firstInPlain(text, headers, detector);
  return finding !== null;
}

/** Returns a piece of the body with code masked, by the type of the body. */
function maskedText(
  { isJson, headers }: InspectedBody,
  text: string,
  detector: Detector,
  char: string,
  json: JsonOptions | null,
): string {
  return isJson
    ? maskJson(text, detector, char, rangesOf(text, json, detector), json?.onFound)
    : maskPlain(text, headers, detector, char);
}
