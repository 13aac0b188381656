// Finds and masks code in the decoded strings of a JSON text, object keys included. The text is not parsed and serialized again:
// everything outside a match stays byte for byte, including large numbers, order, spacing and escapes.
import type { Detector, Finding } from "./detector.ts";
import { StringCursor, type TextRange } from "./json-string-cursor.ts";
import { decodeString, unitStarts, type StringToken } from "./json-string.ts";
import { maskText } from "./mask.ts";

/** Called with the JSON text and the position in it where a string with code starts. */
export type OnStringFound = (text: string, start: number) => void;

/**
 * Returns a finding in any string of the ranges, with its position in the decoded string; null if all strings are clean. `ranges` is
 * null for the whole text.
 */
export function firstInJson(
  text: string,
  detector: Detector,
  ranges: readonly TextRange[] | null = null,
  onFound?: OnStringFound,
): Finding | null {
  const token = new StringCursor(text, ranges);
  while (token.next()) {
    const finding = detector.firstIn(token.units, token.from, token.to);
    if (finding === null) continue;
    onFound?.(text, token.start);
    return finding;
  }
  return null;
}

/**
 * Returns the JSON text with the code in the strings of the ranges masked; the same text if all are clean. Decoded strings keep their
 * length. `ranges` is null for the whole text. `firstFindings`: the findings of the first string, if they are known.
 */
export function maskJson(
  text: string,
  detector: Detector,
  char: string,
  ranges: readonly TextRange[] | null = null,
  onFound?: OnStringFound,
  firstFindings: Finding[] | null = null,
): string {
  let known = firstFindings;
  let masked = "";
  let done = 0;
  const token = new StringCursor(text, ranges);
  while (token.next()) {
    // Nearly all strings are clean, and are never created as strings.
    const findings = known ?? detector.findAllIn(token.units, token.from, token.to);
    known = null;
    if (findings.length === 0) continue;
    onFound?.(text, token.start);
    const before = decodeString(text, token);
    const after = maskText(before, detector, char, findings);
    masked += text.slice(done, token.start) + encodeChanges(text, token, before, after);
    done = token.end;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Returns the content of a string with its changed units encoded, and all other units as they were. */
function encodeChanges(text: string, token: StringToken, before: string, after: string): string {
  // Without escapes, positions in the string are positions in the text.
  const starts = before.length === token.end - token.start ? null : unitStarts(text, token);
  const positionOf = (unit: number) => (starts === null ? token.start + unit : (starts[unit] ?? token.end));
  let result = "";
  let unit = 0;
  while (unit < after.length) {
    let end = unit;
    const isKept = before.charCodeAt(unit) === after.charCodeAt(unit);
    while (end < after.length && (before.charCodeAt(end) === after.charCodeAt(end)) === isKept) end++;
    result += isKept
      ? text.slice(positionOf(unit), positionOf(end))
      : JSON.stringify(after.slice(unit, end)).slice(1, -1);
    unit = end;
  }
  return result;
}
