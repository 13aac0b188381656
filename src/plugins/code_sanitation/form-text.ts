// Finds and masks code in a form body (application/x-www-form-urlencoded). The body is scanned as a whole, and each name and value by itself:
// many patterns match only where a text starts or ends.
import { SPACE } from "./char-classes.ts";
import { PLUS } from "./char-codes.ts";
import type { Detector, Finding } from "./detector.ts";
import { maskFindings, maskUntilClean } from "./mask.ts";
import { pairsIn } from "./pairs.ts";
import { encodedMask } from "./path-and-query.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Separate from the detector's buffer, which it overwrites. */
const formUnits = new CodeUnitBuffer();

/** Returns the code units of the body with spaces for `+`. Percent-encoding is left to the detector, so that positions stay the same. */
function unitsWithSpaces(text: string): Uint16Array {
  const units = formUnits.read(text);
  if (!text.includes("+")) return units;
  // A loop: replaceAll takes 10 ns for each `+`.
  const { length } = text;
  for (let index = 0; index < length; index++) if (units[index] === PLUS) units[index] = SPACE;
  return units;
}

export function firstInForm(text: string, detector: Detector): Finding | null {
  const inWhole = detector.first(text);
  if (inWhole !== null) return inWhole;
  const units = unitsWithSpaces(text);
  for (const { start, end } of valuesOf(text)) {
    const finding = detector.firstIn(units, start, end);
    if (finding !== null) return { ...finding, start: start + finding.start, end: start + finding.end };
  }
  return null;
}

/** Returns the body with the code masked; everything outside a match stays as it was. */
export function maskForm(text: string, detector: Detector, char: string): string {
  const encoded = encodedMask(char);
  return maskUntilClean(
    text,
    char,
    (current) => writeMask(current, findAllInForm(current, detector), encoded),
    (current) => encoded.repeat(current.length),
  );
}

/** Returns what is found in the whole body and in its values. */
function findAllInForm(text: string, detector: Detector): Finding[] {
  const found = detector.findAll(text);
  const units = unitsWithSpaces(text);
  for (const { start, end } of valuesOf(text)) {
    for (const finding of detector.findAllIn(units, start, end))
      found.push({ ...finding, start: start + finding.start, end: start + finding.end });
  }
  return found.sort((one, other) => one.start - other.start);
}

/** Writes the encoded mask over each unit of the findings. */
function writeMask(text: string, findings: readonly Finding[], encoded: string): string {
  if (encoded.length === 1) return maskFindings(text, findings, encoded);
  let masked = "";
  let done = 0;
  for (const { start, end } of findings) {
    if (end <= done) continue;
    const from = Math.max(done, start);
    masked += text.slice(done, from) + encoded.repeat(end - from);
    done = end;
  }
  return masked + text.slice(done);
}

/** The names and values of all pairs. A pair without `=` is a value. */
function* valuesOf(text: string): Generator<{ readonly start: number; readonly end: number }> {
  for (const pair of pairsIn(text, 0)) {
    if (pair.equals > pair.start) yield { start: pair.start, end: pair.equals };
    const start = pair.equals < 0 ? pair.start : pair.equals + 1;
    if (start < pair.end) yield { start, end: pair.end };
  }
}
