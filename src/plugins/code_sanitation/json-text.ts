// Finds and masks code in the decoded strings of a JSON text, object keys included. The text is not parsed and serialized again:
// everything outside a match stays byte for byte, including large numbers, order, spacing and escapes.
import { BACKSLASH } from "./char-codes.ts";
import type { Detector, Finding } from "./detector.ts";
import { maskText } from "./mask.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Length of `\u0041`. */
const UNICODE_ESCAPE_LENGTH = 6;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The code units of the JSON text. Separate from the detector's buffer, which holds a decoded string of it meanwhile. */
const jsonUnits = new CodeUnitBuffer();

/** The content of a JSON string, without its quotes. */
interface StringToken {
  readonly start: number;
  readonly end: number;
}

/** Returns a finding in any string, with its position in the JSON text; null if all strings are clean. */
export function firstInJson(text: string, detector: Detector): Finding | null {
  const units = jsonUnits.read(text);
  let escape = nextBackslash(text, 0);
  let end = 0;
  for (let quote = text.indexOf('"'); quote >= 0; quote = text.indexOf('"', end + 1)) {
    const start = quote + 1;
    end = stringEnd(text, start);
    if (escape < start) escape = nextBackslash(text, start);
    // A string without an escape is scanned in place, without a copy.
    const finding =
      escape < end ? detector.first(decode(text, { start, end })) : detector.firstIn(units, start, end);
    if (finding !== null) return toTextPosition(text, { start, end }, finding);
  }
  return null;
}

/** Converts the position of a finding in a decoded string to a position in the JSON text. */
function toTextPosition(text: string, token: StringToken, finding: Finding): Finding {
  const starts = unitStarts(text, token);
  return { ...finding, start: starts[finding.start] ?? token.start, end: starts[finding.end] ?? token.end };
}

/** Returns the JSON text with the code in its strings masked; the same text if all are clean. Decoded strings keep their length. */
export function maskJson(text: string, detector: Detector, char: string): string {
  let masked = "";
  let done = 0;
  for (let token = nextString(text, 0); token !== null; token = nextString(text, token.end + 1)) {
    const before = decode(text, token);
    const after = maskText(before, detector, char);
    if (after === before) continue;
    masked += text.slice(done, token.start) + encodeChanges(text, token, before, after);
    done = token.end;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Returns the position of the next backslash, or Infinity. */
function nextBackslash(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? Infinity : at;
}

function nextString(text: string, from: number): StringToken | null {
  const quote = text.indexOf('"', from);
  if (quote < 0) return null;
  return { start: quote + 1, end: stringEnd(text, quote + 1) };
}

/** Returns the position of the closing quote of the string whose content starts at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start);
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote < 0 ? text.length : quote;
}

/** Returns whether an odd number of backslashes precedes. Each run of backslashes is counted once, so the work is linear. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

function decode(text: string, { start, end }: StringToken): string {
  const raw = text.slice(start, end);
  if (!raw.includes("\\")) return raw;
  try {
    const value: unknown = JSON.parse(`"${raw}"`);
    if (typeof value === "string") return value;
  } catch {
    // Not valid JSON: decoded below.
  }
  return decodeLeniently(raw);
}

/** Decodes a string that is not valid JSON as a lenient parser would. */
function decodeLeniently(raw: string): string {
  let result = "";
  let done = 0;
  for (let at = raw.indexOf("\\"); at >= 0; at = raw.indexOf("\\", done)) {
    const length = escapeLength(raw, at);
    result += raw.slice(done, at) + escapeValue(raw, at, length);
    done = at + length;
  }
  return result + raw.slice(done);
}

function escapeLength(raw: string, at: number): number {
  return Math.min(raw[at + 1] === "u" ? UNICODE_ESCAPE_LENGTH : 2, raw.length - at);
}

/** Returns exactly one unit per escape, so that `unitStarts` can map units to positions. */
function escapeValue(raw: string, at: number, length: number): string {
  const letter = raw[at + 1] ?? "";
  if (letter === "u") return String.fromCharCode(Number.parseInt(raw.slice(at + 2, at + length), 16) || 0);
  return SIMPLE_ESCAPES[letter] ?? (letter === "" ? " " : letter);
}

/** Returns where in the text each decoded unit of a string starts, and as the last element where the string ends. */
function unitStarts(text: string, token: StringToken): number[] {
  const raw = text.slice(token.start, token.end);
  const starts: number[] = [];
  let at = 0;
  while (at < raw.length) {
    starts.push(token.start + at);
    at += raw.charCodeAt(at) === BACKSLASH ? escapeLength(raw, at) : 1;
  }
  starts.push(token.end);
  return starts;
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
