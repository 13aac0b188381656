// Code in a JSON text, found in its strings as they decode, keys too. The text is never parsed and written again: what was
// not matched stays byte for byte, large numbers, order, spacing and escapes included.
import type { Detector, Finding } from "./detector.ts";
import { maskText } from "./mask.ts";
import { TextUnits } from "./view.ts";

const BACKSLASH = 0x5c;
const UNICODE_ESCAPE = 6;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Of the JSON text at hand; whoever decodes a string of it needs other ones. */
const jsonUnits = new TextUnits();

/** A string of the text: where its inside starts and ends. */
interface StringToken {
  readonly start: number;
  readonly end: number;
}

/** A finding in some string, its place in the JSON text; null when all strings are clean. */
export function firstInJson(text: string, detector: Detector): Finding | null {
  const units = jsonUnits.read(text);
  let escape = nextEscape(text, 0);
  let end = 0;
  for (let quote = text.indexOf('"'); quote >= 0; quote = text.indexOf('"', end + 1)) {
    const start = quote + 1;
    end = stringEnd(text, start);
    if (escape < start) escape = nextEscape(text, start);
    // A string without an escape is looked at where it stands.
    const finding =
      escape < end ? detector.first(decoded(text, { start, end })) : detector.firstIn(units, start, end);
    if (finding !== null) return inText(text, { start, end }, finding);
  }
  return null;
}

/** A finding of a decoded string, at its place in the JSON text. */
function inText(text: string, token: StringToken, finding: Finding): Finding {
  const starts = unitStarts(text, token);
  return { ...finding, start: starts[finding.start] ?? token.start, end: starts[finding.end] ?? token.end };
}

/** The JSON text with the code in its strings masked; each string keeps its length; the same text when all are clean. */
export function maskJson(text: string, detector: Detector, char: string): string {
  let masked = "";
  let done = 0;
  for (let token = nextString(text, 0); token !== null; token = nextString(text, token.end + 1)) {
    const before = decoded(text, token);
    const after = maskText(before, detector, char);
    if (after === before) continue;
    masked += text.slice(done, token.start) + rewritten(text, token, before, after);
    done = token.end;
  }
  return done === 0 ? text : masked + text.slice(done);
}

/** Where the next backslash stands, or Infinity. */
function nextEscape(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? Infinity : at;
}

function nextString(text: string, from: number): StringToken | null {
  const opening = text.indexOf('"', from);
  if (opening < 0) return null;
  return { start: opening + 1, end: stringEnd(text, opening + 1) };
}

/** Where the string whose inside starts at `start` has its closing quote, or the text its end. */
function stringEnd(text: string, start: number): number {
  let closing = text.indexOf('"', start);
  while (closing >= 0 && isEscaped(text, closing)) closing = text.indexOf('"', closing + 1);
  return closing < 0 ? text.length : closing;
}

/** An odd number of backslashes stands before it. Each run of them is counted once, so this stays linear. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

function decoded(text: string, { start, end }: StringToken): string {
  const raw = text.slice(start, end);
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return decodedByHand(raw);
  }
}

/** For text that is not quite JSON: what a lenient reader would make of it. */
function decodedByHand(raw: string): string {
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
  return Math.min(raw[at + 1] === "u" ? UNICODE_ESCAPE : 2, raw.length - at);
}

/** Exactly one unit, so that units and places keep step. */
function escapeValue(raw: string, at: number, length: number): string {
  const letter = raw[at + 1] ?? "";
  if (letter === "u") return String.fromCharCode(Number.parseInt(raw.slice(at + 2, at + length), 16) || 0);
  return SIMPLE_ESCAPES[letter] ?? (letter === "" ? " " : letter);
}

/** Where in the text each decoded unit of a string starts, and where the last one ends. */
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

/** The inside of a string with its changed units written anew and all others as they were. */
function rewritten(text: string, token: StringToken, before: string, after: string): string {
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
