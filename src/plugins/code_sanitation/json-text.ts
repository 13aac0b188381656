// Finds and masks code in the decoded strings of a JSON text, object keys included. The text is not parsed and serialized again:
// everything outside a match stays byte for byte, including large numbers, order, spacing and escapes.
import type { Detector, Finding } from "./detector.ts";
import { decodeString, stringEnd, unitStarts, type StringToken } from "./json-string.ts";
import { maskText } from "./mask.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** The code units of the JSON text. Separate from the detector's buffer, which holds a decoded string of it meanwhile. */
const jsonUnits = new CodeUnitBuffer();

/** Part of a JSON text. Starts and ends outside of strings. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Called with the position in the JSON text where a string with code starts. */
export type OnStringFound = (start: number) => void;

/**
 * Returns a finding in any string of the ranges, with its position in the decoded string; null if all strings are clean. `ranges` is
 * null for the whole text.
 */
export function firstInJson(
  text: string,
  detector: Detector,
  ranges: readonly TextRange[] | null = null,
  onFound: OnStringFound | null = null,
): Finding | null {
  const units = jsonUnits.read(text);
  let escape = nextBackslash(text, 0);
  // Kept from range to range: searching again for each would take quadratic time if the next quote is far away.
  let quote = text.indexOf('"');
  for (const range of ranges ?? [{ start: 0, end: text.length }]) {
    if (quote >= 0 && quote < range.start) quote = text.indexOf('"', range.start);
    while (quote >= 0 && quote < range.end) {
      const start = quote + 1;
      const end = stringEnd(text, start);
      if (escape < start) escape = nextBackslash(text, start);
      // A string without an escape is scanned in place, without a copy.
      const finding =
        escape < end
          ? detector.first(decodeString(text, { start, end }))
          : detector.firstIn(units, start, end);
      if (finding !== null) {
        onFound?.(start);
        return finding;
      }
      quote = text.indexOf('"', end + 1);
    }
  }
  return null;
}

/**
 * Returns the JSON text with the code in the strings of the ranges masked; the same text if all are clean. Decoded strings keep their
 * length. `ranges` is null for the whole text.
 */
export function maskJson(
  text: string,
  detector: Detector,
  char: string,
  ranges: readonly TextRange[] | null = null,
  onFound: OnStringFound | null = null,
): string {
  let masked = "";
  let done = 0;
  let quote = text.indexOf('"');
  for (const range of ranges ?? [{ start: 0, end: text.length }]) {
    if (quote >= 0 && quote < range.start) quote = text.indexOf('"', range.start);
    while (quote >= 0 && quote < range.end) {
      const token = { start: quote + 1, end: stringEnd(text, quote + 1) };
      const before = decodeString(text, token);
      const after = maskText(before, detector, char);
      if (after !== before) {
        onFound?.(token.start);
        masked += text.slice(done, token.start) + encodeChanges(text, token, before, after);
        done = token.end;
      }
      quote = text.indexOf('"', token.end + 1);
    }
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Returns the position of the next backslash, or Infinity. */
function nextBackslash(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? Infinity : at;
}

/** Returns the content of a string with its changed units encoded, and all other units as they were. */
function encodeChanges(text: string, token: StringToken, before: string, after: string): string {
  const starts = unitStarts(text, token);
  let result = "";
  let unit = 0;
  while (unit < after.length) {
    let end = unit;
    const isKept = before.charCodeAt(unit) === after.charCodeAt(unit);
    while (end < after.length && (before.charCodeAt(end) === after.charCodeAt(end)) === isKept) end++;
    result += isKept
      ? text.slice(starts[unit] ?? token.end, starts[end] ?? token.end)
      : JSON.stringify(after.slice(unit, end)).slice(1, -1);
    unit = end;
  }
  return result;
}
