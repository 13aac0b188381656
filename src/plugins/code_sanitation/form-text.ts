// Finds and masks code in a form body (application/x-www-form-urlencoded). The body is scanned as a whole, and each value by itself:
// many patterns match only where a text starts.
import type { Detector, Finding } from "./detector.ts";
import { maskText } from "./mask.ts";
import { encodedMask } from "./path-and-query.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Masking a value may complete a pattern in the whole body, so masking is repeated. After this many rounds all is masked. */
const MAX_ROUNDS = 4;

/** Separate from the detector's buffer, which it overwrites. */
const formUnits = new CodeUnitBuffer();

export function isForm(headers: Pick<Headers, "get">): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers.get("content-type") ?? "");
}

/** Returns the body with spaces for `+`. Percent-encoding is left to the detector, so that positions stay the same. */
function withSpaces(text: string): string {
  return text.replaceAll("+", " ");
}

export function firstInForm(text: string, detector: Detector): Finding | null {
  const inWhole = detector.first(text);
  if (inWhole !== null) return inWhole;
  const units = formUnits.read(withSpaces(text));
  for (const { start, end } of valuesOf(text)) {
    const finding = detector.firstIn(units, start, end);
    if (finding !== null) return { ...finding, start: start + finding.start, end: start + finding.end };
  }
  return null;
}

/** Returns the body with the code masked; everything outside a match stays as it was. */
export function maskForm(text: string, detector: Detector, char: string): string {
  let masked = text;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = masked;
    masked = maskValues(withMask(masked, maskText(masked, detector, char), char), detector, char);
    if (masked === before) return masked;
  }
  return firstInForm(masked, detector) === null ? masked : encodedMask(char).repeat(text.length);
}

function maskValues(text: string, detector: Detector, char: string): string {
  let masked = "";
  let done = 0;
  for (const { start, end } of valuesOf(text)) {
    const value = text.slice(start, end);
    const spaced = withSpaces(value);
    const maskedValue = maskText(spaced, detector, char);
    if (maskedValue === spaced) continue;
    masked += text.slice(done, start) + withMask(value, maskedValue, char, spaced);
    done = end;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Writes the masked units of `masked` into `text`; `compared` is the text that was masked. */
function withMask(text: string, masked: string, char: string, compared = text): string {
  if (masked === compared) return text;
  const encoded = encodedMask(char);
  let result = "";
  for (let unit = 0; unit < text.length; unit++)
    result += masked.charCodeAt(unit) === compared.charCodeAt(unit) ? (text[unit] ?? "") : encoded;
  return result;
}

/** The values of all pairs. A pair without `=` is a value. */
function* valuesOf(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let equals = text.indexOf("=");
  for (let pair = 0; pair <= text.length;) {
    const next = text.indexOf("&", pair);
    const end = next < 0 ? text.length : next;
    // Searched again only when it was passed: a body may have many `&` and no `=`.
    if (equals >= 0 && equals < pair) equals = text.indexOf("=", pair);
    const start = equals >= pair && equals < end ? equals + 1 : pair;
    if (start < end) yield { start, end };
    pair = end + 1;
  }
}
