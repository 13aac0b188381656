// Scans the body of a request for code, on the event loop or in a worker thread.
import { bodyTextOf, isUndeclaredCompression, type InspectedBody } from "./body-text.ts";
import type { Detector, Finding } from "./detector.ts";
import { firstInForm, isForm, maskForm } from "./form-text.ts";
import { inspectJsonBytes, rangesOf, type JsonOptions } from "./inspect-json.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText } from "./mask.ts";

export type BodyVerdict =
  | { readonly kind: "clean" | "found" | "compressed" }
  | { readonly kind: "masked"; readonly body: string | Uint8Array };

const CLEAN: BodyVerdict = { kind: "clean" };

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
  if (isUndeclaredCompression(body)) return { kind: "compressed" };
  const content = bodyTextOf(body);
  if (content === null) return CLEAN;
  if (mask === null) {
    const isFound = content.pieces.some(
      ({ text, isFile }) => !isFile && firstInText(body, text, detector, json) !== null,
    );
    return isFound ? { kind: "found" } : CLEAN;
  }
  const masked = content.pieces.map(({ text, isFile }) =>
    isFile ? text : maskedText(body, text, detector, mask, json),
  );
  if (masked.every((text, index) => text === content.pieces[index]?.text)) return CLEAN;
  return { kind: "masked", body: content.encode(masked.join("")) };
}

/** Returns a finding in a piece of the body, by the type of the body. */
function firstInText(
  { isJson, headers }: InspectedBody,
  text: string,
  detector: Detector,
  json: JsonOptions | null,
): Finding | null {
  if (!isJson) return isForm(headers) ? firstInForm(text, detector) : detector.first(text);
  return firstInJson(text, detector, rangesOf(text, json, detector), json?.onFound);
}

/** Returns a piece of the body with code masked, by the type of the body. */
function maskedText(
  { isJson, headers }: InspectedBody,
  text: string,
  detector: Detector,
  char: string,
  json: JsonOptions | null,
): string {
  if (!isJson) return isForm(headers) ? maskForm(text, detector, char) : maskText(text, detector, char);
  return maskJson(text, detector, char, rangesOf(text, json, detector), json?.onFound);
}
