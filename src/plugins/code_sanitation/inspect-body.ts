// Scans the body of a request for code, on the event loop or in a worker thread.
import { bodyTextOf, isUndeclaredCompression, type InspectedBody } from "./body-text.ts";
import type { Detector, Finding } from "./detector.ts";
import { firstInForm, isForm, maskForm } from "./form-text.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText } from "./mask.ts";

export type BodyVerdict =
  | { readonly kind: "clean" | "found" | "compressed" }
  | { readonly kind: "masked"; readonly body: string | Uint8Array };

const CLEAN: BodyVerdict = { kind: "clean" };

/** `mask` is the character that replaces code; null to stop at the first finding. Throws WorkExhausted. */
export function inspectBody(body: InspectedBody, detector: Detector, mask: string | null): BodyVerdict {
  if (isUndeclaredCompression(body)) return { kind: "compressed" };
  return mask === null ? findFirst(body, detector) : maskBody(body, detector, mask);
}

function findFirst(body: InspectedBody, detector: Detector): BodyVerdict {
  const find = body.isJson ? firstInJson : isForm(body.headers) ? firstInForm : firstInText;
  for (const { text, isFile } of bodyTextOf(body)?.pieces ?? []) {
    if (isFile) continue;
    const finding = find(text, detector);
    if (finding !== null) return { kind: "found" };
  }
  return CLEAN;
}

function firstInText(text: string, detector: Detector): Finding | null {
  return detector.first(text);
}

function maskBody(body: InspectedBody, detector: Detector, char: string): BodyVerdict {
  const content = bodyTextOf(body);
  if (content === null) return CLEAN;
  const mask = body.isJson ? maskJson : isForm(body.headers) ? maskForm : maskText;
  const masked = content.pieces.map(({ text, isFile }) => (isFile ? text : mask(text, detector, char)));
  if (masked.every((text, index) => text === content.pieces[index]?.text)) return CLEAN;
  return { kind: "masked", body: content.encode(masked.join("")) };
}
